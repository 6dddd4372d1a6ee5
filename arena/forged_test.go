// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/internal/owner"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/offheap"
)

// freeAround calls the functions of offheap that free, resize or move a block, with p. Each must refuse it, and name a,
// which made *p.
func freeAround[T any](t *testing.T, what string, a *Arena, p *T) {
	t.Helper()
	l := offheap.NewLocal()
	defer l.Close()
	named := fmt.Sprintf("it belongs to arena %d;", a.ID())
	s := unsafex.SliceOf[T](unsafex.PtrOf(p), 1, 1)
	for name, f := range map[string]func(){
		"Delete":              func() { offheap.Delete(p) },
		"Typed.Delete":        func() { offheap.Typed[T]{}.Delete(p) },
		"In(Local).Delete":    func() { offheap.In[T](l).Delete(p) },
		"FreeSlice":           func() { offheap.FreeSlice(s) },
		"In(Local).FreeSlice": func() { offheap.In[T](l).FreeSlice(s) },
		"Realloc to more":     func() { offheap.Realloc(s, 100) },
		"Realloc to as many":  func() { offheap.Realloc(s, 1) },
		"Realloc to none":     func() { offheap.Realloc(s, 0) },
		"Append":              func() { offheap.Append(s, *p) },
		"Grow":                func() { offheap.Grow(s, 1) },
	} {
		misused(t, fmt.Sprintf("%s: %s of a %T", what, name, *p), named, f)
	}
	if caught(func() { offheap.RefOf(p).Ptr() }) == nil { // A Ref to a part of a bool's type leads nowhere.
		misused(t, what+": DeleteRef", named, func() { offheap.DeleteRef(offheap.RefOf(p)) })
	}
	if w, ok := any(p).(*[1]uint64); ok {
		freeWord(t, what, named, l, w)
	}
}

// freeWord is freeAround for the functions that take bytes, or slices of types of any alignment.
func freeWord(t *testing.T, what, named string, l *offheap.Local, w *[1]uint64) {
	t.Helper()
	b := offheap.RefFromUint64[[8]byte](offheap.RefOf(w).Uint64()).Ptr()[:]
	for name, f := range map[string]func(){
		"Free":             func() { offheap.Free(b) },
		"Local.Free":       func() { l.Free(b) },
		"Realloc, aligned": func() { offheap.Typed[uint64]{}.Aligned(1<<20).Realloc(w[:], 1) },
		"Grow, aligned":    func() { offheap.Typed[uint64]{}.Aligned(1<<20).Grow(w[:], 1) },
	} {
		misused(t, what+": "+name, named, f)
	}
}

// misused expects a MisuseError of f that says so.
func misused(t *testing.T, what, says string, f func()) {
	t.Helper()
	v := caught(f)
	var m *offheap.MisuseError
	if err, _ := v.(error); !errors.As(err, &m) || !strings.Contains(m.Error(), says) {
		t.Errorf("%s: panic %v, want a MisuseError that says %q", what, v, says)
	}
}

// TestOffheapFreeOfChunk: offheap frees no block of an arena by its first value, nor by another.
func TestOffheapFreeOfChunk(t *testing.T) {
	for _, purpose := range []*offheap.Purpose{
		nil,
		offheap.NewPurpose("TestOffheapFreeOfChunk"),
		offheap.NewPurposeWith("TestOffheapFreeOfChunk, wiped", offheap.PurposeOptions{Wipe: true}),
	} {
		name := "NewOffHeap"
		if purpose != nil {
			name += " of " + purpose.Name()
		}
		for round := range 3 { // The first arena leaves free blocks to the next.
			freeAllAround(t, fmt.Sprintf("%s, round %d", name, round), func() *Arena { return NewOffHeap(Options{Purpose: purpose}) })
		}
	}
	freeAllAround(t, "shared", func() *Arena { return NewOffHeap(Options{Shared: true}) })
	freeAllAround(t, "fixed", func() *Arena { return NewFixed(3 << 20) })
}

