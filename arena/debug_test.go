// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"unsafe"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/internal/checks/testenv"
	"github.com/freehold-go/freehold/internal/checks/testenv/modes"
	"github.com/freehold-go/freehold/internal/debugmode"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/offheap"
)

// inModes runs the calling test again in a process of its own in which FREEHOLD has the words. It
// returns true there, and false to the parent after the child has passed.
func inModes(t *testing.T, words string, env ...string) bool {
	t.Helper()
	if freehold.Modes().Heap {
		t.Skip("the debug modes do not reach values of the Go heap")
	}
	return modes.InChild(t, words, env...)
}

// fault is what freehold says of the fault that f ends with, nil if it does not.
func fault(f func()) (report error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if err, ok := recover().(error); ok {
			report = freehold.Explain(err)
		}
	}()
	f()
	return nil
}

// A stale is a way to use a value after it was given up. make makes the value and returns its use.
type stale struct {
	name  string
	goMem bool // The value holds Go pointers.
	make  func(a *Arena) (use func())
}

var sink any

func stales() []stale {
	type plain struct{ a, b int64 }
	return []stale{
		{"pointer", false, func(a *Arena) func() { p := New[plain](a); return func() { sink = p.b } }},
		{"write", false, func(a *Arena) func() { p := New[plain](a); return func() { p.b = 1 } }},
		{"bool", false, func(a *Arena) func() { p := New[flag](a); return func() { sink = *p } }},
		{"typed", false, func(a *Arena) func() { p := Of[plain](a).New(); return func() { sink = p.a } }},
		{"by type", false, func(a *Arena) func() { p := NewOf(a, reflect.TypeFor[plain]()).(*plain); return func() { sink = p.a } }},
		{"slice", false, func(a *Arena) func() { s := MakeSlice[int32](a, 5, 9); return func() { sink = s[4] } }},
		{"large slice", false, func(a *Arena) func() { s := MakeSlice[int64](a, 1<<18, 1<<18); return func() { sink = s[1<<17] } }},
		{"appended", false, func(a *Arena) func() { s := Append(a, []byte("ab"), 'c'); return func() { sink = s[2] } }},
		{"string", false, func(a *Arena) func() { s := String(a, "some text"); return func() { sink = s + "!" } }},
		{"concat", false, func(a *Arena) func() { s := Concat(a, "a", "bc"); return func() { sink = s == Concat(nil, "a", "bd") } }},
		{"builder", false, func(a *Arena) func() {
			b := NewBuilder(a)
			fmt.Fprint(b, "text")
			s := b.String()
			return func() { sink = strings.Count(s, "t") }
		}},
		{"clone of a string", false, func(a *Arena) func() {
			s, err := DeepClone(a, "some text")
			must(err)
			return func() { sink = []byte(s) }
		}},
		{"field pointer", true, func(a *Arena) func() {
			p := New[node](a)
			p.next = New[node](a)
			return func() { sink = p.next.kids }
		}},
		{"field nil", true, func(a *Arena) func() { p := New[node](a); return func() { sink = p.next.kids } }},
		{"field string", true, func(a *Arena) func() { p := New[node](a); return func() { sink = p.name + "!" } }},
		{"field slice", true, func(a *Arena) func() { p := New[node](a); return func() { sink = p.kids[0] } }},
		{"range", true, func(a *Arena) func() {
			p := New[node](a)
			return func() {
				for _, k := range p.kids {
					sink = k
				}
			}
		}},
		{"element", true, func(a *Arena) func() {
			s := MakeSlice[*node](a, 3, 3)
			s[2] = new(node)
			return func() { sink = s[2].name }
		}},
		{"interface", true, func(a *Arena) func() {
			p := New[fmt.Stringer](a)
			*p = reflect.TypeFor[int]()
			return func() { sink = (*p).String() }
		}},
		{"any", true, func(a *Arena) func() { p := New[[2]any](a); p[1] = 5; return func() { sink = p[1].(int) } }},
		{"Go map", true, func(a *Arena) func() {
			p := New[map[int]int](a)
			*p = map[int]int{1: 1}
			return func() { sink = (*p)[1] }
		}},
		{"closure", true, func(a *Arena) func() { p := New[func()](a); *p = func() {}; return func() { (*p)() } }},
		{"clone", true, func(a *Arena) func() {
			p, err := DeepClone(a, &node{name: "x", next: &node{}})
			must(err)
			return func() { sink = p.next.name }
		}},
	}
}

// giveUps are the calls that free the values made after the checkpoint.
var giveUps = []struct {
	op  string
	end func(a *Arena, c Checkpoint)
}{
	{"Free", func(a *Arena, _ Checkpoint) { a.Free() }},
	{"Reset", func(a *Arena, _ Checkpoint) { a.Reset(Keep) }},
	{"Rewind", func(a *Arena, c Checkpoint) { a.Rewind(c) }},
	{"Pool.Put", func(a *Arena, _ Checkpoint) { new(Pool).Put(a) }},
}

