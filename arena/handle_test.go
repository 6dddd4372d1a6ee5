// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/offheap"
)

// copyOf is a copy of what p points to, without `go vet` seeing that it must not be copied.
func copyOf[T any](p *T) *T {
	c := new(T)
	*c = *p
	return c
}

// wantPanic expects f to panic with a text that has all the parts.
func wantPanic(t *testing.T, what string, f func(), parts ...string) {
	t.Helper()
	got := caught(f)
	for _, p := range parts {
		if got == nil || !strings.Contains(fmt.Sprint(got), p) {
			t.Errorf("%s: panic %v, want one with %q", what, got, p)
			return
		}
	}
}

// TestVetSeesCopies: each handle has what the copylocks analyzer of vet looks for: a field whose
// pointer has Lock and Unlock.
func TestVetSeesCopies(t *testing.T) {
	for _, h := range []reflect.Type{reflect.TypeFor[Arena](), reflect.TypeFor[Pool](), reflect.TypeFor[Builder](), reflect.TypeFor[Map[int, int]]()} {
		f := h.Field(0)
		p := reflect.PointerTo(f.Type)
		_, locks := p.MethodByName("Lock")
		_, unlocks := p.MethodByName("Unlock")
		if !locks || !unlocks || f.Type.Size() != 0 {
			t.Errorf("the first field of %s is %s %s, which vet does not take for a lock of no size", h, f.Name, f.Type)
		}
	}
}

// TestCopiedArena: every call on a copy of an arena panics and says so, whether the original is in
// use, reset or freed. The original is none the worse.
func TestCopiedArena(t *testing.T) {
	for _, k := range kinds {
		for _, state := range []struct {
			name string
			f    func(a *Arena)
		}{
			{"in use", func(*Arena) {}},
			{"reset", func(a *Arena) { a.Reset(Keep) }},
			{"freed", (*Arena).Free},
		} {
			a := k.make()
			if a == nil || a.rec == nil {
				continue
			}
			c0 := a.Checkpoint()
			id := fmt.Sprintf("a copy of arena %d", a.ID())
			b := copyOf(a)
			state.f(a)
			for name, f := range map[string]func(){
				"Free":       b.Free,
				"Reset":      func() { b.Reset(Keep) },
				"Checkpoint": func() { b.Checkpoint() },
				"Rewind":     func() { b.Rewind(c0) },
				"New":        func() { New[[3]int](b) },
				"TryNew":     func() { _, _ = TryNew[[3]int](b) },
				"NewOf":      func() { NewOf(b, reflect.TypeFor[int]()) },
				"MakeSlice":  func() { MakeSlice[int](b, 1000, 1000) },
				"Append":     func() { Append(b, []int{1}, 2) },
				"String":     func() { String(b, "text") },
				"Bytes":      func() { Bytes(b, "text") },
				"Concat":     func() { Concat(b, "te", "xt") },
				"NewFrom":    func() { NewFrom(b, [3]int{}) },
				"SliceFrom":  func() { SliceFrom(b, make([]int, 1000)) },
				"Grow":       func() { Grow(b, []int{1}, 0) },
				"Collect":    func() { Collect(b, slices.Values([]int{1})) },
				"Cleanup":    func() { Cleanup(new(leakTest), b) },
				"Of":         func() { Of[int](b) },
				"NewMap":     func() { NewMap[int, int](b, 0) },
				"Builder":    func() { _ = NewBuilder(b).WriteByte(1) },
				"ID":         func() { b.ID() },
				"Stats":      func() { b.Stats() },
				"SetLimit":   func() { b.SetLimit(1) },
				"Owns":       func() { b.Owns(new(int)) },
				"Check":      func() { _ = b.Check() },
				"Pool.Put":   func() { new(Pool).Put(b) },
			} {
				if name == "NewFrom" {
					name = "New" // It ends there.
				}
				says := []string{"arena: ", name, id, "never copy"}
				if state.name == "freed" {
					says = []string{"arena: ", name, fmt.Sprintf("arena %d", a.id)}
				}
				wantPanic(t, fmt.Sprintf("%s, %s: %s", k.name, state.name, name), f, says...)
			}
			if state.name != "freed" {
				New[int](a)
				a.Free()
			}
		}
	}
}

