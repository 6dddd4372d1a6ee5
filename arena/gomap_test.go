// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"testing"
	"unsafe"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/offheap"
)

// addressOf is the address of a map, which tells it from others.
func addressOf[K comparable, V any](m map[K]V) uintptr { return uintptr(reflect.ValueOf(m).Pointer()) }

// reusesMaps says whether the modes of the process let arenas hand maps out again.
func reusesMaps() bool {
	a := NewArena()
	defer a.Free()
	return !freehold.HeapMode() && !a.debug.apart() && !a.noReuse
}

// waiting is how many maps wait for their next use.
func (s *typeMaps) waiting() int { return len(s.maps) - s.lent }

// TestGoMap: maps of all arenas are empty and work as Go's do, in each round.
func TestGoMap(t *testing.T) {
	for name, k := range doorKinds(t) {
		for range 3 {
			m, n := newGoMap[string, int](k.a, 3), newGoMap[float64, []string](k.a, 0)
			if m == nil || n == nil || len(m)+len(n) != 0 {
				t.Fatalf("%s: a new map holds %v %v", name, m, n)
			}
			for i := range 100 {
				m[fmt.Sprint(i)] = i
				n[float64(i)] = []string{"x"}
			}
			n[math.NaN()], n[math.NaN()] = nil, nil
			if len(m) != 100 || len(n) != 102 || m["7"] != 7 {
				t.Errorf("%s: a map lost entries: %d, %d", name, len(m), len(n))
			}
			p, err := k.a.UnsafeGoMap(UnsafeTypeOf(reflect.TypeFor[map[string]int]()), 0)
			if err != nil || len(*(*map[string]int)(unsafe.Pointer(&p))) != 0 {
				t.Errorf("%s: UnsafeGoMap: %v, %v", name, p, err)
			}
			c := k.a.Checkpoint()
			newGoMap[string, int](k.a, 0)["late"] = 1
			k.a.Rewind(c)
			if len(m) != 100 {
				t.Errorf("%s: Rewind changed a map from before the checkpoint", name)
			}
			k.a.Reset(Keep)
		}
	}
}

// TestGoMapAgain: Reset and Rewind clear maps and hand them out again, in the same order and for the
// same type only.
func TestGoMapAgain(t *testing.T) {
	if !reusesMaps() {
		t.Skip("no map is handed out again")
	}
	a := Cleanup(t, NewArena())
	round := func() (all []uintptr) {
		for range 5 {
			m := newGoMap[string, *int](a, 0)
			m["x"] = new(int)
			p, _ := a.UnsafeGoMap(UnsafeTypeOf(reflect.TypeFor[map[int]*int]()), 0)
			n := *(*map[int]*int)(unsafe.Pointer(&p))
			if len(m) != 1 || len(n) != 0 {
				t.Fatalf("a map that is handed out again holds %v %v", m, n)
			}
			n[1] = new(int)
			all = append(all, addressOf(m), addressOf(n))
		}
		return all
	}
	first := round()
	a.Reset(Keep)
	if second := round(); !reflect.DeepEqual(first, second) {
		t.Errorf("other maps in the second round: %v and %v", first, second)
	}
	c := a.Checkpoint()
	third := round()
	a.Rewind(c)
	if again := round(); !reflect.DeepEqual(third, again) {
		t.Errorf("other maps after Rewind: %v and %v", third, again)
	}
	a.Reset(Keep)
	if n := testing.AllocsPerRun(20, func() { round(); a.Reset(Keep) }); n > 16 { // Two pointers for each turn, and the list; each map would be two more.
		t.Errorf("%v objects in a round whose maps are all kept", n)
	}
	a.Reset(GiveBack)
	if s := a.Stats(); s.Held != 0 || a.maps.held != 0 {
		t.Errorf("%+v after GiveBack, maps of %d bytes", s, a.maps.held)
	}
}

// TestGoMapLarge: a map that is much larger than its last use is dropped, and so are maps that rounds
// do not use.
func TestGoMapLarge(t *testing.T) {
	if !reusesMaps() {
		t.Skip("no map is handed out again")
	}
	a := Cleanup(t, NewArena())
	use := func(n int) uintptr {
		m := newGoMap[int, int](a, 0)
		for i := range n {
			m[i] = i
		}
		return addressOf(m)
	}
	large := use(10000)
	a.Reset(Keep)
	if held := a.Stats().Retained; held < 10000*9 {
		t.Errorf("%d bytes retained with a map of 10000 entries", held)
	}
	if use(2000) != large {
		t.Error("another map")
	}
	a.Reset(Keep)
	if use(1000) != large {
		t.Error("the map was dropped after a fifth of its entries was used")
	}
	a.Reset(Keep)
	if use(3) == large {
		t.Error("the map was kept after a tenth of its entries was used")
	}
	a.Reset(Keep)
	for range 1000 {
		use(1)
	}
	for range 100 {
		a.Reset(Keep)
		use(1)
	}
	if n := a.maps.types[0].waiting(); n > 10 {
		t.Errorf("%d maps are kept that no round uses", n)
	}
	for range 200 {
		a.Reset(Keep)
	}
	if n := a.maps.types[0].waiting(); n > 1 || a.maps.held < 0 || a.maps.inUse != 0 {
		t.Errorf("%d maps of %d bytes are kept that no round uses, %d bytes in use", n, a.maps.held, a.maps.inUse)
	}
	for range 20 { // The same in a loop of Rewind.
		use(1)
	}
	c := a.Checkpoint()
	for range 500 {
		use(1)
		a.Rewind(c)
	}
	if n := a.maps.types[0].waiting(); n > 8 {
		t.Errorf("%d maps are kept that no Rewind takes back", n)
	}
}

