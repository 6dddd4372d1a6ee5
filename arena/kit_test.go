// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"
)

// warmPool is a Pool with the state of an arena that made values of twelve types.
func warmPool() *Pool {
	p := new(Pool)
	a := p.Get()
	twelve(a)
	String(a, "text")
	New[point](a)
	p.Put(a)
	return p
}

// TestPoolWarm: an arena of a warm Pool takes few objects, whatever it makes.
func TestPoolWarm(t *testing.T) {
	p := warmPool()
	if a := p.Get(); !reusesMaps() || a.debug != nil {
		t.Skip("nothing is reused, or values are sampled")
	} else {
		if s := a.Stats(); s.InUse != 0 || s.Types != 12 {
			t.Errorf("a warm arena has %+v", s)
		}
		p.Put(a)
	}
	if n := testing.AllocsPerRun(50, func() {
		a := p.Get()
		twelve(a)
		String(a, "text")
		New[point](a)
		p.Put(a)
	}); n > 1 && !raceEnabled { // The arena with cursors and slots.
		t.Errorf("%v objects for a request", n)
	}
	p = new(Pool) // An arena with few types, whose list of bumps lies in the arena itself.
	for range 4 {
		a := p.Get()
		*New[*int](a) = new(int)
		if n := New[node](a); n.next != nil || n.name != "" {
			t.Errorf("a new node holds %+v", *n)
		} else {
			n.name = "x"
		}
		p.Put(a)
	}
}

// TestPoolZero: the next owner of a state gets zeros, whichever way the request before ended, and a request keeps its
// values, whatever it does.
func TestPoolZero(t *testing.T) {
	chunked(t)
	p := warmPool()
	for name, use := range map[string]func(a *Arena, v *w12){
		"nothing": func(a *Arena, v *w12) {},
		"Stats": func(a *Arena, v *w12) {
			if s := a.Stats(); s.InUse < int64(unsafe.Sizeof(*v)+unsafe.Sizeof(point{})+4) || s.Types < 12 { // An earlier owner may have had more.
				t.Errorf("%+v", s)
			}
		},
		"Owns": func(a *Arena, v *w12) {
			if !a.Owns(v) {
				t.Error("an arena does not own its value")
			}
		},
		"Rewind": func(a *Arena, v *w12) {
			c := a.Checkpoint()
			New[w12](a)[0] = new(int)
			a.Rewind(c)
			if w := New[w12](a); w == v || w[0] != nil {
				t.Error("a value that was made before the checkpoint is freed, or its memory is not cleared")
			}
		},
		"Of": func(a *Arena, v *w12) {
			if w := Of[w12](a).New(); w == v || w[0] != nil {
				t.Error("a Typed makes a value twice, or its memory is not cleared")
			}
		},
		"a larger slice": func(a *Arena, v *w12) {
			for i, w := range MakeSlice[w12](a, 1000, 1000) {
				if w[i%12] != nil {
					t.Fatal("memory of a slice is not cleared")
				}
			}
		},
		"a new type": func(a *Arena, v *w12) { New[struct{ p [77]*int }](a) },
		"Reset":      func(a *Arena, v *w12) { a.Reset(Keep) },
	} {
		for range 3 {
			a := p.Get()
			twelve(a)
			v, n, s, i := New[w12](a), New[point](a), String(a, "text"), MakeSlice[int64](a, 3, 3)
			if *v != (w12{}) || *n != (point{}) || i[0]|i[1]|i[2] != 0 {
				t.Fatalf("%s: new values are %v, %v, %v", name, v, n, i)
			}
			for j := range v {
				v[j] = new(int)
			}
			w := *v
			n.x, i[0], i[1], i[2] = 1, 2, 3, 4
			use(a, v)
			if name != "Reset" && (*v != w || n.x != 1 || i[2] != 4 || s != "text") {
				t.Errorf("%s changes values", name)
			}
			p.Put(a)
		}
	}
	if !reusesMaps() || NewArena().debug != nil {
		return // Nothing is kept, or values are sampled.
	}
	for range 3 {
		a := p.Get()
		twelve(a)
		String(a, "text")
		New[point](a)
		MakeSlice[int64](a, 3, 3)
		newGoMap[string, int](a, 0)["x"] = 1
		growAndTrim(t, a)
		p.Put(a)
	}
	a := p.Get()
	twelve(a)
	String(a, "text")
	New[point](a)
	MakeSlice[int64](a, 3, 3)
	growAndTrim(t, a)
	if m := newGoMap[string, int](a, 0); len(m) != 0 {
		t.Errorf("a warm request gets a map with %d entries", len(m))
	}
	q := &Pool{Bytes: 1}
	q.Put(a)
	for _, k := range q.open("").states {
		if k.held > q.Bytes {
			t.Errorf("a Pool keeps %d bytes of at most %d", k.held, q.Bytes)
		}
	}
}