// TestOverwrittenArena: an older copy that is written over its arena has no lists of its own. An arena in use goes on: no
// value overlaps another, and Free frees all chunks. A freed one panics when it needs more than a cursor.
func TestOverwrittenArena(t *testing.T) {
	for _, change := range []struct {
		name  string
		f     func(a *Arena)
		freed bool
	}{
		{"growth", func(a *Arena) { MakeSlice[int](a, 5000, 5000) }, false},
		{"more types", func(a *Arena) { twelve(a) }, false},
		{"Reset", func(a *Arena) { a.Reset(GiveBack) }, false},
		{"Free", (*Arena).Free, true},
		{"Put", func(a *Arena) { new(Pool).Put(a) }, true},
	} {
		a := NewArena()
		New[int](a)
		New[node](a)
		String(a, "text")
		old := copyOf(a)
		change.f(a)
		reflect.ValueOf(a).Elem().Set(reflect.ValueOf(old).Elem())
		if change.freed {
			for what, f := range map[string]func(){
				"Free": a.Free, "Reset": func() { a.Reset(Keep) }, "New": func() { MakeSlice[int](a, 9000, 9000) }, "Put": func() { new(Pool).Put(a) },
			} {
				if v := caught(f); v == nil || !strings.Contains(fmt.Sprint(v), "was freed") {
					t.Errorf("%s after %s: %v", what, change.name, v)
				}
			}
			continue
		}
		fillOwned(a, 1).check(t, 0)
		twelve(a)
		held := a.Stats().Held
		a.Reset(Keep)
		fillOwned(a, 2).check(t, 0)
		twelve(a)
		if now := a.Stats().Held; now > 2*held+4096 {
			t.Errorf("%s: a second round like the first takes %d bytes, the first %d", change.name, now, held)
		}
		before := ReadTotals()
		held = a.Stats().Held
		a.Free()
		if after := ReadTotals(); after.Held != before.Held-held || after.Arenas != before.Arenas-1 {
			t.Errorf("%s: Free of %d bytes changes the totals from %+v to %+v", change.name, held, before, after)
		}
	}
}

// TestOverwrittenHeapArena: with the kill switch an arena over which an older copy of itself was written takes back
// what it has counted for its limit.
func TestOverwrittenHeapArena(t *testing.T) {
	for name, change := range map[string]func(a *Arena){
		"New":       func(a *Arena) { New[int](a) },
		"MakeSlice": func(a *Arena) { MakeSlice[node](a, 5000, 5000) },
		"GoMap":     func(a *Arena) { newGoMap[int, int](a, 100) },
		"Reset":     func(a *Arena) { a.Reset(Keep) },
	} {
		f := new(freshArena)
		f.start(&f.freshState, &fromSingle, [1]uintptr{}, Options{Limit: 1 << 20})
		a := &f.Arena
		New[int](a)
		old := copyOf(a)
		change(a)
		reflect.ValueOf(a).Elem().Set(reflect.ValueOf(old).Elem())
		New[int](a)
		if a.Reset(Keep); a.Stats().Held != 0 {
			t.Errorf("%s: %+v after Reset", name, a.Stats())
		}
		a.Free()
	}
}

