// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/freehold-go/freehold/alloctest"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// origins are all ways to allocate values of a type, by name.
func origins[T any](l *Local, p *Purpose) map[string]Typed[T] {
	return map[string]Typed[T]{"zero": {}, "For": For[T](p), "In": In[T](l)}
}

// TestTypedOrigins runs the conformance suite over each way to allocate values of a type.
func TestTypedOrigins(t *testing.T) {
	quiet(t)
	l := NewLocal()
	defer l.Close()
	p := NewPurpose("TestTypedOrigins")
	for name, from := range origins[point](l, p) {
		v := alloctest.Typed[point]{Delete: from.Delete, FreeSlice: FreeSlice[point], InUse: func() int64 { return ReadStats().InUse }, Misuse: true,
			New: from.New, MakeSlice: from.MakeSlice, Append: from.Append, Value: func(i int) point { return point{int64(i), -int64(i)} }}
		t.Run(name, func(t *testing.T) { alloctest.TestTyped(t, v) })
	}
}

// A megabyte is a value that no slab holds.
type megabyte [1 << 20]byte

// TestTypedTry compares functions that panic without memory with their twins that return the error.
func TestTypedTry(t *testing.T) {
	quiet(t)
	l := NewLocal()
	defer l.Close()
	p := NewPurpose("TestTypedTry")
	for name, from := range origins[megabyte](l, p) {
		v, err := from.TryNew()
		if err != nil || *v != (megabyte{}) {
			t.Fatalf("%s: TryNew: %v", name, err)
		}
		s, err := from.TryMakeSlice(0, 1)
		if err != nil || len(s) != 0 || cap(s) != 1 {
			t.Fatalf("%s: TryMakeSlice: %d of %d, %v", name, len(s), cap(s), err)
		}
		s = from.Append(s, *v, *v)
		Purge() // Of empty slabs that Ps hold, which would make room.
		limit := SetLimit(max(1, ReadStats().Held))
		_, errNew := from.TryNew()
		_, errSlice := from.TryMakeSlice(1, 1)
		_, errRealloc := from.TryRealloc(s, 4)
		panics := map[string]func(){"New": func() { from.New() }, "MakeSlice": func() { from.MakeSlice(1, 1) }, "Realloc": func() { from.Realloc(s, 4) }}
		for what, err := range map[string]error{"New": errNew, "MakeSlice": errSlice, "Realloc": errRealloc} {
			if !errors.Is(err, ErrLimit) {
				t.Errorf("%s: Try%s at a limit: %v", name, what, err)
			}
			wantPanic(t, name+" "+what, ErrLimit, panics[what])
		}
		SetLimit(limit)
		from.Delete(v)
		FreeSlice(s)
	}
}

// TestTypedZeroes: values and slices are zero although their blocks held data.
func TestTypedZeroes(t *testing.T) {
	quiet(t)
	l := NewLocal()
	defer l.Close()
	p := NewPurpose("TestTypedZeroes")
	for name, from := range origins[flags](l, p) {
		for range 100 {
			v, s := from.New(), from.MakeSlice(5, 9)
			if *v != (flags{}) || slices.ContainsFunc(s[:9], func(f flags) bool { return f != flags{} }) {
				t.Fatalf("%s: not zero: %+v, %+v", name, *v, s[:9])
			}
			*v = flags{true, 1, true, -1}
			for i := range s[:9] {
				s[:9][i] = *v
			}
			from.Delete(v)
			FreeSlice(s)
		}
	}
}

// TestTypedAccounts: the blocks of For are counted in its purpose, and a slice stays in the account of its block.
func TestTypedAccounts(t *testing.T) {
	quiet(t)
	p := NewPurpose("TestTypedAccounts")
	inUse := func() int64 {
		for _, s := range ReadStats().Purposes {
			if s.Name == p.Name() {
				return s.InUse
			}
		}
		return -1
	}
	from := For[point](p)
	v, s := from.New(), from.MakeSlice(0, 0)
	if n := inUse(); n != 16 {
		t.Errorf("%d bytes in use for a value of 16", n)
	}
	s = from.Append(s, make([]point, 1000)...)
	n := inUse()
	if n < 16_016 {
		t.Errorf("%d bytes in use with a slice of 16,000", n)
	}
	if s = Append(s, make([]point, 10_000)...); inUse() < n+100_000 {
		t.Errorf("%d bytes in use after Append, %d before", inUse(), n)
	}
	other := Append(MakeSlice[point](1, 1), point{})
	before := inUse()
	if other = from.Append(other, make([]point, 500)...); inUse() != before {
		t.Errorf("a slice without an account got one: %d bytes, %d before", inUse(), before)
	}
	from.Delete(v)
	FreeSlice(s)
	FreeSlice(other)
	if n := inUse(); n != 0 {
		t.Errorf("%d bytes in use at the end", n)
	}
}

// TestTypedAfterClose: a Typed that outlives its Local panics in each function.
func TestTypedAfterClose(t *testing.T) {
	quiet(t)
	l := NewLocal()
	from := In[point](l)
	v := from.New()
	l.Close()
	for name, f := range map[string]func(){
		"New": func() { from.New() }, "TryNew": func() { _, _ = from.TryNew() }, "Delete": func() { from.Delete(v) }, "Delete of nil": func() { from.Delete(nil) },
		"MakeSlice": func() { from.MakeSlice(1, 1) }, "TryMakeSlice": func() { _, _ = from.TryMakeSlice(0, 0) },
		"Append": func() { from.Append(nil, *v) }, "Realloc": func() { from.Realloc(nil, 1) },
	} {
		wantMisuse(t, name, "use of a Local that is closed", f)
	}
	Delete(v)
}

// TestTypedSlicesFromLocal: a slice from a Local comes from the Local's own slots.
func TestTypedSlicesFromLocal(t *testing.T) {
	quiet(t)
	if std.start(); std.serving() != nil {
		t.Skip("there are no slots")
	}
	l := NewLocal()
	defer l.Close()
	from := In[point](l)
	a := from.New() // Gets the Local a group of blocks of 16 bytes.
	s := from.MakeSlice(1, 1)
	c := l.cache.hottest()
	if d := unsafex.SliceAddr(s) - c.base; d > uintptr(c.last) {
		t.Error("the slice lies in no group of the Local")
	}
	FreeSlice(s)
	from.Delete(a)
}

// TestTypedKeepsItsType: a Typed does not convert to one of another type, which would take the size
// class and the alignment with it.
func TestTypedKeepsItsType(t *testing.T) {
	if reflect.TypeFor[Typed[int]]().ConvertibleTo(reflect.TypeFor[Typed[flags]]()) {
		t.Error("Typed[flags](Typed[int]{}) compiles")
	}
}