// TestGuardStale: with guard every use of a freed value faults, and freehold names the value. The one
// exception is a read of numbers in a value with pointers.
func TestGuardStale(t *testing.T) {
	testenv.MisusesMemory(t)
	if !inModes(t, "guard") {
		return
	}
	for _, k := range kinds {
		for _, s := range stales() {
			for _, g := range giveUps {
				if s.goMem && !k.pointers || s.name == "bool" && k.name == "NewFixed" {
					continue
				}
				a := k.make()
				New[int](a)
				c := a.Checkpoint()
				use := s.make(a)
				if err := fault(use); err != nil && s.name != "field nil" && s.name != "field slice" {
					t.Errorf("%s, %s: before %s: %v", k.name, s.name, g.op, err)
				}
				g.end(a, c)
				err := fault(use)
				if err == nil {
					t.Errorf("%s, %s: nothing happens after %s", k.name, s.name, g.op)
					continue
				}
				for _, says := range []string{"freehold: use after " + g.op + ": ", "accessed by", "  allocated", "arena.stales.func", g.op + " of arena ", "arena.TestGuardStale", "What to do: "} {
					if !strings.Contains(err.Error(), says) {
						t.Errorf("%s, %s after %s: no %q in: %v", k.name, s.name, g.op, says, err)
					}
				}
			}
		}
	}
}

// TestGuardStaleMap: a Map whose table is freed panics with a message of the package, before it
// faults.
func TestGuardStaleMap(t *testing.T) {
	testenv.MisusesMemory(t)
	if !inModes(t, "guard") {
		return
	}
	for _, k := range kinds {
		a := k.make()
		c := a.Checkpoint()
		m := NewMap[int, int](a, 0)
		for i := range 100 {
			m.Set(i, i)
		}
		a.Rewind(c)
		for what, f := range mapUses(m) {
			if err := fault(f); err == nil || !strings.Contains(err.Error(), what+" on a Map of arena") || !strings.Contains(err.Error(), "was rewound") {
				t.Errorf("%s: %s of a stale map: %v", k.name, what, err)
			}
		}
	}
}

// TestGuardBounds: with guard an access behind a value without pointers faults, and one before its
// page.
func TestGuardBounds(t *testing.T) {
	testenv.MisusesMemory(t)
	if !inModes(t, "guard") {
		return
	}
	for _, k := range kinds {
		a := k.make()
		s := String(a, "odd")
		ints := MakeSlice[int64](a, 3, 3)
		behind := fault(func() { sink = *(*byte)(unsafe.Add(unsafe.Pointer(&ints[0]), 24)) })
		before := fault(func() { sink = *(*byte)(unsafe.Add(unsafe.Pointer(&ints[0]), -os.Getpagesize())) })
		if behind == nil || !strings.Contains(behind.Error(), "freehold: overflow: access right behind a block of 24 bytes") || !strings.Contains(behind.Error(), "[]int64, arena") {
			t.Errorf("%s: an access behind a slice: %v", k.name, behind)
		}
		if before == nil || !strings.Contains(before.Error(), "freehold: underflow: ") {
			t.Errorf("%s: an access before a slice: %v", k.name, before)
		}
		text := fault(func() { sink = *(*byte)(unsafe.Add(unsafe.Pointer(unsafe.StringData(s)), 3)) })
		if k.pointers && (text == nil || !strings.Contains(text.Error(), "overflow")) {
			t.Errorf("%s: an access behind a string: %v", k.name, text)
		}
		a.Free()
	}
}

// TestGuardBudget: beyond the budget of mappings, allocations still succeed, and freed values are
// still poisoned.
func TestGuardBudget(t *testing.T) {
	testenv.MisusesMemory(t)
	if !inModes(t, "guard,guardmaps=40") {
		return
	}
	a := NewArena()
	var list []*int64
	for i := range 1000 {
		p := New[int64](a)
		*p = int64(i)
		list = append(list, p)
	}
	guarded := 0
	for i, p := range list {
		if *p != int64(i) || !a.Owns(p) {
			t.Fatalf("value %d is %d", i, *p)
		}
		if debugmode.Guarded(unsafex.Addr(p)) {
			guarded++
		}
	}
	if guarded == 0 || guarded > 20 {
		t.Errorf("%d values are guarded with 40 mappings", guarded)
	}
	last := list[len(list)-1]
	a.Reset(Keep)
	if uint64(*last) != 0xdddddddddddddddd {
		t.Errorf("an unguarded value that was given up is %#x", uint64(*last))
	}
	a.Free()
}