// TestContainersOfOverwrittenArena: a copy of another arena is written over the arena of a Map or a Builder.
// The two take no memory of the other arena, because they would go on using it after that one's Reset.
func TestContainersOfOverwrittenArena(t *testing.T) {
	for _, k := range kinds {
		for name, prepare := range map[string]func(a *Arena) (use func()){
			"Map.Set of words": func(a *Arena) func() {
				m := NewMap[int, int](a, 0)
				m.Set(1, 1)
				return func() {
					for i := range 100 {
						m.Set(i, i)
					}
				}
			},
			"Map.Set of bools": func(a *Arena) func() {
				m := NewMap[int, bool](a, 0)
				return func() { m.Set(1, true) }
			},
			"Map.Set of a string": func(a *Arena) func() {
				if a.from.outside {
					return func() { m := NewMap[int, int](a, 0); m.Set(1, 1) }
				}
				m := NewMap[string, int](a, 8)
				m.Set("one", 1)
				return func() { m.Set("two", 2) }
			},
			"Builder.Write": func(a *Arena) func() {
				b := NewBuilder(a)
				_, _ = b.WriteString("one")
				return func() { _, _ = b.WriteString(strings.Repeat("two", 100)) }
			},
			"Builder.Grow": func(a *Arena) func() {
				b := NewBuilder(a)
				_, _ = b.WriteString("one")
				return func() { b.Grow(100) }
			},
		} {
			x, y := k.make(), k.make()
			if x == nil || x.rec == nil || x.from.fixed && name == "Map.Set of bools" {
				continue
			}
			use := prepare(x)
			prepare(y)() // Its chunks are open for the same types.
			before, in := copyOf(x), y.Stats().InUse
			reflect.ValueOf(x).Elem().Set(reflect.ValueOf(y).Elem())
			wantPanic(t, k.name+": "+name, use, "arena: ", "a copy of arena", "never copy")
			if now := y.Stats().InUse; now != in {
				t.Errorf("%s: %s takes %d bytes of the arena of which the copy is", k.name, name, now-in)
			}
			reflect.ValueOf(x).Elem().Set(reflect.ValueOf(before).Elem())
			x.Free()
			y.Free()
		}
	}
}

// TestCopiesHaveNoLists: copies are made at random moments of the life of an arena, which gives its chunks up in
// every way; other arenas get the chunks; and values are made through copies, by all fast paths. A copy may get memory
// that another arena has, of the same type. No list of chunks is damaged: the values of other arenas do not overlap,
// values of one type never lie in chunks of another, and every call of a copy that needs more than a cursor panics.
func TestCopiesHaveNoLists(t *testing.T) {
	chunked(t)
	rounds := 400
	if testing.Short() {
		rounds = 100
	}
	for seed := range uint64(rounds) {
		r := rand.New(rand.NewPCG(seed, 1))
		var pool Pool
		var copies []*Arena
		a := pool.Get()
		fillArena(a, r)
		checkpoint := a.Checkpoint()
		for range r.IntN(3) + 1 {
			copies = append(copies, copyOf(a))
			fillArena(a, r)
		}
		switch r.IntN(5) {
		case 0:
			a.Free()
		case 1:
			a.Reset(GiveBack)
		case 2:
			a.Reset(Keep)
			pool.Put(a)
		case 3:
			a.Rewind(checkpoint)
			copies = append(copies, copyOf(a))
			a.Free()
		case 4:
			pool.Put(a)
		}
		// They get what a had, from the Pool and from the store.
		third := []*Arena{pool.Get(), NewArena(), NewArena()}
		var mine []*owned
		for i := range 3 {
			for _, b := range third {
				mine = append(mine, fillOwned(b, i))
			}
			for _, c := range copies {
				useCopy(c)
			}
		}
		for _, o := range mine {
			o.check(t, seed)
		}
		for _, c := range copies {
			for name, f := range map[string]func(){"Free": c.Free, "Reset": func() { c.Reset(Keep) }, "Put": func() { pool.Put(c) }, "New": func() { MakeSlice[int](c, 9000, 9000) }} {
				wantPanic(t, name, f, "arena: ", "on ")
			}
		}
		for _, b := range third {
			b.Free()
		}
	}
}