// growAndTrim makes slices of values with and without pointers longer and shorter, as decoders do.
func growAndTrim(t *testing.T, a *Arena) {
	for _, typ := range []reflect.Type{reflect.TypeFor[w12](), reflect.TypeFor[point]()} {
		u := UnsafeTypeOf(typ)
		s, err := a.UnsafeMakeSlice(u, 2)
		if err != nil {
			t.Fatal(err)
		}
		scribble(typ, s, 2)
		g, room, err := a.UnsafeGrow(u, s, 2, 2, 3)
		if err != nil || room < 3 || !allZero(typ, unsafe.Add(g, 2*typ.Size()), room-2) {
			t.Fatalf("%s: room for %d, or new values are not zero: %v", typ, room, err)
		}
		if left := a.UnsafeTrim(u, g, 2, room); left != 2 {
			t.Fatalf("%s: a slice of %d values keeps %d, want 2", typ, room, left)
		}
		next, err := a.UnsafeNew(u)
		if err != nil || !allZero(typ, next, 1) || next != unsafe.Add(g, 2*typ.Size()) {
			t.Fatalf("%s: the next value lies at %p behind two at %p, or is not zero: %v", typ, next, g, err)
		}
		h, _, err := a.UnsafeGrow(u, g, 2, 2, 3) // Not in place: a value lies behind it.
		if err != nil || h == g {
			t.Fatalf("%s: a slice grew over the value behind it: %v", typ, err)
		}
	}
}

// TestPoolOverwritten writes over an arena that was put back before it had typed values. The list of the next
// owner's types must not lie in it: the next owner would free values of an arena that is in use.
func TestPoolOverwritten(t *testing.T) {
	for name, other := range map[string]*Arena{"zero": {}, "another": NewArena()} {
		var v *node
		if name == "another" {
			v = New[node](other)
			v.name = "in use"
		}
		var p Pool
		a := p.Get()
		New[point](a)
		p.Put(a)
		next := p.Get()
		New[node](next)
		reflect.ValueOf(a).Elem().Set(reflect.ValueOf(other).Elem())
		next.Reset(Keep)
		if w := New[node](next); v == w || v != nil && v.name != "in use" {
			t.Errorf("%s: the next owner has freed a value of an arena in use", name)
		}
		p.Put(next)
		if v != nil {
			other.Free()
		}
	}
}

// TestPoolIdentity: nothing that belongs to an earlier owner of a warm arena works on, or takes memory of the next one.
func TestPoolIdentity(t *testing.T) {
	p := warmPool()
	a := p.Get()
	old := copyOf(a)
	typed, b, m, c := Of[w5](a), NewBuilder(a), NewMap[int, int](a, 4), a.Checkpoint()
	typed.New()
	_, _ = b.WriteString("x")
	m.Set(1, 2)
	id := a.ID()
	later := copyOf(a)
	p.Put(a)

	next := p.Get()
	defer p.Put(next)
	if next == a || next.ID() == id || listed(id) || !listed(next.ID()) {
		t.Fatalf("arena %d comes back as %d", id, next.ID())
	}
	twelve(next)
	first := New[w5](next)
	u := UnsafeTypeOf(reflect.TypeFor[w5]())
	for i, f := range []func(){
		func() { New[w5](a) },
		func() { typed.New() },
		func() { typed.MakeSlice(1, 1) },
		func() { typed.Append(nil, w5{}) },
		func() { _, _ = b.WriteString("y") },
		func() { m.Get(1) },
		func() { m.Set(2, 3) },
		func() { a.Rewind(c) },
		func() { next.Rewind(c) },
		func() { p.Put(a) },
		func() { a.Reset(Keep) },
		func() { _, _ = a.UnsafeNew(u) },
		func() { New[w1](a) },
		func() { old.Stats() },
		func() { MakeSlice[w5](later, 1000, 2000) },
		func() { reflect.ValueOf(a).Elem().Set(reflect.ValueOf(later).Elem()); MakeSlice[w5](a, 1000, 2000) },
		func() { reflect.ValueOf(a).Elem().Set(reflect.ValueOf(old).Elem()); a.Reset(Keep) },
		func() { a.Stats() },
		func() { a.Free() },
		func() { p.Put(a) },
		func() { reflect.ValueOf(a).Elem().SetZero(); New[w5](a) },
	} {
		if caught(f) == nil {
			t.Errorf("use %d of an arena that was put back works", i)
		}
	}
	if second := New[w5](next); reusesMaps() && next.debug == nil && uintptr(unsafe.Pointer(second)) != uintptr(unsafe.Pointer(first))+unsafe.Sizeof(w5{}) {
		t.Error("a stale use took memory of the next owner")
	}
	now := Of[w5](next)
	now.New()
	if caught(func() { typed.New() }) == nil {
		t.Error("a Typed of the owner before works on")
	}
}

