// SPDX-License-Identifier: Apache-2.0

package parquet_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/freehold-go/freehold/sink/encode"
	"github.com/freehold-go/freehold/sink/encode/encodetest"
	. "github.com/freehold-go/freehold/sink/encode/parquet"
	"github.com/freehold-go/freehold/sink/internal/orders"
	"github.com/freehold-go/freehold/sink/record"
)

var formats = map[string]Options{
	"envelope": {Tombstones: encode.WriteTombstones},
	"text":     {Text: true, Envelope: []string{"key", "value", "offset"}, Codec: "snappy", RowGroup: 10_000},
	"fields":   {Fields: []Field{{Path: "type", Type: "string"}, {Path: "n", Type: "double"}, {Path: "type.a", Name: "a", Type: "json"}}, Tombstones: encode.SkipTombstones, Codec: "gzip"},
	"inferred": {Infer: 100, Envelope: []string{"offset", "timestamp"}, Tombstones: encode.WriteTombstones},
	"some":     {Infer: 3, DropNew: true, Codec: "none"},
}

func open(t testing.TB, o Options) encode.Format {
	f, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestConformance(t *testing.T) {
	for name, o := range formats {
		t.Run(name, func(t *testing.T) {
			encodetest.Run(t, func() encode.Format { return open(t, o) }, record.Record{Topic: "t", Value: []byte(`{"type":"order","n":1.5,"offset":"mine"}`)})
		})
	}
}

func FuzzInferred(f *testing.F) {
	encodetest.Fuzz(f, func() encode.Format { return open(f, formats["inferred"]) })
}

// rows writes values and reads the table. Nil values are tombstones.
func rows(t *testing.T, o Options, values ...string) (list []map[string]any, errs []error, size int) {
	var out bytes.Buffer
	e, err := open(t, o).Begin(&out)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Free()
	for i, v := range values {
		r := record.Record{Topic: "t", Partition: 1, Offset: int64(i), Timestamp: 5, Key: []byte("k"), Value: []byte(v)}
		errs = append(errs, e.Append(&r))
	}
	if err := e.End(); err != nil {
		t.Fatal(err)
	}
	list = make([]map[string]any, 0)
	f, err := parquet.OpenFile(bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		t.Fatal(err)
	}
	names := f.Schema().Columns()
	for _, group := range f.RowGroups() {
		in := group.Rows()
		for {
			buf := make([]parquet.Row, 1)
			n, err := in.ReadRows(buf)
			if n == 0 {
				if err != io.EOF {
					t.Fatal(err)
				}
				break
			}
			row := map[string]any{}
			for _, v := range buf[0] {
				if name := strings.Join(names[v.Column()], "."); !v.IsNull() {
					row[name] = fmt.Sprintf("%s %s", v.Kind(), v)
				}
			}
			list = append(list, row)
		}
		in.Close()
	}
	return list, errs, len(f.RowGroups())
}

func TestRows(t *testing.T) {
	type row = map[string]any
	for i, e := range []struct {
		o      Options
		values []string
		want   []row
	}{
		{Options{}, []string{"x"}, []row{{"topic": "BYTE_ARRAY t", "partition": "INT32 1", "offset": "INT64 0", "timestamp": "INT64 5", "key": "BYTE_ARRAY k", "value": "BYTE_ARRAY x", "headers": "BYTE_ARRAY []"}}},
		{Options{Fields: []Field{{Path: "a.b", Type: "int64"}, {Path: "a", Type: "json"}, {Path: "c", Type: "timestamp", Name: "at"}}},
			[]string{`{"a":{"b":7},"c":9}`, `{"a":{"b":"7"}}`, `{}`, `{"c":1.5}`, `x`}, []row{{"a.b": "INT64 7", "a": `BYTE_ARRAY {"b":7}`, "at": "INT64 9"}, {}}},
		{Options{Infer: 2, Envelope: []string{"offset"}}, []string{`{"a":1,"b":true,"c":"x","offset":[1]}`, `{"a":1.5,"b":null,"d":{}}`, `{"a":2}`, `{"a":"x"}`, `{"e":1}`, `[]`},
			[]row{{"offset": "INT64 0", "a": "DOUBLE 1", "b": "BOOLEAN true", "c": "BYTE_ARRAY x", "value.offset": "BYTE_ARRAY [1]"}, {"offset": "INT64 1", "a": "DOUBLE 1.5", "d": "BYTE_ARRAY {}"}, {"offset": "INT64 2", "a": "DOUBLE 2"}}},
		{Options{Infer: 1, DropNew: true}, []string{`{"a":1}`, `{"b":1}`}, []row{{"a": "INT64 1"}, {}}},
	} {
		got, errs, _ := rows(t, e.o, e.values...)
		if !reflect.DeepEqual(got, e.want) {
			t.Errorf("case %d: %v, want %v", i, got, e.want)
		}
		for _, err := range errs {
			if bad := (*record.Bad)(nil); err != nil && !errors.As(err, &bad) {
				t.Errorf("case %d: %v", i, err)
			}
		}
	}
}

// Row groups end by bytes, and what the encoder holds does not grow.
func TestRowGroups(t *testing.T) {
	f := open(t, Options{RowGroup: 256 << 10})
	var out bytes.Buffer
	e, err := f.Begin(&out)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Free()
	g, most := orders.New(1), int64(0)
	for i := range 2000 {
		if err := e.Append(&record.Record{Topic: "t", Offset: int64(i), Value: g.AppendValue(nil, i)}); err != nil {
			t.Fatal(err)
		}
		most = max(most, e.Held())
	}
	if err := e.End(); err != nil {
		t.Fatal(err)
	}
	p, err := parquet.OpenFile(bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil || len(p.RowGroups()) < 8 || p.NumRows() != 2000 || most > 1<<20 || most < 64<<10 {
		t.Errorf("%d row groups with %d rows, %d bytes held, %v", len(p.RowGroups()), p.NumRows(), most, err)
	}
}

func TestOptions(t *testing.T) {
	for want, o := range map[string]Options{
		"choose zstd": {Codec: "lz4"}, "negative option": {RowGroup: -1}, `the envelope has "x"`: {Envelope: []string{"x"}}, `two columns are called "key"`: {Envelope: []string{"key", "key"}},
		"choose string, int64": {Fields: []Field{{Path: "a", Type: "int"}}}, "path of a field is empty": {Fields: []Field{{Type: "json"}}}, "listed and inferred": {Infer: 1, Fields: []Field{{Path: "a", Type: "json"}}},
		"choose bad, skip": {Tombstones: "x"},
	} {
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: the error %v does not say %q", o, err, want)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	g := orders.New(1)
	records := make([]record.Record, 256)
	for i := range records {
		records[i] = record.Record{Topic: "t", Offset: int64(i), Timestamp: 1, Key: g.AppendKey(nil, i), Value: g.AppendValue(nil, i)}
	}
	for name, o := range map[string]Options{"envelope": {}, "fields": {Fields: []Field{{Path: "event_type", Type: "string"}, {Path: "total", Type: "double"}, {Path: "items", Type: "json"}}}, "inferred": {Infer: 100}} {
		b.Run(name, func(b *testing.B) {
			e, err := open(b, o).Begin(io.Discard)
			if err != nil {
				b.Fatal(err)
			}
			defer e.Free()
			i := 0
			for b.Loop() {
				if err := e.Append(&records[i%len(records)]); err != nil {
					b.Fatal(err)
				}
				i++
			}
		})
	}
}