// fillArena makes values by which fast paths are found, of so many types that slots grow.
func fillArena(a *Arena, r *rand.Rand) {
	for range 1 + r.IntN(40) {
		New[point](a)
		New[node](a)
		String(a, "some text")
		MakeSlice[int32](a, 2, 2)
	}
	if r.IntN(2) == 0 {
		New[[1]*int](a)
		New[[2]*int](a)
		New[[3]*int](a)
		New[[4]*int](a)
		New[[5]*int](a)
		New[[6]*int](a)
		New[[7]*int](a)
		New[[8]*int](a)
		New[[9]*int](a)
		New[point](a)
	}
}

// useCopy makes values through all fast paths of a copy, some of which panic.
func useCopy(c *Arena) {
	for range 3 {
		caught(func() {
			if p := New[point](c); p != nil {
				p.x, p.y = -1, -1
			}
		})
		caught(func() { New[node](c).name = "copy" })
		caught(func() { New[[3]*int](c)[0] = new(int) })
		caught(func() { String(c, "COPYCOPY") })
		caught(func() { clear(Bytes(c, "copycopy")) })
		caught(func() { MakeSlice[point](c, 2, 2)[1].x = -1 })
		caught(func() { MakeSlice[int32](c, 2, 2)[1] = -1 })
	}
}

// owned are values that only the test changes.
type owned struct {
	points []*point
	nodes  []*node
	texts  []string
	bytes  [][]byte
}

func fillOwned(a *Arena, n int) *owned {
	o := &owned{}
	for i := range 50 {
		p, q := New[point](a), New[node](a)
		p.x, p.y = int64(n), int64(i)
		q.name = "mine"
		o.points, o.nodes = append(o.points, p), append(o.nodes, q)
		o.texts = append(o.texts, String(a, fmt.Sprint("text ", i)))
		o.bytes = append(o.bytes, Bytes(a, fmt.Sprint("byte ", i)))
	}
	o.points[0].x = int64(n)
	return o
}

func (o *owned) check(t *testing.T, seed uint64) {
	t.Helper()
	seen := make(map[*point]bool)
	for i, p := range o.points {
		if seen[p] || p.y != int64(i) || p.x != o.points[0].x || o.nodes[i].name != "mine" ||
			o.texts[i] != fmt.Sprint("text ", i) || string(o.bytes[i]) != fmt.Sprint("byte ", i) {
			t.Fatalf("seed %d: value %d is %+v, %q, %q, %q", seed, i, *p, o.nodes[i].name, o.texts[i], o.bytes[i])
		}
		seen[p] = true
	}
}

// TestGivenUpChunks: the fast paths of an arena forget the chunks that leave it, so that it cuts nothing from them once
// another arena has them.
func TestGivenUpChunks(t *testing.T) {
	chunked(t)
	reusing(t)
	for name, leave := range map[string]func(a *Arena){
		"Reset":    func(a *Arena) { a.Reset(GiveBack) },
		"KeepUpTo": func(a *Arena) { a.Reset(KeepUpTo(1)) },
		"NoReuse":  func(a *Arena) { a.Reset(NoReuse) },
		"limit": func(a *Arena) {
			c := a.Checkpoint()
			a.Rewind(c)
			a.Reset(Keep)
			a.SetLimit(1)
			_, _ = TryMakeSlice[byte](a, 1<<20, 1<<20)
			a.SetLimit(0)
		},
	} {
		a := NewArena()
		for range 9 {
			New[point](a)
			New[node](a)
			String(a, "text")
			MakeSlice[int](a, 1, 1)
		}
		leave(a)
		b := NewArena()
		for i := range 50 {
			mine, theirs := fillOwned(a, i), fillOwned(b, i)
			mine.check(t, 0)
			theirs.check(t, 0)
			if !a.Owns(mine.points[0]) || !b.Owns(theirs.points[0]) || !a.Owns(mine.nodes[0]) || !b.Owns(theirs.nodes[0]) || !a.Owns(mine.texts[0]) || !b.Owns(theirs.texts[0]) {
				t.Fatalf("%s: a value of one arena lies in a chunk of the other", name)
			}
		}
		a.Free()
		b.Free()
	}
}

