// SPDX-License-Identifier: Apache-2.0

package arrowmem

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// schema has a column of each way in which arrow lays out memory.
var schema = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.PrimitiveTypes.Int64},
	{Name: "good", Type: arrow.FixedWidthTypes.Boolean, Nullable: true},
	{Name: "name", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "view", Type: arrow.BinaryTypes.StringView},
	{Name: "list", Type: arrow.ListOf(arrow.PrimitiveTypes.Float64)},
	{Name: "word", Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint16, ValueType: arrow.BinaryTypes.String}},
	{Name: "pair", Type: arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int32})},
}, nil)

// build makes a record batch of n rows.
func build(t testing.TB, m memory.Allocator, n int) arrow.Record {
	t.Helper()
	b := array.NewRecordBuilder(m, schema)
	defer b.Release()
	for i := range n {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		if i%3 == 0 {
			b.Field(1).(*array.BooleanBuilder).AppendNull()
			b.Field(2).(*array.StringBuilder).AppendNull()
		} else {
			b.Field(1).(*array.BooleanBuilder).Append(i%2 == 0)
			b.Field(2).(*array.StringBuilder).Append(fmt.Sprint("name ", i))
		}
		b.Field(3).(*array.StringViewBuilder).Append(fmt.Sprint("a view that is longer than twelve bytes ", i))
		l := b.Field(4).(*array.ListBuilder)
		l.Append(true)
		for k := range i % 4 {
			l.ValueBuilder().(*array.Float64Builder).Append(float64(k))
		}
		if err := b.Field(5).(*array.BinaryDictionaryBuilder).AppendString(fmt.Sprint("word ", i%10)); err != nil {
			t.Fatal(err)
		}
		s := b.Field(6).(*array.StructBuilder)
		s.Append(true)
		s.FieldBuilder(0).(*array.Int32Builder).Append(int32(-i))
	}
	return b.NewRecord()
}

// TestRecords builds the same rows by this allocator and by arrow's own, sends them through arrow's
// file format, and compares.
func TestRecords(t *testing.T) {
	checked := memory.NewCheckedAllocator(newAllocator(t))
	defer checked.AssertSize(t, 0)
	for _, n := range []int{0, 1, 1000, 20_000} {
		ours, want := build(t, checked, n), build(t, memory.NewGoAllocator(), n)
		if !array.RecordEqual(ours, want) {
			t.Fatalf("%d rows are not those that arrow's allocator makes", n)
		}
		if n > 0 && checked.CurrentAlloc() < 8*n {
			t.Errorf("%d rows on %d bytes", n, checked.CurrentAlloc())
		}
		var stream bytes.Buffer
		w := ipc.NewWriter(&stream, ipc.WithSchema(schema), ipc.WithAllocator(checked), ipc.WithLZ4())
		if err := w.Write(ours); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		part := ours.NewSlice(int64(n/3), int64(n))
		ours.Release()
		wantPart := want.NewSlice(int64(n/3), int64(n))
		if !array.RecordEqual(part, wantPart) {
			t.Errorf("a slice of %d rows differs once its record is released", n)
		}
		part.Release()
		read(t, checked, &stream, want)
	}
}

// read reads the written values back.
func read(t *testing.T, m memory.Allocator, stream *bytes.Buffer, want arrow.Record) {
	t.Helper()
	r, err := ipc.NewReader(stream, ipc.WithAllocator(m))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	for r.Next() {
		if !array.RecordEqual(r.Record(), want) {
			t.Errorf("%d rows came back as others", want.NumRows())
		}
	}
	if r.Err() != nil {
		t.Error(r.Err())
	}
}

// TestConcatenate: what arrow makes of several arrays outlives them.
func TestConcatenate(t *testing.T) {
	checked := memory.NewCheckedAllocator(newAllocator(t))
	defer checked.AssertSize(t, 0)
	var parts []arrow.Array
	for i := range 5 {
		b := array.NewStringBuilder(checked)
		for k := range 1000 {
			b.Append(fmt.Sprint(i*1000 + k))
		}
		parts = append(parts, b.NewArray())
		b.Release()
	}
	all, err := array.Concatenate(parts, checked)
	if err != nil {
		t.Fatal(err)
	}
	defer all.Release()
	for _, p := range parts {
		p.Release()
	}
	for i := range 5000 {
		if got := all.(*array.String).Value(i); got != fmt.Sprint(i) {
			t.Fatalf("value %d is %q", i, got)
		}
	}
}

// BenchmarkBuild builds a column, by this allocator and by arrow's own.
func BenchmarkBuild(b *testing.B) {
	for name, m := range map[string]memory.Allocator{"arrowmem": NewAllocator(Options{}), "arrow": memory.NewGoAllocator()} {
		for _, n := range []int{100, 10_000, 1_000_000} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					column := array.NewInt64Builder(m)
					for i := range n {
						column.Append(int64(i))
					}
					column.NewArray().Release()
					column.Release()
				}
			})
		}
	}
}
