// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/offheap"
)

// freeForeign calls all functions of offheap that free or move, with a value of an arena, and
// expects each to refuse.
func freeForeign[T comparable](t *testing.T, a *Arena, n int, values ...T) {
	t.Helper()
	name := fmt.Sprintf("arena %d", a.ID())
	s := MakeSlice[T](a, n, n)
	copy(s, values)
	free := map[string]func(){
		"Delete":          func() { offheap.Delete(&s[0]) },
		"FreeSlice":       func() { offheap.FreeSlice(s) },
		"Append":          func() { offheap.Append(s, make([]T, n)...) },
		"Grow":            func() { offheap.Grow(s, n) },
		"Realloc":         func() { offheap.Realloc(s, 2*n) },
		"Realloc to none": func() { offheap.Realloc(s, 0) },
	}
	if b, ok := any(s).([]byte); ok {
		free["Free"] = func() { offheap.Free(b) }
		free["Local.Free"] = func() {
			l := offheap.NewLocal()
			defer l.Close()
			l.Free(b)
		}
	}
	for op, f := range free {
		v := caught(f)
		var m *offheap.MisuseError
		if err, _ := v.(error); !errors.As(err, &m) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s of %d %T of %s: panic %v, want a MisuseError that names the arena", op, n, s[0], name, v)
		}
	}
	for i, v := range values {
		if s[i] != v {
			t.Errorf("element %d of %T has changed", i, s)
		}
	}
}

// TestOffheapFreeOfValue: offheap frees no value of an off-heap arena, be it the first of its chunk
// or alone in one, or all of it. The arena's own Free works afterwards.
func TestOffheapFreeOfValue(t *testing.T) {
	for range 2 { // The second arenas have chunks of memory that was used.
		a := NewOffHeap(Options{})
		freeForeign(t, a, 1, 7)
		freeForeign(t, a, 1, flag{ok: true})
		freeForeign[byte](t, a, 3, 1, 2, 3)
		freeForeign[byte](t, a, 100_000, 1, 2, 3)
		freeForeign(t, a, 1, [20_000]bool{1: true})
		freeForeign(t, a, 300_000, true)
		freeForeign(t, a, 100_000, 1, 2)
		a.Free()
		f := NewFixed(4096)
		freeForeign(t, f, 1, 7)
		freeForeign[byte](t, f, 5, 1, 2)
		f.Free()
		f = NewFixed(4096)
		freeForeign[byte](t, f, 4096, 1, 2)
		f.Free()
	}
}

// TestMisuseError: each mistake with an arena, or with a value or handle of it, panics with a
// MisuseError of its kind.
func TestMisuseError(t *testing.T) {
	freed := NewArena()
	freed.Free()
	a, b := NewArena(), NewArena()
	early := a.Checkpoint()
	m, builder := NewMap[int, int](a, 0), NewBuilder(a)
	_ = builder.WriteByte('x')
	a.Reset(Keep)
	pool := new(Pool)
	pool.Get().Free()
	for _, c := range []struct {
		kind string
		f    func()
	}{
		{useAfterFree, func() { New[int](freed) }},
		{useAfterFree, freed.Free},
		{useAfterReset, func() { m.Get(1) }},
		{useAfterReset, func() { _ = builder.String() }},
		{useOfCopy, func() { copyOf(a).Free() }},
		{useOfCopy, func() { copyOf(m).Get(1) }},
		{useOfCopy, func() { copyOf(builder).Reset() }},
		{useOfCopy, func() { copyOf(pool).Get() }},
		{useOfZero, func() { New[int](new(Arena)) }},
		{useOfZero, func() { new(Map[int, int]).Get(1) }},
		{useOfMark, func() { a.Rewind(early) }},
		{useOfMark, func() { a.Rewind(b.Checkpoint()) }},
	} {
		v := caught(c.f)
		var m *offheap.MisuseError
		err, _ := v.(error)
		if !errors.As(err, &m) || m.Kind != c.kind || m.Op == "" || !strings.HasPrefix(err.Error(), "arena: "+m.Op) {
			t.Errorf("%s: panic %v", c.kind, v)
		}
	}
}

// TestOffheapFreeOfLeaked: values of an off-heap arena that was dropped are still the arena's, so
// offheap does not free them.
func TestOffheapFreeOfLeaked(t *testing.T) {
	leak := func() (uint64, []bool) {
		a := NewOffHeap(Options{})
		return a.ID(), MakeSlice[bool](a, 300_000, 300_000)
	}
	id, s := leak()
	for range 3 {
		runtime.GC()
	}
	for _, i := range List() {
		if i.ID == id && !i.Leaked {
			t.Skip("a register may lead to the arena")
		}
	}
	v := caught(func() { offheap.FreeSlice(s) })
	var m *offheap.MisuseError
	if err, _ := v.(error); !errors.As(err, &m) || !strings.Contains(err.Error(), fmt.Sprintf("arena %d", id)) {
		t.Errorf("FreeSlice of a value of a leaked arena: panic %v, want a MisuseError that names the arena", v)
	}
}
