// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/internal/sanitize"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// Values of all flows, with something in them that tells one round's from another's.
type (
	noReuseNode struct {
		id   int
		name string
		next *noReuseNode
		held *[64]byte
	}
	noReuseFlag struct {
		id int32
		on bool
	}
)

// leftBehind is what code keeps that uses values too late.
type leftBehind struct {
	id    int
	node  *noReuseNode
	flags []noReuseFlag
	words []uint64
	bytes []byte
	text  string
	large []byte
}

func textOf(id int) string { return fmt.Sprintf("the text of request %d", id) }

// leave makes values in an arena that bear a number.
func leave(a *Arena, id int) *leftBehind {
	l := &leftBehind{id: id, node: New[noReuseNode](a)}
	l.node.id, l.node.name, l.node.next, l.node.held = id, String(a, textOf(id)), New[noReuseNode](a), new([64]byte)
	l.node.next.id = ^id
	l.flags = MakeSlice[noReuseFlag](a, 3, 3)
	l.words = MakeSlice[uint64](a, 9, 9)
	l.bytes = Bytes(a, textOf(id))
	l.text = Concat(a, "<", textOf(id), ">")
	l.large = MakeSlice[byte](a, 400<<10, 400<<10)
	for i := range l.flags {
		l.flags[i] = noReuseFlag{int32(id), id%2 == 0}
	}
	for i := range l.words {
		l.words[i] = uint64(id)
	}
	l.large[0], l.large[len(l.large)-1] = byte(id), byte(id)
	return l
}

// check returns an error that names the first changed value, nil if there is none.
func (l *leftBehind) check() error {
	want := textOf(l.id)
	switch n := l.node; {
	case n.id != l.id || n.name != want || n.next == nil || n.next.id != ^l.id || n.held == nil:
		return fmt.Errorf("the node of %d is %+v", l.id, *n)
	case string(l.bytes) != want || l.text != "<"+want+">":
		return fmt.Errorf("the texts of %d are %q and %q", l.id, l.bytes, l.text)
	case l.large[0] != byte(l.id) || l.large[len(l.large)-1] != byte(l.id):
		return fmt.Errorf("the large block of %d has %d and %d", l.id, l.large[0], l.large[len(l.large)-1])
	}
	for _, f := range l.flags {
		if f != (noReuseFlag{int32(l.id), l.id%2 == 0}) {
			return fmt.Errorf("a flag of %d is %+v", l.id, f)
		}
	}
	for _, w := range l.words {
		if w != uint64(l.id) {
			return fmt.Errorf("a word of %d is %d", l.id, w)
		}
	}
	return nil
}

// A noReuseWay is a way to give values up without reuse: it calls fill, and then gives up what that
// made.
type noReuseWay struct {
	name string
	open func() (round func(fill func(a *Arena)))
}

func noReuseWays() []noReuseWay {
	options := Options{NoReuse: true}
	shared := Options{NoReuse: true, Shared: true}
	reset := func(make func() *Arena, m Mode) func() func(func(*Arena)) {
		return func() func(func(*Arena)) {
			a := make()
			return func(fill func(*Arena)) { fill(a); a.Reset(m) }
		}
	}
	free := func(o Options) func() func(func(*Arena)) {
		return func() func(func(*Arena)) {
			return func(fill func(*Arena)) { a := NewWith(o); fill(a); a.Free() }
		}
	}
	rewind := func(o Options, again bool) func() func(func(*Arena)) {
		return func() func(func(*Arena)) {
			a := NewWith(o)
			leave(a, 1<<20)
			c := a.Checkpoint()
			return func(fill func(*Arena)) {
				if !again {
					c = a.Checkpoint()
				}
				fill(a)
				a.Rewind(c)
			}
		}
	}
	return []noReuseWay{
		{"mode of Reset", reset(NewArena, NoReuse)},
		{"mode of Reset, shared", reset(NewShared, NoReuse)},
		{"Reset", reset(func() *Arena { return NewWith(options) }, Keep)},
		{"Reset, shared", reset(func() *Arena { return NewWith(shared) }, Keep)},
		{"Free", free(options)},
		{"Free, shared", free(shared)},
		{"Rewind to one checkpoint", rewind(options, true)},
		{"Rewind to many", rewind(options, false)},
		{"Rewind, shared", rewind(shared, true)},
		{"Put", func() func(func(*Arena)) {
			p := &Pool{NoReuse: true}
			return func(fill func(*Arena)) { a := p.Get(); fill(a); p.Put(a) }
		}},
		{"Put of an arena from elsewhere", func() func(func(*Arena)) {
			p := &Pool{}
			return func(fill func(*Arena)) { a := NewWith(options); fill(a); p.Put(a) }
		}},
		{"Put of a shared arena", func() func(func(*Arena)) {
			p := &Pool{NoReuse: true}
			return func(fill func(*Arena)) { a := NewShared(); fill(a); p.Put(a) }
		}},
	}
}