// TestGoMapLimit: a map that waits for its next use and is too small for a hint goes when the limit leaves
// no room to count it as larger, and a new one takes its place or is refused.
func TestGoMapLimit(t *testing.T) {
	if !reusesMaps() {
		t.Skip("no map is handed out again")
	}
	for _, maps := range []int{1, 3} {
		a := Cleanup(t, NewArena())
		d := describe[map[int]int]()
		again := func() {
			for range maps {
				newGoMap[int, int](a, 0)
			}
			MakeSlice[int](a, 100, 100) // A spare chunk after the Reset.
			a.Reset(Keep)
		}
		again()
		a.SetLimit(mapBytes(d, 500)) // What is spare must go.
		if m, err := tryGoMap[int, int](a, 500); err != nil || len(m) != 0 {
			t.Errorf("%d maps: a map that fits the limit alone: %v, %v", maps, m, err)
		}
		if s := a.Stats(); s.Held != mapBytes(d, 500) || s.InUse != s.Held {
			t.Errorf("%d maps: %+v with a map of %d bytes alone", maps, s, mapBytes(d, 500))
		}
		a.SetLimit(0)
		a.Reset(GiveBack)
		again()
		a.SetLimit(mapBytes(d, 500) - 1)
		if m, err := tryGoMap[int, int](a, 500); !errors.Is(err, offheap.ErrLimit) {
			t.Errorf("%d maps: a map beyond the limit: %v, %v", maps, m, err)
		}
		if m, err := tryGoMap[int, int](a, 0); err != nil || len(m) != 0 {
			t.Errorf("%d maps: a small map after the refusal: %v, %v", maps, m, err)
		}
		if s := a.Stats(); s.Held != mapBytes(d, 0) || s.InUse != s.Held {
			t.Errorf("%d maps: %+v with a map of %d bytes alone", maps, s, mapBytes(d, 0))
		}
	}
}

// TestGoMapStale: where memory is not used again, a map that was freed stays what it was.
func TestGoMapStale(t *testing.T) {
	for name, end := range map[string]func(a *Arena){
		"Free":    func(a *Arena) { a.Free() },
		"NoReuse": func(a *Arena) { a.Reset(NoReuse) },
	} {
		a := NewArena()
		m := newGoMap[string, int](a, 0)
		m["x"] = 1
		end(a)
		if m["x"] != 1 {
			t.Errorf("%s changed a stale map", name)
		}
	}
	for name, a := range map[string]*Arena{"no reuse": NewWith(Options{NoReuse: true}), "no reuse, shared": NewWith(Options{NoReuse: true, Shared: true})} {
		m := newGoMap[string, int](a, 0)
		m["x"] = 1
		a.Reset(Keep)
		n := newGoMap[string, int](a, 0)
		c := a.Checkpoint()
		o := newGoMap[string, int](a, 0)
		o["y"] = 1
		a.Rewind(c)
		p := newGoMap[string, int](a, 0)
		if m["x"] != 1 || o["y"] != 1 || addressOf(m) == addressOf(n) || addressOf(o) == addressOf(p) {
			t.Errorf("%s: a map was used again", name)
		}
		a.Free()
	}
	if freehold.HeapMode() {
		return
	}
	a := NewArena()
	defer a.Free()
	m := newGoMap[string, int](a, 0)
	m["x"] = 1
	a.Reset(Keep)
	if kept := newGoMap[string, int](a, 0); (addressOf(m) == addressOf(kept)) != reusesMaps() {
		t.Errorf("a map is handed out again: %t, want %t", !reusesMaps(), reusesMaps())
	}
}

// TestGoMapPool: maps stay with the chunks of a Pool's arenas.
func TestGoMapPool(t *testing.T) {
	var p Pool
	a := p.Get()
	m := newGoMap[int, *int](a, 0)
	m[1] = new(int)
	p.Put(a)
	b := p.Get()
	defer p.Put(b)
	n := newGoMap[int, *int](b, 0)
	if reusesMaps() != (addressOf(m) == addressOf(n)) || len(n) != 0 {
		t.Errorf("a map of a Pool: %t again, it holds %d entries", addressOf(m) == addressOf(n), len(n))
	}
	if reusesMaps() && b.Stats().Held < 48 {
		t.Errorf("%+v with a map", b.Stats())
	}
	var q Pool
	q.Bytes = 1
	c := q.Get()
	newGoMap[int, int](c, 100)
	q.Put(c)
	if s := q.list.Load(); len(s.states) == 1 && s.states[0].held != 0 {
		t.Errorf("a Pool of 1 byte keeps %d", s.states[0].held)
	}
}
