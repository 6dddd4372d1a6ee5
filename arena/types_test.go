// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"errors"
	"math/bits"
	"reflect"
	"testing"

	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/offheap"
)

type (
	ring  struct{ next, prev *ring }
	knot  struct{ all map[string]knot }
	lists []lists
	huge  [100 << 20]byte
	hugo  struct { // Not whole words.
		_ [1 << 20]byte
		n byte
	}
	wide struct {
		p *int
		_ [1 << 20]byte
		q *int
	}
	own struct {
		_    offheap.UnsafeSelfContained
		next *own
		ok   bool
	}
)

// TestTypesThatHoldThemselves makes values that lead to themselves.
func TestTypesThatHoldThemselves(t *testing.T) {
	a := NewArena()
	for range 100 {
		r := New[ring](a)
		r.next, r.prev = r, r
		k := New[knot](a)
		k.all = map[string]knot{"x": *k}
		l := New[lists](a)
		*l = Append(a, *l, *l, *l)
		i := New[any](a)
		*i = i
		if *New[ring](a) != (ring{}) || New[knot](a).all != nil || *New[lists](a) != nil || *New[any](a) != nil {
			t.Fatal("a new value is not zero")
		}
	}
	a.Free()
}

func TestLargeAndEmptyTypes(t *testing.T) {
	a := NewArena()
	defer a.Free()
	for range 3 {
		h := New[huge](a)
		if h[0] != 0 || h[100<<20-1] != 0 {
			t.Fatal("a new value of 100 MB is not zero")
		}
		h[0], h[100<<20-1] = 1, 1
		for range 3 {
			o, w := New[hugo](a), Of[wide](a).New()
			if o.n != 0 || w.p != nil || w.q != nil {
				t.Fatal("a new value of 1 MB is not zero")
			}
			o.n, w.p, w.q = 1, new(int), &[]int{17}[0]
		}
		if New[struct{}](a) == nil || len(MakeSlice[struct{}](a, 1<<30, 1<<30)) == 0 || New[[0]*int](a) == nil {
			t.Error("nothing")
		}
		if g := Append(a, []struct{}{{}}, struct{}{}); len(g) != 2 {
			t.Error("Append of nothing")
		}
		a.Reset(Keep)
	}
}

// TestOffHeapTypes: types with bools and self-contained ones have chunks of their own off the heap.
func TestOffHeapTypes(t *testing.T) {
	chunked(t)
	a := NewOffHeap(Options{Purpose: offheap.NewPurpose("types")})
	var last *own
	for range 1000 {
		o := New[own](a)
		if o.next != nil || o.ok {
			t.Fatal("a new value is not zero")
		}
		o.next, o.ok, last = last, true, o
		New[flag](a).ok = true
		if r := offheap.RefOf(New[point](a)); r.Ptr().x != 0 {
			t.Fatal("a Ref into an off-heap arena")
		}
	}
	if s := a.Stats(); s.Types != 2 {
		t.Errorf("%+v", s)
	}
	type unseen struct{ ok bool } // Never a type parameter.
	NewOf(a, reflect.TypeFor[unseen]()).(*unseen).ok = true
	a.Free()
	for _, p := range offheap.ReadStats().Purposes {
		if p.Name == "types" && p.InUse != 0 {
			t.Errorf("%d bytes in use after Free", p.InUse)
		}
	}
}

// TestRefsIntoArenas: a Ref leads to a value of an arena off the heap in each mode, the kill switch
// included, and the value cannot be freed by itself.
func TestRefsIntoArenas(t *testing.T) {
	for name, a := range map[string]*Arena{"off-heap": NewOffHeap(Options{}), "shared": NewOffHeap(Options{Shared: true}), "fixed": NewFixed(1 << 16)} {
		p, s := New[point](a), MakeSlice[point](a, 5, 5)
		if offheap.RefOf(p).Ptr() != p || offheap.RefOf(&s[3]).Ptr() != &s[3] {
			t.Errorf("%s: a Ref does not lead to the value", name)
		}
		if !panics(func() { offheap.Delete(p) }) {
			t.Errorf("%s: a value was deleted under the arena", name)
		}
		a.Free()
	}
}

// TestApart: memory never serves another type if one of the two holds pointers or bools.
func TestApart(t *testing.T) {
	chunked(t)
	type other struct{ a, b, c, d, e, f *int }
	served := map[uintptr]string{}
	note := func(what string, addr uintptr) {
		if was := served[addr]; was != "" && was != what {
			t.Fatalf("%#x served %s and now %s", addr, was, what)
		}
		served[addr] = what
	}
	for range 20 {
		a := NewArena()
		for range 500 {
			note("node", unsafex.Addr(New[node](a)))
			note("other", unsafex.Addr(New[other](a)))
			note("flag", unsafex.Addr(New[flag](a)))
			note("data", unsafex.Addr(New[int64](a)))
		}
		a.Free()
	}
}

// TestFixed: a fixed arena serves exactly what it has, again and again.
func TestFixed(t *testing.T) {
	chunked(t)
	for _, n := range []int{0, 8, 1000, 100_000} {
		a := NewFixed(n)
		for _, m := range []Mode{Keep, GiveBack, KeepUpTo(1)} {
			count := 0
			for ; ; count++ {
				p, err := TryNew[int64](a)
				if err != nil {
					break
				}
				if *p != 0 {
					t.Fatal("a new value is not zero")
				}
				*p = -1
			}
			if want := max(n, 8) / 8; count != want {
				t.Errorf("%d values of 8 bytes in %d bytes, want %d", count, n, want)
			}
			if s := a.Stats(); s.Held != int64(max(n, 8)) || s.Retained > 7 {
				t.Errorf("%d bytes: %+v", n, s)
			}
			a.Reset(m)
		}
		if n >= 1000 {
			s := Append(a, []byte("x"), make([]byte, 100)...)
			for range 200 { // In place, so that it fits.
				s = Append(a, s, 'y', 'y', 'y', 'y')
			}
			if len(s) != 901 {
				t.Error(len(s))
			}
		}
		a.Free()
	}
}

// TestFixedLargest has the largest fixed arena of a 32-bit system, which nearly fills a chunk's
// largest class.
func TestFixedLargest(t *testing.T) {
	chunked(t)
	if bits.UintSize == 64 || testing.Short() {
		t.Skip("needs a 32-bit system, and 488 MiB")
	}
	const n = (maxBytes - maxBytes/21) &^ 7
	a, err := tried(func() *Arena { return NewFixed(n) })
	if err != nil {
		t.Skip(err)
	}
	defer a.Free()
	New[int64](a)
	MakeSlice[byte](a, n-8, n-8)
	if _, err := TryNew[int64](a); !errors.Is(err, offheap.ErrLimit) {
		t.Error(err)
	}
}