// skipApart skips a test if a debug mode overwrites freed values in order to find their use.
func skipApart(t *testing.T) {
	t.Helper()
	if newDebugState(&fromGo).apart() {
		t.Skip("the debug mode overwrites what is given up")
	}
	if newDebugState(&fromGo) != nil {
		t.Skip("a sampled value is inaccessible when it is given up")
	}
}

// TestNoReuse: freed values keep their contents, whatever this arena and others allocate
// afterwards.
func TestNoReuse(t *testing.T) {
	skipApart(t)
	for _, way := range noReuseWays() {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			round := way.open()
			var left []*leftBehind
			for id := range 12 {
				round(func(a *Arena) { left = append(left, leave(a, id)) })
				other := NewArena() // It reuses, so it takes the chunks in the store.
				leave(other, 1000+id)
				other.Free()
				if id%4 == 3 {
					runtime.GC()
				}
			}
			for _, l := range left {
				if err := l.check(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestNoReuseTakesNothing: an arena without reuse has no memory that another arena has given up to
// be reused.
func TestNoReuseTakesNothing(t *testing.T) {
	skipApart(t)
	if freehold.HeapMode() {
		t.Skip("arenas have no memory")
	}
	given := map[uintptr]bool{}
	var keep []*leftBehind
	for id := range 20 {
		a := NewArena()
		l := leave(a, id)
		keep = append(keep, l)
		given[unsafex.Addr(l.node)] = true
		given[unsafex.Addr(&l.words[0])] = true
		given[unsafex.Addr(&l.bytes[0])] = true
		given[unsafex.Addr(&l.large[0])] = true
		a.Free()
	}
	p := &Pool{NoReuse: true}
	for id := range 20 {
		for _, a := range []*Arena{NewWith(Options{NoReuse: true}), p.Get()} {
			l := leave(a, id)
			if given[unsafex.Addr(l.node)] || given[unsafex.Addr(&l.words[0])] || given[unsafex.Addr(&l.bytes[0])] || given[unsafex.Addr(&l.large[0])] {
				t.Fatal("an arena without reuse has a chunk that another arena has given up")
			}
			a.Free()
		}
	}
	runtime.KeepAlive(keep)
}

// TestNoReuseStats: chunks that were left to the collector count nowhere.
func TestNoReuseStats(t *testing.T) {
	if freehold.HeapMode() || newDebugState(&fromGo).apart() {
		t.Skip("arenas have no chunks of their own")
	}
	for _, shared := range []bool{false, true} {
		a := NewWith(Options{NoReuse: true, Shared: shared, Limit: 2 << 20})
		for id := range 40 { // The limit holds for one round, not for all.
			l := leave(a, id)
			if !a.Owns(l.node) || !a.Owns(l.text) {
				t.Fatal("the arena does not own what it has made")
			}
			if s := a.Stats(); s.InUse < 400<<10 || s.Held != s.InUse+s.Retained {
				t.Fatalf("Stats are %+v", s)
			}
			a.Reset(Keep)
			if s := a.Stats(); s.Held != 0 || s.InUse != 0 || s.Chunks != 0 {
				t.Fatalf("after Reset Stats are %+v", s)
			}
			if a.Owns(l.node) || a.Owns(l.text) {
				t.Fatal("the arena still owns what it has given up")
			}
		}
		leave(a, 1)
		before, c := a.Stats(), a.Checkpoint()
		for id := range 10 {
			leave(a, id)
			if id%2 == 0 {
				New[int](a)
			}
			a.Rewind(c)
			if s := a.Stats(); s.InUse != before.InUse || s.Held > before.Held {
				t.Fatalf("before the checkpoint Stats are %+v, after Rewind %+v", before, s)
			}
		}
		a.Free()
	}
}

// released runs the collector until done says that it has released something.
func released(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !done(); runtime.GC() {
		if time.Now().After(end) {
			t.Fatalf("%s is still reachable", what)
		}
	}
}

// TestNoReuseReleases: neither an arena nor a handle to it keeps freed values alive, or memory that
// they point to. A stale value keeps its own chunk alive.
func TestNoReuseReleases(t *testing.T) {
	skipApart(t)
	for _, way := range noReuseWays() {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			round := way.open()
			var held, other weak.Pointer[[64]byte]
			var arena *Arena
			var of Typed[noReuseNode]
			var stale *noReuseNode
			round(func(a *Arena) {
				arena, of = a, Of[noReuseNode](a)
				stale = leave(a, 1).node
				held = weak.Make(stale.held)
			})
			round(func(a *Arena) { other = weak.Make(leave(a, 2).node.held) })
			released(t, "what a value of the second round points to", func() bool { return other.Value() == nil })
			if held.Value() == nil || stale.held == nil {
				t.Error("what a stale value points to was freed")
			}
			runtime.KeepAlive(stale)
			stale = nil
			released(t, "what a value of the first round points to", func() bool { return held.Value() == nil })
			runtime.KeepAlive(arena)
			runtime.KeepAlive(of)
			runtime.KeepAlive(round)
		})
	}
}

// TestNoReuseProven: large chunks without pointers come back when no pointer into them is left, and
// not before.
func TestNoReuseProven(t *testing.T) {
	if freehold.HeapMode() || sanitize.Race || debugging() {
		t.Skip("no chunk comes back")
	}
	const size = 777_777
	k := shelf{nil, byteFlow, classOf(size + goHeader)}
	a := NewWith(Options{NoReuse: true})
	stale := MakeSlice[byte](a, size, size)
	stale[0], stale[size-1] = 'a', 'z'
	addr := unsafex.Addr(&stale[0])
	// took takes chunks that came back until it is the one of stale. Others are those of earlier
	// tests.
	took := func() *chunk {
		for {
			if c := proven.get(k); c == nil || unsafex.PtrAddr(c.base) == addr {
				return c
			}
		}
	}
	a.Reset(Keep)
	for range 3 {
		runtime.GC()
		if took() != nil {
			t.Fatal("a chunk came back with a pointer into it")
		}
	}
	if stale[0] != 'a' || stale[size-1] != 'z' {
		t.Error("the bytes are not what they were")
	}
	runtime.KeepAlive(stale)
	stale = nil
	var c *chunk
	released(t, "a chunk without pointers", func() bool { c = took(); return c != nil })
	if index.find(addr) != c {
		t.Error("the index does not know the chunk that came back")
	}
	proven.put(c)
	fresh := MakeSlice[byte](a, size, size)
	for i, b := range fresh {
		if b != 0 {
			t.Fatalf("byte %d of a new slice is %d", i, b)
		}
	}
	a.Free()
}

// TestNoReuseFollowsRounds: a small round after a large one takes no large chunks, and equal rounds
// take one chunk a type.
func TestNoReuseFollowsRounds(t *testing.T) {
	if freehold.HeapMode() || newDebugState(&fromGo).apart() {
		t.Skip("arenas have no chunks of their own")
	}
	round := func(a *Arena, n int) Stats {
		for range n {
			New[noReuseNode](a).name = String(a, "some text")
			New[[4]uint64](a)
		}
		return a.Stats()
	}
	for name, m := range map[string]struct {
		o Options
		m Mode
	}{"mode": {Options{}, NoReuse}, "option": {Options{NoReuse: true}, Keep}} {
		a := NewWith(m.o)
		round(a, 100_000)
		a.Reset(m.m)
		for range 40 {
			round(a, 200)
			a.Reset(m.m)
		}
		s := round(a, 200)
		if s.Chunks > 3 || s.Held > s.InUse+s.InUse/2 {
			t.Errorf("%s: after 40 rounds of 200 values one has %d chunks of %d bytes for %d in use", name, s.Chunks, s.Held, s.InUse)
		}
		a.Free()
	}
	// Arenas that are made for each round learn from those that the same place made before.
	pool := &Pool{NoReuse: true}
	for name, way := range map[string]struct {
		make func() *Arena
		end  func(*Arena)
	}{
		"fresh": {func() *Arena { return NewWith(Options{NoReuse: true}) }, (*Arena).Free},
		"Pool":  {pool.Get, pool.Put},
	} {
		for i := range 4 {
			a := way.make()
			if s := round(a, 3000); i > 0 && (s.Chunks > 3 || s.Held > s.InUse+s.InUse/2) {
				t.Errorf("%s: round %d of 3000 values has %d chunks of %d bytes for %d in use", name, i, s.Chunks, s.Held, s.InUse)
			}
			way.end(a)
		}
	}
}

// TestNoReuseRefused: off-heap arenas name the mode that they refuse, and work on.
func TestNoReuseRefused(t *testing.T) {
	off, fixed := NewOffHeap(Options{}), NewFixed(1<<10)
	defer off.Free()
	defer fixed.Free()
	for name, f := range map[string]func(){
		"NewOffHeap":     func() { NewOffHeap(Options{NoReuse: true}) },
		"Reset":          func() { off.Reset(NoReuse) },
		"Reset of fixed": func() { fixed.Reset(NoReuse) },
	} {
		func() {
			defer func() {
				err, ok := recover().(error)
				if !ok || !strings.HasPrefix(err.Error(), "arena: ") || !strings.Contains(err.Error(), "with NoReuse") {
					t.Errorf("%s: %v", name, err)
				}
			}()
			f()
		}()
	}
	New[int](off)
	New[int](fixed)
	for name, o := range map[string]func(){
		"Limit": func() { NewWith(Options{Limit: -1}) },
	} {
		func() {
			defer func() {
				if err, ok := recover().(error); !ok || errors.Is(err, errors.ErrUnsupported) {
					t.Errorf("%s: %v", name, err)
				}
			}()
			o()
		}()
	}
}

// TestLessonsOfOneBucket: four places of a program that want the same entries keep what they have learned.
func TestLessonsOfOneBucket(t *testing.T) {
	a := new(Arena)
	b := &bump{in: &state{self: a}}
	bucket := func() int {
		entry, _ := b.lesson()
		for i := range lessons {
			if entry == &lessons[i] {
				return i / 4
			}
		}
		return -1
	}
	var made []uintptr
	var before [4]uint64
	for at := uintptr(1); len(made) < 4; at++ {
		a.made = at
		if bucket() == 7 {
			made = append(made, at)
		}
	}
	for i := range before {
		before[i] = lessons[28+i].Swap(0)
	}
	defer func() {
		for i, v := range before {
			lessons[28+i].Store(v)
		}
	}()
	for range 2 {
		for i, at := range made {
			a.made, b.expect = at, uintptr(8*(i+1))
			b.remember()
		}
	}
	for i, at := range made {
		a.made, b.expect = at, 0
		if b.recall(); b.expect != uintptr(8*(i+1)) {
			t.Errorf("place %d: %d bytes are expected, want %d", i, b.expect, 8*(i+1))
		}
	}
}
