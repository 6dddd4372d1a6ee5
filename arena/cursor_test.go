// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"unsafe"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/internal/debugmode"
	"github.com/freehold-go/freehold/internal/sanitize"
)

// direct reports whether values are cut from chunks at once, so that cursors have room.
func direct() bool { return !freehold.HeapMode() && !debugmode.On() && !sanitize.Enabled } // HeapMode freezes the modes.

// TestUnsafeCursor cuts values of each type from cursors between values that are made the ordinary way, in arenas of
// all kinds: they are zero, aligned, and do not overlap, also after Reset.
func TestUnsafeCursor(t *testing.T) {
	taken := 0
	for name, kind := range doorKinds(t) {
		for _, typ := range doorTypes {
			u := UnsafeTypeOf(typ)
			if !kind.takes(u.desc) || typ.Size() == 0 {
				continue
			}
			for range 3 {
				type block struct {
					p unsafe.Pointer
					n int
				}
				var blocks []block
				for i := range 60 {
					n := 1 + i%3
					p := kind.a.UnsafeCursor(u).Take(uintptr(n) * typ.Size())
					if p != nil {
						taken++
					} else {
						var err error
						if p, err = kind.a.UnsafeMakeSlice(u, n); err != nil {
							t.Fatal(err)
						}
					}
					if uintptr(p)%uintptr(typ.Align()) != 0 || !allZero(typ, p, n) {
						t.Fatalf("%s: %d of %s lie at %p, zero: %t", name, n, typ, p, allZero(typ, p, n))
					}
					for _, b := range blocks {
						if at, end := uintptr(p), uintptr(p)+uintptr(n)*typ.Size(); at < uintptr(b.p)+uintptr(b.n)*typ.Size() && uintptr(b.p) < end {
							t.Fatalf("%s: %d of %s at %p lie in %d at %p", name, n, typ, p, b.n, b.p)
						}
					}
					scribble(typ, p, n)
					blocks = append(blocks, block{p, n})
				}
				if kind.a != nil {
					kind.a.Reset(Keep)
				}
			}
		}
	}
	if taken == 0 && direct() {
		t.Error("no cursor ever had room")
	}
}

// TestUnsafeCursorEnds: a cursor has no room once its chunk is full or the arena is freed.
func TestUnsafeCursorEnds(t *testing.T) {
	if !direct() {
		t.Skip("cursors have no room in this mode")
	}
	u := UnsafeTypeOf(reflect.TypeFor[node]())
	a := NewArena()
	if _, err := a.UnsafeNew(u); err != nil {
		t.Fatal(err)
	}
	c := a.UnsafeCursor(u)
	for c.Take(u.size) != nil {
	}
	if _, err := a.UnsafeNew(u); err != nil {
		t.Fatal(err)
	}
	if c.Take(u.size) != nil {
		t.Error("the cursor of a full chunk has room")
	}
	if c = a.UnsafeCursor(u); c.Take(u.size) == nil {
		t.Error("the cursor of a new chunk has no room")
	}
	a.Free()
	if c.Take(u.size) != nil {
		t.Error("the cursor of a freed arena has room")
	}
}

// A cutOwner is an arena with the blocks that live in it.
type cutOwner struct {
	a      *Arena
	pool   *Pool // If it came from one.
	ended  bool
	blocks []cutBlock
	marks  []Checkpoint
	counts []int // Of the blocks, at each mark.
}

type cutBlock struct{ from, to uintptr }

// make makes one of three kinds of arena.
func (o *cutOwner) make(r *rand.Rand, pool *Pool) {
	switch r.IntN(3) {
	case 0:
		o.a = NewArena()
	case 1:
		o.a = NewWith(Options{NoReuse: true})
	default:
		o.a, o.pool = pool.Get(), pool
	}
}

// free frees some or all of what the arena holds.
func (o *cutOwner) free(r *rand.Rand) {
	switch n := r.IntN(6); {
	case n == 0 && o.pool != nil:
		o.pool.Put(o.a)
		o.ended = true
	case n == 0:
		o.a.Free()
		o.ended = true
	case n < 3 && len(o.marks) > 0:
		i := r.IntN(len(o.marks))
		o.a.Rewind(o.marks[i])
		o.blocks, o.marks, o.counts = o.blocks[:o.counts[i]], o.marks[:i+1], o.counts[:i+1]
		return
	case n < 5:
		o.marks, o.counts = append(o.marks, o.a.Checkpoint()), append(o.counts, len(o.blocks))
		return
	default:
		o.a.Reset([]Mode{Keep, GiveBack, NoReuse, KeepUpTo(2 << 10)}[r.IntN(4)])
	}
	o.blocks, o.marks, o.counts = nil, nil, nil
}

// add notes n values at p, which must be zero, and overlap no others.
func (o *cutOwner) add(all []*cutOwner, t *UnsafeType, p unsafe.Pointer, n int) error {
	b := cutBlock{uintptr(p), uintptr(p) + uintptr(n)*t.size}
	for _, other := range all {
		for _, c := range other.blocks {
			if b.from < c.to && c.from < b.to {
				return fmt.Errorf("%d of %s overlap another value", n, t)
			}
		}
	}
	if o.ended || !allZero(t.Type(), p, n) {
		return fmt.Errorf("%d of %s: the arena has ended: %t, zero: %t", n, t, o.ended, allZero(t.Type(), p, n))
	}
	scribble(t.Type(), p, n)
	o.blocks = append(o.blocks, b)
	return nil
}

