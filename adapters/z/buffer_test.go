// SPDX-License-Identifier: Apache-2.0

package z

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/offheap"
)

// compareBuffer compares all that b returns with the records that it must have.
func compareBuffer(t *testing.T, b *Buffer, want [][]byte) {
	t.Helper()
	var offsets []int
	var all []byte
	at := 8
	for i, w := range want {
		offsets = append(offsets, at)
		all = append(binary.BigEndian.AppendUint64(all, uint64(len(w))), w...)
		next := at + 8 + len(w)
		wantNext := next
		if i == len(want)-1 {
			wantNext = -1
		}
		if got, n := b.Slice(at); !bytes.Equal(got, w) || n != wantNext {
			t.Fatalf("Slice(%d) of record %d: %q, %d; want %q, %d", at, i, got, n, w, wantNext)
		}
		at = next
	}
	if got, n := b.Slice(at); got != nil || n != -1 {
		t.Fatalf("Slice behind the end: %q, %d", got, n)
	}
	if got := b.SliceOffsets(); !slices.Equal(got, offsets) {
		t.Fatalf("offsets %d, want %d", got, offsets)
	}
	if got := b.Bytes(); !bytes.Equal(got, all) {
		t.Fatalf("Bytes: %q, want %q", got, all)
	}
	if b.LenNoPadding() != len(all) || b.LenWithPadding() != 8+len(all) || b.StartOffset() != 8 || b.IsEmpty() != (len(want) == 0) {
		t.Fatalf("lengths %d and %d, empty %v, for %d records of %d bytes", b.LenNoPadding(), b.LenWithPadding(), b.IsEmpty(), len(want), len(all))
	}
	var got [][]byte
	if err := b.SliceIterate(func(record []byte) error { got = append(got, record); return nil }); err != nil {
		t.Fatal(err)
	}
	if full := slices.DeleteFunc(slices.Clone(want), func(w []byte) bool { return len(w) == 0 }); !slices.EqualFunc(got, full, bytes.Equal) {
		t.Fatalf("SliceIterate: %q, want %q", got, full)
	}
}

// TestBufferModel: a Buffer has the records and the offsets of a plain list, after each of many calls.
func TestBufferModel(t *testing.T) {
	reverse := func(l, r []byte) bool { return bytes.Compare(l, r) > 0 }
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 0))
		b := NewBuffer(0, "model")
		var want [][]byte
		record := func() []byte {
			r := make([]byte, random.IntN(20))
			if random.IntN(200) == 0 {
				r = make([]byte, random.IntN(300<<10))
			}
			for i := range min(len(r), 2) { // Equal bytes behind these: equal records have equal bytes.
				r[i] = byte(random.IntN(3))
			}
			return r
		}
		for range 30 {
			for range random.IntN(100) {
				r := record()
				want = append(want, r)
				switch random.IntN(2) {
				case 0:
					b.WriteSlice(r)
				case 1:
					copy(b.SliceAllocate(len(r)), r)
				}
			}
			switch random.IntN(9) {
			case 0:
				b.SortSlice(nil)
				slices.SortFunc(want, bytes.Compare)
			case 1:
				b.SortSlice(reverse)
				slices.SortFunc(want, func(x, y []byte) int { return bytes.Compare(y, x) })
			case 2, 3:
				offsets := append(b.SliceOffsets(), b.LenWithPadding())
				lo := random.IntN(len(offsets))
				hi := lo + random.IntN(len(offsets)-lo)
				if random.IntN(2) == 0 {
					b.SortSliceBetween(offsets[lo], offsets[hi], nil)
					slices.SortFunc(want[lo:hi], bytes.Compare)
				} else {
					b.SortSliceBetween(offsets[lo], offsets[hi], reverse)
					slices.SortFunc(want[lo:hi], func(x, y []byte) int { return bytes.Compare(y, x) })
				}
			case 4:
				other, _ := NewBufferTmp("", 0)
				for range random.IntN(5) {
					r := record()
					want = append(want, r)
					other.WriteSlice(r)
				}
				p := other.Bytes()
				if n, err := b.Write(p); n != len(p) || err != nil {
					t.Fatal(n, err)
				}
				other.Release()
			case 5:
				if random.IntN(4) == 0 {
					b.Reset()
					want = nil
				}
			case 6: // Into one block.
				at := b.LenWithPadding()
				r := record()
				want = append(want, r)
				if got := b.AllocateOffset(8 + len(r)); got != at {
					t.Fatalf("AllocateOffset: %d, want %d", got, at)
				}
				binary.BigEndian.PutUint64(b.Data(at), uint64(len(r)))
				copy(b.Data(at)[8:], r)
				if !b.inBlock {
					t.Fatal("Allocate made no block")
				}
			case 7:
				other := NewBufferSlice(b.Bytes())
				compareBuffer(t, other, want)
				other.Release()
			}
			compareBuffer(t, b, want)
		}
		if err := b.Release(); err != nil {
			t.Fatal(err)
		}
	}
	if s := Leaks(); strings.Contains(s, "for model") || strings.Contains(s, "for buffer") {
		t.Errorf("after Release: %s", s)
	}
}