// TestPoolWarmLimit: chunks that a warm arena has open, but not used, go before the limit refuses a
// value.
func TestPoolWarmLimit(t *testing.T) {
	p := warmPool()
	a := p.Get()
	defer p.Put(a)
	a.SetLimit(4 << 10)
	if s, err := TryMakeSlice[*node](a, 300, 300); err != nil || len(s) != 300 {
		t.Errorf("a value that fits without chunks that nothing uses: %v", err)
	}
	twelveAfter := caught(func() { New[w1](a); New[w2](a) })
	if twelveAfter != nil {
		t.Errorf("types whose chunks were given up: %v", twelveAfter)
	}
	a.SetLimit(0)
	c := a.Checkpoint()
	twelve(a)
	a.SetLimit(1)
	if _, err := TryMakeSlice[*node](a, 3000, 3000); err == nil {
		t.Error("a limit of 1 byte allows 3000 pointers")
	}
	a.SetLimit(0)
	a.Rewind(c)
	twelve(a)
}

// TestPoolWarmTyped: each owner's Typed works for it alone, also if all arenas of the Pool have one.
func TestPoolWarmTyped(t *testing.T) {
	p := warmPool()
	var earlier []Typed[w3]
	for range 5 {
		a := p.Get()
		now := Of[w3](a)
		if v := now.New(); *v != (w3{}) {
			t.Fatal("a new value is not zero")
		} else {
			v[1] = new(int)
		}
		for _, old := range earlier {
			if caught(func() { old.New() }) == nil {
				t.Fatal("a Typed of an earlier owner works")
			}
		}
		earlier = append(earlier, now)
		p.Put(a)
	}
}

// TestPoolManyTypes puts arenas back with more types than are searched one by one.
func TestPoolManyTypes(t *testing.T) {
	p := new(Pool)
	for range 3 {
		a := p.Get()
		Of[w2](a).New()
		for i := range 60 {
			u := UnsafeTypeOf(reflect.ArrayOf(i+1, reflect.TypeFor[*int]()))
			for range 3 {
				v, err := a.UnsafeNew(u)
				if err != nil || !allZero(u.Type(), v, 1) {
					t.Fatalf("%s: %v", u, err)
				}
				reflect.NewAt(u.Type(), v).Elem().Index(i).Set(reflect.ValueOf(new(int)))
			}
		}
		if a.from.onGo() && len(a.byDesc) != len(a.typed) {
			t.Errorf("%d types are indexed of %d", len(a.byDesc), len(a.typed))
		}
		for d, b := range a.byDesc {
			if b.desc != d || b.in != a.state {
				t.Errorf("%s is found as %s", b.desc.typ, d.typ)
			}
		}
		p.Put(a)
	}
}

// TestPoolDropped: an arena of a warm Pool that the program drops without Put leaves the registry, and its
// bytes the sums.
func TestPoolDropped(t *testing.T) {
	chunked(t)
	reusing(t)
	p := warmPool()
	before := ReadTotals().Forgotten
	id := func() uint64 {
		a := p.Get()
		twelve(a)
		if !listed(a.ID()) {
			t.Error("a warm arena is not found by its ID")
		}
		return a.ID()
	}()
	for range 100 { // A stale word on the stack may keep it for a while.
		if runtime.GC(); !listed(id) && ReadTotals().Forgotten > before {
			return
		}
		caught(func() { warmPool() })
	}
	t.Error("a dropped arena of a Pool stays in the registry")
}

// TestPoolRegistry: while arenas come and go, the registry can be asked, and none of them counts as forgotten.
func TestPoolRegistry(t *testing.T) {
	p := warmPool()
	var last atomic.Uint64
	var wg sync.WaitGroup
	done := make(chan bool)
	forgotten := registry.places.watch(registry.last.Load())
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				id := last.Load()
				listed(id)
				ReadTotals()
			}
		})
	}
	for range 300 {
		a := p.Get()
		last.Store(a.ID())
		New[w3](a)
		p.Put(a)
	}
	close(done)
	wg.Wait()
	if made := forgotten(); len(made) != 0 {
		t.Errorf("%d arenas that were put back count as forgotten", len(made))
	}
}