// TestUnsafeCursorKept keeps cursors until their arena frees values, and cuts from any of them while arenas are reset,
// rewound, freed, limited and handed to the next owner of a Pool. A cursor cuts only memory that its arena has free.
func TestUnsafeCursorKept(t *testing.T) {
	if !direct() {
		t.Skip("cursors have no room in this mode")
	}
	types := []*UnsafeType{
		UnsafeTypeOf(reflect.TypeFor[node]()), UnsafeTypeOf(reflect.TypeFor[point]()),
		UnsafeTypeOf(reflect.TypeFor[flag]()), UnsafeTypeOf(reflect.TypeFor[string]()),
	}
	type kept struct {
		c  *UnsafeCursor
		of *cutOwner
		t  *UnsafeType
	}
	taken := 0
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 7))
		pool := new(Pool)
		owners := make([]*cutOwner, 3)
		for i := range owners {
			owners[i] = new(cutOwner)
			owners[i].make(r, pool)
		}
		var cursors []kept
		for range 800 {
			i, u, n := r.IntN(len(owners)), types[r.IntN(len(types))], 1+r.IntN(3)
			o := owners[i]
			var err error
			switch k := r.IntN(40); {
			case k == 0:
				cursors = slices.DeleteFunc(cursors, func(c kept) bool { return c.of == o })
				if o.free(r); o.ended {
					owners[i] = new(cutOwner)
					owners[i].make(r, pool)
				}
			case k == 1: // The arena gives up what is spare, and what is empty.
				old := o.a.SetLimit(1)
				_, _ = o.a.UnsafeMakeSlice(u, 10_000)
				o.a.SetLimit(old)
			case k < 8:
				cursors = append(cursors, kept{o.a.UnsafeCursor(u), o, u})
			case k < 16 || len(cursors) == 0:
				p, e := o.a.UnsafeMakeSlice(u, n)
				if e != nil {
					t.Fatal(e)
				}
				err = o.add(owners, u, p, n)
			default:
				c := cursors[r.IntN(len(cursors))]
				if p := c.c.Take(uintptr(n) * c.t.size); p != nil {
					taken++
					err = c.of.add(owners, c.t, p, n)
				}
			}
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		for _, o := range owners {
			o.a.Free()
		}
	}
	if taken < 1000 {
		t.Errorf("%d values were cut from cursors", taken)
	}
}

// TestSlabsCursor: the cursor of slabs stays the same, and its values do not overlap those of New.
func TestSlabsCursor(t *testing.T) {
	var s UnsafeSlabs
	for range 3 {
		seen := map[unsafe.Pointer]bool{}
		for _, typ := range doorTypes {
			u := UnsafeTypeOf(typ)
			c := s.Cursor(u)
			for i := range 50 {
				p := unsafe.Pointer(nil)
				if i%3 != 0 && typ.Size() != 0 {
					p = c.Take(typ.Size())
				}
				if p == nil {
					p = s.New(u)
				}
				if typ.Size() != 0 && seen[p] || !allZero(typ, p, 1) || uintptr(p)%uintptr(typ.Align()) != 0 {
					t.Fatalf("a %s at %p, seen: %t, zero: %t", typ, p, seen[p], allZero(typ, p, 1))
				}
				seen[p] = true
				scribble(typ, p, 1)
			}
			if s.Cursor(u) != c {
				t.Errorf("%s has another cursor", typ)
			}
		}
		s.End()
	}
}

// TestSlabsLeft: a message whose values are as many for its bytes as those of the last two takes an object for each
// type, and no more memory than it needs.
func TestSlabsLeft(t *testing.T) {
	var s UnsafeSlabs
	u, w := UnsafeTypeOf(reflect.TypeFor[node]()), UnsafeTypeOf(reflect.TypeFor[point]())
	message := func(n int) (bytes uintptr) {
		for i := range n {
			s.Left(10 * (n - i))
			s.New(u)
			s.New(w)
		}
		bytes = s.of(u).taken + s.of(u).limit
		s.End()
		return bytes
	}
	message(100)
	message(100)
	for _, n := range []int{100, 50, 100, 7, 3, 1, 100, 120, 300} {
		if bytes := message(n); bytes > uintptr(n+n/8+2)*u.size {
			t.Errorf("%d values take slabs of %d bytes, want about %d", n, bytes, uintptr(n)*u.size)
		}
	}
	for range 2 {
		message(100)
	}
	if n := testing.AllocsPerRun(20, func() { message(100) }); n > 2 {
		t.Errorf("%v objects for 200 values of two kinds", n)
	}
	if n := testing.AllocsPerRun(20, func() { message(50) }); n > 2.2 {
		t.Errorf("%v objects for 100 values of two kinds", n)
	}
}