// freeAllAround calls freeAround for values of all kinds in a new arena, and frees the arena. Blocks
// of the program that are as long as the arena's come and go meanwhile.
func freeAllAround(t *testing.T, what string, make func() *Arena) {
	t.Helper()
	for _, n := range []int{248, 256, 1000, 1 << 10, 100_000} {
		offheap.Free(offheap.Alloc(n))
	}
	a := make()
	for range 3 {
		freeAround(t, what, a, New[[1]uint64](a))
		freeAround(t, what+", large", a, unsafex.As[[1]uint64](unsafex.PtrOf(&New[[20_000]uint64](a)[0])))
		if !a.from.fixed {
			freeAround(t, what, a, New[flag](a))
			freeAround(t, what+", large", a, New[[70_000]bool](a))
			freeAround(t, what+", array", a, &New[[2]flag](a)[0])
		}
	}
	before, held := List(), a.Stats().Held
	w := New[[1]uint64](a)
	w[0] = 7
	s := offheap.MakeSlice[uint64](128, 128)
	for i := range s {
		s[i] = 8
	}
	if w[0] != 7 {
		t.Errorf("%s: a value of the arena is %d after an allocation off the heap, not 7", what, w[0])
	}
	offheap.FreeSlice(s)
	if got := List(); len(got) != len(before) || a.Stats().Held < held {
		t.Errorf("%s: the arenas are %v, and were %v", what, got, before)
	}
	id := a.ID()
	if v := caught(a.Free); v != nil {
		t.Errorf("%s: Free panics: %v", what, v)
	}
	if listed(id) {
		t.Errorf("%s: the arena is listed after its Free", what)
	}
}

func listed(id uint64) bool {
	return slices.ContainsFunc(List(), func(i Info) bool { return i.ID == id })
}

// TestFreeGoesOn: if offheap refuses to free a chunk, Free and Reset report it when all other chunks
// are free, and Free ends the arena.
func TestFreeGoesOn(t *testing.T) {
	quiet(t)
	for _, c := range []struct {
		name string
		make func() *Arena
	}{
		{"off-heap", func() *Arena { return NewOffHeap(Options{}) }},
		{"shared", func() *Arena { return NewOffHeap(Options{Shared: true}) }},
		{"fixed", func() *Arena { return NewFixed(1000) }},
	} {
		for _, reset := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, Reset %t", c.name, reset), func(t *testing.T) {
				before, inUse := ReadTotals(), offheap.ReadStats().InUse
				a := c.make()
				id := a.ID()
				if a.debug.apart() || a.shared != nil && a.shared.in.debug.apart() {
					a.Free()
					t.Skip("values are blocks of their own")
				}
				stolen := index.find(unsafex.Addr(New[[1]uint64](a)))
				if !a.from.fixed {
					for range 3 {
						New[[300]uint64](a)
						New[[300]flag](a)
						New[[20_000]uint64](a)
					}
				}
				owner.Free(stolen.block(), nil)
				if reset && !a.from.fixed { // A fixed arena keeps its chunk.
					misused(t, "Reset", "", func() { a.Reset(GiveBack) })
					if got := a.Stats().Held; got != 0 {
						t.Errorf("the arena holds %d bytes after Reset", got)
					}
					New[[1]uint64](a)
					a.Free()
				} else {
					misused(t, "Free", "", a.Free)
				}
				after := ReadTotals()
				if listed(id) || after.Arenas != before.Arenas || after.OffHeap != before.OffHeap {
					t.Errorf("after Free the totals are %+v, and were %+v; the arenas are %v", after, before, List())
				}
				if got := offheap.ReadStats().InUse; got != inUse {
					t.Errorf("%d bytes are in use off the heap, and were %d before", got, inUse)
				}
				misused(t, "the second Free", "", a.Free)
			})
		}
	}
}