// TestFreedKeepsNoChunk: neither a freed arena nor its state leads to a chunk.
func TestFreedKeepsNoChunk(t *testing.T) {
	chunked(t)
	for name, end := range map[string]func(a *Arena){"Free": (*Arena).Free, "Put": func(a *Arena) { new(Pool).Put(a) }} {
		a := NewArena()
		twelve(a)
		String(a, "text")
		New[point](a)
		end(a)
		if a.slots != nil || a.mask != 0 || a.text != &noChunk.cursor || a.recent.cursor != &noChunk.cursor {
			t.Errorf("%s: the fast paths of a freed arena lead on", name)
		}
		if a.words != nil && (a.words.chunk != &noChunk || a.bytes.chunk != &noChunk || a.words.spare != nil) || len(a.typed) != 0 {
			t.Errorf("%s: a freed arena has chunks", name)
		}
		for _, s := range a.table {
			if s != (slot{}) {
				t.Errorf("%s: a slot of a freed arena leads to a chunk", name)
			}
		}
	}
}

// TestCopiedPool: a copy of a Pool that was used panics, and no state is handed out twice.
func TestCopiedPool(t *testing.T) {
	p := &Pool{Arenas: 8}
	unused := copyOf(p)
	p.Put(p.Get())
	b := copyOf(p)
	a := NewArena()
	wantPanic(t, "Get", func() { b.Get() }, "Pool.Get on a copy of a Pool")
	wantPanic(t, "Put", func() { b.Put(a) }, "Pool.Put on a copy of a Pool")
	a.Free() // It was not put anywhere.
	unused.Put(unused.Get())
	p.Get().Free()
}

// TestCopiedBuilder: a copy of a Builder panics, and what the original has built stays as it is.
func TestCopiedBuilder(t *testing.T) {
	for _, k := range kinds {
		a := k.make()
		b := NewBuilder(a)
		_, _ = b.WriteString("one ")
		c := copyOf(b)
		_, _ = b.WriteString("two")
		s := b.String()
		for name, f := range map[string]func(){
			"Builder.Write":       func() { _, _ = c.Write([]byte("x")) },
			"Builder.WriteString": func() { _, _ = c.WriteString("x") },
			"Builder.WriteByte":   func() { _ = c.WriteByte('x') },
			"Builder.Grow":        func() { c.Grow(1) },
			"Builder.String":      func() { _ = c.String() },
			"Builder.Reset":       c.Reset,
		} {
			wantPanic(t, k.name+" "+name, f, name+" on a copy of a Builder")
		}
		if s != "one two" || b.String() != s {
			t.Errorf("%s: %q became %q", k.name, s, b.String())
		}
		a.Free()
	}
	wantPanic(t, "Go heap", func() { _ = copyOf(NewBuilder(nil)).String() }, "copy of a Builder of the Go heap")
}

// TestCopiedMap: a copy of a Map panics.
func TestCopiedMap(t *testing.T) {
	for _, k := range kinds {
		a := k.make()
		m := NewMap[int, int](a, 0)
		m.Set(1, 1)
		c := copyOf(m)
		for name, f := range map[string]func(){
			"Map.Get":      func() { c.Get(1) },
			"Map.Set":      func() { c.Set(2, 2) },
			"Map.Delete":   func() { c.Delete(1) },
			"Map.Clear":    c.Clear,
			"Map.Len":      func() { c.Len() },
			"Map.Update":   func() { c.Update(1, plusOne) },
			"Map.GetOrSet": func() { c.GetOrSet(1, 1) },
			"Map.All": func() {
				for range c.All() {
				}
			},
		} {
			wantPanic(t, k.name+" "+name, f, name+" on a copy of a Map")
		}
		if v, _ := m.Get(1); v != 1 || m.Len() != 1 {
			t.Errorf("%s: the original has changed", k.name)
		}
		a.Free()
	}
}