// TestBufferStays: a record stays at its address while the Buffer grows and sorts.
func TestBufferStays(t *testing.T) {
	b := NewBuffer(0, "stays").WithAutoMmap(1, "")
	defer b.Release()
	first := b.SliceAllocate(3)
	copy(first, "zzz")
	for i := range 50_000 {
		b.WriteSlice(fmt.Append(nil, i))
	}
	b.SortSlice(nil)
	offsets := b.SliceOffsets()
	last, _ := b.Slice(offsets[len(offsets)-1])
	if &first[0] != &last[0] {
		t.Errorf("the first record is elsewhere, with %q; the last one is %q", first, last)
	}
	if !strings.Contains(Leaks(), "bytes for stays\n") {
		t.Errorf("Leaks: %s", Leaks())
	}
}

// panicOf returns the error with which f panics.
func panicOf(f func()) (err error) {
	defer func() { err, _ = recover().(error) }()
	f()
	return nil
}

// TestBufferRefused: records that are refused leave the Buffer as it was.
func TestBufferRefused(t *testing.T) {
	b := NewBuffer(0, "refused").WithMaxSize(8 + 8 + 3 + 8)
	defer b.Release()
	b.WriteSlice([]byte("abc"))
	if err := panicOf(func() { b.SliceAllocate(1) }); !errors.Is(err, offheap.ErrLimit) {
		t.Errorf("above the maximum size: %v", err)
	}
	two := b.Bytes()
	if n, err := b.Write(two); n != 0 || !errors.Is(err, offheap.ErrLimit) {
		t.Errorf("Write above the maximum size: %d, %v", n, err)
	}
	compareBuffer(t, b, [][]byte{[]byte("abc")})
	b.WriteSlice(nil)
	compareBuffer(t, b, [][]byte{[]byte("abc"), nil})
	b.WithMaxSize(0)

	purpose("refused").SetLimit(64 << 10)
	defer purpose("refused").SetLimit(0)
	want := [][]byte{[]byte("abc"), nil}
	var err error
	for err == nil {
		err = panicOf(func() {
			b.WriteSlice([]byte("a record"))
			want = append(want, []byte("a record"))
		})
	}
	if !errors.Is(err, offheap.ErrLimit) {
		t.Errorf("above the purpose's limit: %v", err)
	}
	compareBuffer(t, b, want)
	if err := panicOf(func() { b.SortSlice(nil) }); !errors.Is(err, offheap.ErrLimit) {
		t.Errorf("a sort above the purpose's limit: %v", err)
	}
	compareBuffer(t, b, want)
}

// TestBufferMisuse: wrong arguments panic or are errors, and change nothing.
func TestBufferMisuse(t *testing.T) {
	b := NewBuffer(0, "misuse")
	for i := range 100 {
		b.WriteSlice(fmt.Append(nil, 100+i))
	}
	all := b.Bytes()
	for _, f := range []func(){
		func() { b.Slice(0) },
		func() { b.Slice(-1) },
		func() { b.Slice(9) },
		func() { b.Slice(b.LenWithPadding() - 1) },
		func() { b.SortSliceBetween(0, b.LenWithPadding(), nil) },
		func() { b.SortSliceBetween(8, 18, nil) },
		func() { b.SortSliceBetween(8, b.LenWithPadding()+1, nil) },
		func() { b.SliceAllocate(-1) },
		func() { b.Allocate(-1) },
		func() { b.SortSlice(func(_, _ []byte) bool { panic(errors.New("less")) }) },
		func() { b.SortSliceBetween(8, 8+5*11, func(_, _ []byte) bool { panic(errors.New("less")) }) },
	} {
		if panicOf(f) == nil {
			t.Error("a wrong call did not panic")
		}
	}
	b.SortSliceBetween(30, 8, nil)
	if !bytes.Equal(b.Bytes(), all) {
		t.Error("a call that failed changed the Buffer")
	}
	if err := b.SliceIterate(func([]byte) error { return errors.ErrUnsupported }); err != errors.ErrUnsupported {
		t.Errorf("SliceIterate: %v", err)
	}
	b.SortSlice(func(_, _ []byte) bool { return true })
	if got := slices.Sorted(slices.Values(b.SliceOffsets())); len(got) != 100 || b.LenNoPadding() != len(all) {
		t.Errorf("%d records after a sort without an order", len(got))
	}
	for range 2 {
		if err := b.Release(); err != nil {
			t.Error(err)
		}
	}
	if panicOf(func() { b.WriteSlice(nil) }) == nil || !b.IsEmpty() {
		t.Error("a record was added after Release")
	}
	b.Reset()
	b.SortSlice(nil)
	if err := (*Buffer)(nil).Release(); err != nil {
		t.Error(err)
	}
}