// TestPoisonCanary: with poison and with guard a write beside a value is found by Check, and by
// what gives the value up.
func TestPoisonCanary(t *testing.T) {
	testenv.MisusesMemory(t)
	for _, words := range []string{"guard,guardmaps=1", "guard"} {
		t.Run(words, func(t *testing.T) {
			if inModes(t, words) {
				testCanary(t, words)
			}
		})
	}
}

func testCanary(t *testing.T, words string) {
	for _, k := range kinds {
		if !k.pointers { // Offheap's own.
			continue
		}
		for _, g := range giveUps {
			for _, off := range []int{-1, -16, 20, 35} {
				if words == "guard" && off > 0 { // It faults.
					continue
				}
				a := k.make()
				c := a.Checkpoint()
				b := MakeSlice[byte](a, 20, 20)
				if err := a.Check(); err != nil {
					t.Fatalf("%s: %v", k.name, err)
				}
				at := (*byte)(unsafe.Add(unsafe.Pointer(&b[0]), off))
				old := *at
				*at = 1
				var m *offheap.MisuseError
				if err := a.Check(); !errors.As(err, &m) || m.Kind != "damaged canary" || m.Addr != unsafex.Addr(&b[0]) ||
					!strings.Contains(m.Report, "freehold: damaged canary: a byte ") || !strings.Contains(m.Allocated, "arena.testCanary") {
					t.Errorf("%s: Check after a write at %d: %v", k.name, off, err)
				}
				held := a.Stats()
				if err, ok := caught(func() { g.end(a, c) }).(error); !ok || !errors.As(err, &m) || !strings.Contains(m.Here, "arena.testCanary") {
					t.Errorf("%s: %s after a write at %d: %v", k.name, g.op, off, err)
				}
				if a.Stats() != held {
					t.Errorf("%s: a refused %s changed something", k.name, g.op)
				}
				*at = old
				g.end(a, c)
			}
		}
	}
}

// TestPoisonPattern: the pattern fills all of a freed value. Canaries differ from it.
func TestPoisonPattern(t *testing.T) {
	testenv.MisusesMemory(t)
	if !inModes(t, "guard,guardmaps=1") {
		return
	}
	a := NewArena()
	s := MakeSlice[uint16](a, 100, 100)
	n := New[struct {
		p *int
		i int32
		b bool
		f [3]float32
	}](a)
	n.b = true
	a.Free()
	for i, v := range s {
		if v != 0xdddd {
			t.Fatalf("element %d is %#x", i, v)
		}
	}
	if n.i != -0x22222223 || !n.b || fmt.Sprintf("%x", *(*uint32)(unsafe.Pointer(&n.f[2]))) != "dddddddd" || n.p == nil {
		t.Errorf("a struct that was given up is %+v", *n)
	}
}

// TestQuarantine: nothing that was given up comes again while there is room, and no more is kept
// than fits.
func TestQuarantine(t *testing.T) {
	if !inModes(t, "guard,guardmaps=1,guardbytes=8M") {
		return
	}
	seen := map[uintptr]bool{}
	for range 50 {
		a := NewArena()
		for range 20 {
			p := unsafex.Addr(New[node](a))
			if seen[p] {
				t.Fatal("memory comes again")
			}
			seen[p] = true
		}
		a.Free()
	}
	for range 100 {
		a := NewArena()
		MakeSlice[*int](a, 50_000, 50_000)
		a.Free()
	}
	if most := int64(8 << 20 / quarantineShare); quarantine.bytes > most || quarantine.bytes == 0 {
		t.Errorf("%d bytes in quarantine, at most %d may be", quarantine.bytes, most)
	}
}

// TestLateReport: a free of an off-heap arena that finds a write to another freed block is complete when it
// panics with the report, as a free of a block is.
func TestLateReport(t *testing.T) {
	testenv.MisusesMemory(t)
	if !inModes(t, "guard,guardmaps=1,guardbytes=1M") { // The arena's values drive the block out of the quarantine.
		return
	}
	for _, shared := range []bool{false, true} {
		for name, end := range map[string]func(a *Arena, c Checkpoint){
			"Free":   func(a *Arena, _ Checkpoint) { a.Free() },
			"Reset":  func(a *Arena, _ Checkpoint) { a.Reset(Keep) },
			"Rewind": func(a *Arena, c Checkpoint) { a.Rewind(c) },
		} {
			p := offheap.NewPurposeWith(fmt.Sprint("late ", name, shared), offheap.PurposeOptions{})
			a := NewOffHeap(Options{Shared: shared, Purpose: p})
			id, c := a.ID(), a.Checkpoint()
			for range 30 {
				MakeSlice[byte](a, 10000, 10000)
				New[int](a)
			}
			b := offheap.Alloc(100)
			offheap.Free(b)
			b[0]++
			found := false
			func() {
				defer func() {
					e, ok := recover().(*offheap.MisuseError)
					found = ok && e.Kind == "write after Free"
				}()
				end(a, c)
			}()
			if !found {
				t.Errorf("%s, shared %v: the write was not found", name, shared)
			}
			if name != "Free" {
				if s := a.Stats(); s.Held != 0 {
					t.Errorf("%s, shared %v: %+v afterwards", name, shared, s)
				}
				New[int](a)
				a.Free()
			}
			for _, s := range offheap.ReadStats().Purposes {
				if s.Name == p.Name() && s.InUse != 0 {
					t.Errorf("%s, shared %v: %d bytes are in use after Free", name, shared, s.InUse)
				}
			}
			if listed(id) {
				t.Errorf("%s, shared %v: the arena is in the list after Free", name, shared)
			}
		}
	}
	if err := offheap.Check(); err != nil {
		t.Error(err)
	}
}