// TestOffHeapZeroPurpose: an off-heap arena with a Purpose that NewPurpose did not make, such as one
// from json, is refused when it is made.
func TestOffHeapZeroPurpose(t *testing.T) {
	var o Options
	if err := json.Unmarshal([]byte(`{"Purpose":{}}`), &o); err != nil {
		t.Fatal(err)
	}
	before := len(List())
	wantPanic(t, "NewOffHeap", func() { NewOffHeap(o) }, "use of a Purpose that NewPurpose did not make")
	if n := len(List()); n > before {
		t.Errorf("%d arenas more are listed", n-before)
	}
}

// A forgedType is a reflect.Type that package reflect did not make.
type forgedType struct{ reflect.Type }

func (forgedType) Size() uintptr { return 8 }

// TestForgedType: a reflect.Type of another package is refused by name.
func TestForgedType(t *testing.T) {
	a := NewArena()
	defer a.Free()
	forged := forgedType{reflect.TypeFor[node]()}
	for op, f := range map[string]func(){
		"NewOf":        func() { NewOf(a, forged) },
		"nil arena":    func() { NewOf(nil, forged) },
		"Share":        func() { _, _ = DeepClone(a, &node{}, CloneOptions{Share: []reflect.Type{forged}}) },
		"UnsafeTrust":  func() { _, _ = DeepClone(a, &node{}, CloneOptions{UnsafeTrust: []reflect.Type{forged}}) },
		"Heap's Share": func() { _, _ = Heap(&node{}, CloneOptions{Share: []reflect.Type{forged}}) },
	} {
		wantPanic(t, op, f, "arena: ", "arena.forgedType", "implements reflect.Type outside of package reflect")
	}
}

// TestOffHeapPurposeOverwritten: an off-heap arena whose Purpose was overwritten refuses values that
// need memory, counts nothing for them, and goes on when the Purpose is back.
func TestOffHeapPurposeOverwritten(t *testing.T) {
	if freehold.HeapMode() {
		t.Skip("the memory is the Go heap's")
	}
	p := offheap.NewPurpose(t.Name())
	saved, zero := reflect.New(reflect.TypeFor[offheap.Purpose]()).Elem(), reflect.Zero(reflect.TypeFor[offheap.Purpose]())
	saved.Set(reflect.ValueOf(p).Elem())
	a := NewOffHeap(Options{Purpose: p, Limit: 1 << 20})
	defer a.Free()
	before := a.rec.held.Load()
	reflect.ValueOf(p).Elem().Set(zero)
	for range 2 {
		wantPanic(t, "MakeSlice", func() { MakeSlice[int](a, 10_000, 10_000) }, "use of a Purpose that NewPurpose did not make")
	}
	reflect.ValueOf(p).Elem().Set(saved)
	if n := a.rec.held.Load(); n != before {
		t.Errorf("%d bytes are counted for values that were refused", n-before)
	}
	MakeSlice[int](a, 10_000, 10_000)
}

// TestFixedPurposeOverwritten: NewFixed lists no arena if it panics because of its Purpose.
func TestFixedPurposeOverwritten(t *testing.T) {
	p := reflect.ValueOf(offheap.NewPurpose("arena")).Elem()
	saved := reflect.New(p.Type()).Elem()
	saved.Set(p)
	before := len(List())
	p.SetZero()
	defer p.Set(saved)
	wantPanic(t, "NewFixed", func() { NewFixed(1 << 10) }, "use of a Purpose that NewPurpose did not make")
	if n := len(List()); n > before {
		t.Errorf("%d arenas more are listed", n-before)
	}
}