// TestBufferBytes: a Buffer keeps bytes that are no records, and refuses to treat them as records.
func TestBufferBytes(t *testing.T) {
	b := NewBuffer(0, "bytes")
	b.WriteSlice([]byte("abc"))
	record := b.Bytes()
	for _, p := range [][]byte{record[:1], record[:8], record[:10], {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0}} {
		b.Reset()
		b.WriteSlice([]byte("abc"))
		want := slices.Clone(record)
		for range 100 { // The block grows.
			if n, err := b.Write(p); n != len(p) || err != nil {
				t.Fatal(n, err)
			}
			copy(b.Allocate(2), "xy")
			want = append(append(want, p...), "xy"...)
		}
		for _, f := range []func(){
			func() { b.WriteSlice(nil) },
			func() { b.SortSlice(nil) },
			func() { b.SliceIterate(func([]byte) error { return nil }) },
			func() { b.SliceOffsets() },
			func() { b.Slice(0) },
		} {
			if panicOf(f) == nil {
				t.Errorf("a method for records accepted %q", p)
			}
		}
		if got := b.Bytes(); !bytes.Equal(got, want) || b.LenNoPadding() != len(want) || !bytes.Equal(b.Data(8), want) {
			t.Fatalf("%q, want %q", got, want)
		}
	}

	// A refused change of form leaves the other form as it was.
	b.Reset()
	b.WithMaxSize(100)
	var want [][]byte
	for range 5 {
		b.WriteSlice([]byte("12345678"))
		want = append(want, []byte("12345678"))
	}
	if err := panicOf(func() { b.Allocate(13) }); !errors.Is(err, offheap.ErrLimit) {
		t.Errorf("above the maximum size: %v", err)
	}
	compareBuffer(t, b, want)
	b.WithMaxSize(0)
	purpose("bytes").SetLimit(64 << 10)
	defer purpose("bytes").SetLimit(0)
	if n, err := b.Write(make([]byte, 1<<20-1)); n != 0 || !errors.Is(err, offheap.ErrLimit) {
		t.Errorf("Write above the limit: %d, %v", n, err)
	}
	if b.inBlock {
		t.Error("a refused Write changed the form")
	}
	compareBuffer(t, b, want)
	purpose("bytes").SetLimit(0)

	b.Allocate(0)
	b.Write(make([]byte, 8<<20)) // A million empty records.
	size := b.LenWithPadding()
	purpose("bytes").SetLimit(1)
	if err := panicOf(func() { b.WriteSlice(nil) }); !errors.Is(err, offheap.ErrLimit) || !b.inBlock || b.LenWithPadding() != size {
		t.Errorf("records above the limit: %v; %d bytes, before %d", err, b.LenWithPadding(), size)
	}
	if got, next := b.Slice(8); string(got) != "12345678" || next != 24 {
		t.Errorf("the first record is %q, the next one at %d", got, next)
	}
	b.Release()
	if strings.Contains(Leaks(), "for bytes") {
		t.Errorf("after Release: %s", Leaks())
	}
}

// TestBufferSliceBorrowed: a Buffer of a slice reads it in place, and never changes or frees it.
func TestBufferSliceBorrowed(t *testing.T) {
	var p []byte
	var want [][]byte
	for i := range 20 {
		p = append(binary.BigEndian.AppendUint64(p, 1), byte('t'-i))
		want = append(want, []byte{byte('a' + i)})
	}
	before := slices.Clone(p)
	b := NewBufferSlice(p)
	if &b.Bytes()[0] != &p[0] {
		t.Error("the slice was copied")
	}
	b.SortSlice(nil)
	compareBuffer(t, b, want)
	b.Release()
	b = NewBufferSlice(p[:9])
	b.Write([]byte("more"))
	if string(b.Bytes()) != string(p[:9])+"more" || !bytes.Equal(p, before) {
		t.Errorf("%q; the slice is %q, was %q", b.Bytes(), p, before)
	}
	b.Release()
	b = NewBufferSlice(p)
	b.Reset()
	b.Allocate(1)[0] = 1
	b.Release()
	if !bytes.Equal(p, before) {
		t.Errorf("the slice is %q, was %q", p, before)
	}
	if strings.Contains(Leaks(), "for buffer") {
		t.Errorf("after Release: %s", Leaks())
	}
}