// TestCheckmark: the collector's own check (gccheckmark) finds no fault in quarantined values.
func TestCheckmark(t *testing.T) {
	if !inModes(t, "guard,guardmaps=2000", "GODEBUG=gccheckmark=1", "GOGC=1") {
		return
	}
	var old []*node
	for round := range 30 {
		a := NewArena()
		c := a.Checkpoint()
		for i := range 50 {
			n := New[node](a)
			n.name, n.next, n.kids = String(a, fmt.Sprint(i)), New[node](a), MakeSlice[*node](a, 3, 5)
			n.kids[1] = &node{name: "on the heap"}
			old = append(old, n)
			if i%10 == 5 {
				a.Rewind(c)
			}
		}
		if a.Reset(Keep); round%3 == 0 {
			runtime.GC()
		}
		a.Free()
	}
	runtime.KeepAlive(old)
}

// TestSampleRate: of values without pointers one in some is guarded, whatever their sizes, in each
// kind of flow.
func TestSampleRate(t *testing.T) {
	testenv.MisusesMemory(t)
	if !inModes(t, "sample=50") {
		return
	}
	count := func(what string, n int, make func(a *Arena)) {
		guarded := 0
		for range 40 { // So many that slots do not run out.
			a := NewArena()
			for range n {
				make(a)
			}
			guarded += len(a.debug.values)
			a.Free()
		}
		want := 40 * n / 50
		// Seven standard deviations of a binomial distribution: 3e-12.
		if d := guarded - want; d*d > 49*want {
			t.Errorf("%s: %d of %d values are guarded, want about %d", what, guarded, 40*n, want)
		}
	}
	count("16 bytes", 10_000, func(a *Arena) { New[point](a) })
	count("800 bytes", 2000, func(a *Arena) { New[[100]int64](a) })
	count("strings", 10_000, func(a *Arena) { String(a, "some text") })
	i := 0
	count("two sizes", 10_000, func(a *Arena) {
		if i++; i%2 == 0 {
			New[point](a)
		} else {
			New[[10]int64](a)
		}
	})
}

func TestSampleStale(t *testing.T) {
	testenv.MisusesMemory(t)
	if !inModes(t, "sample=10") {
		return
	}
	reports := 0
	a := NewArena()
	for range 100 {
		var list []*point
		for range 20 {
			list = append(list, New[point](a))
		}
		a.Reset(Keep)
		for _, p := range list {
			if err := fault(func() { sink = p.x }); err != nil {
				if reports++; !strings.Contains(err.Error(), "use after Reset: access at the start of a block of 16 bytes (arena.point, arena") {
					t.Fatal(err)
				}
			}
		}
	}
	if reports < 100 || reports > 400 {
		t.Errorf("%d of 2000 stale values are reported, want about 200", reports)
	}
}

// TestSampleLimit: sampling makes no allocation fail, not even where the limit has no room for
// guarded pages.
func TestSampleLimit(t *testing.T) {
	testenv.MisusesMemory(t)
	if !inModes(t, "sample=1") {
		return
	}
	a := NewArena()
	defer a.Free()
	d := describe[point]()
	if _, err := a.cut(d, d.size, true); err != nil { // The first chunk.
		t.Fatal(err)
	}
	a.SetLimit(a.Stats().Held)
	for i := range firstWords/16 - 1 {
		if _, err := TryNew[point](a); err != nil {
			t.Fatalf("value %d, which fits in the chunk: %v", i, err)
		}
	}
	if err := many[point](a, 1); !errors.Is(err, offheap.ErrLimit) {
		t.Errorf("beyond the chunk: %v", err)
	}
}

// debugging says whether a debug mode is on. The first arena of a process reads the modes.
func debugging() bool {
	NewArena().Free()
	return debugmode.On()
}