// TestPoolRecord: the next owner of a state has the record of the one before. Messages about the earlier arena name
// that, its rounds stay ended, and the registry knows the present one alone.
func TestPoolRecord(t *testing.T) {
	p := warmPool()
	a := p.Get()
	v, s, id := New[w5](a), String(a, "text"), a.ID()
	b, m, c, r := NewBuilder(a), NewMap[int, int](a, 4), a.Checkpoint(), a.Round()
	_, _ = b.WriteString("x")
	m.Set(1, 2)
	was := copyOf(a)
	p.Put(a)
	if reusesMaps() && (a.debug == nil && (inArena(unsafe.Pointer(v)) || inArena(unsafe.Pointer(unsafe.StringData(s))))) {
		t.Error("memory of an arena that was put back counts as an arena's")
	}
	later := func() (found []uint64) {
		for _, i := range List() {
			if i.ID >= id {
				found = append(found, i.ID)
			}
		}
		return found
	}
	if l := later(); len(l) != 0 || listed(id) {
		t.Errorf("arena %d was put back and is listed: %v", id, l)
	}
	next := p.Get()
	defer p.Put(next)
	if l := later(); len(l) != 1 || l[0] != next.ID() || next.ID() == id {
		t.Errorf("arena %d is listed as %v", next.ID(), l)
	}
	twelve(next)
	mark := next.Checkpoint()
	next.Reset(Keep)
	name := fmt.Sprintf("arena %d", id)
	for what, f := range map[string]func(){
		"New":          func() { New[w5](a) },
		"Put":          func() { p.Put(a) },
		"a copy":       func() { was.Stats() },
		"Builder":      func() { _, _ = b.WriteString("y") },
		"Map":          func() { m.Get(1) },
		"a checkpoint": func() { next.Rewind(c) },
	} {
		if e := caught(f); e == nil || !strings.Contains(fmt.Sprint(e), name) {
			t.Errorf("%s: %v, want a mistake with %s", what, e, name)
		}
	}
	if caught(func() { next.Rewind(mark) }) == nil {
		t.Error("a checkpoint outlives a Reset")
	}
	if r.Ended() != "reset" || next.Round().Ended() != "" {
		t.Errorf("the earlier owner's round has ended by %q, the present one by %q", r.Ended(), next.Round().Ended())
	}
}

// TestPoolStaleElsewhere: one goroutine uses what an earlier owner had while the next owner works. Every use panics,
// and the race detector finds none.
func TestPoolStaleElsewhere(t *testing.T) {
	p := warmPool()
	a := p.Get()
	typed, b, m, c, r := Of[w5](a), NewBuilder(a), NewMap[int, int](a, 4), a.Checkpoint(), a.Round()
	typed.New()
	_, _ = b.WriteString("x")
	m.Set(1, 2)
	p.Put(a)
	var wg sync.WaitGroup
	wg.Go(func() {
		for range 200 {
			for i, f := range []func(){
				func() { New[w5](a) }, func() { a.ID() }, func() { a.Rewind(c) },
				func() { typed.New() }, func() { typed.MakeSlice(1, 1) }, func() { _, _ = b.WriteString("y") }, func() { m.Set(1, 2) },
				func() { p.Put(a) }, func() { a.Owns("x") },
			} {
				if caught(f) == nil {
					t.Errorf("use %d of an arena that was put back works", i)
				}
			}
			if r.Ended() == "" {
				t.Error("a round of an arena that was put back has not ended")
			}
		}
	})
	for range 200 {
		next := p.Get()
		twelve(next)
		String(next, "text")
		mark := next.Checkpoint()
		twelve(next)
		next.Rewind(mark)
		next.Reset(Keep)
		Of[w5](next).New()
		p.Put(next)
	}
	wg.Wait()
}

// TestPoolTables: states with few and with many types, whose number grows from owner to owner, have a slot for each type,
// and each type has a chunk of its own.
func TestPoolTables(t *testing.T) {
	for _, step := range []int{1, 2, 3, 7, 40, 700} {
		p := new(Pool)
		n := 0
		for range 4 {
			n = min(n+step, 1400)
			if step == 700 && testing.Short() {
				break
			}
			for range 2 {
				a := p.Get()
				seen := make(map[unsafe.Pointer]bool)
				for i := range n {
					u := UnsafeTypeOf(reflect.StructOf([]reflect.StructField{{Name: "P", Type: reflect.TypeFor[*int]()}, {Name: "N", Type: reflect.ArrayOf(i, reflect.TypeFor[int]())}}))
					v, err := a.UnsafeNew(u)
					if err != nil || seen[v] || !allZero(u.Type(), v, 1) {
						t.Fatalf("%d types: value %d at %p: %v", n, i, v, err)
					}
					seen[v] = true
					reflect.NewAt(u.Type(), v).Elem().Field(0).Set(reflect.ValueOf(new(int)))
					New[point](a)
				}
				for _, b := range a.typed {
					if c := a.probe(b.desc.key); a.mask != 0 && c != &noChunk.cursor && c != &b.chunk.cursor {
						t.Fatalf("%d types: the slot of %s leads elsewhere", n, b.desc.typ)
					}
				}
				p.Put(a)
			}
		}
	}
}
