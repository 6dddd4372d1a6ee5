// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"weak"

	"github.com/freehold-go/freehold/internal/checks/testenv"
	"github.com/freehold-go/freehold/internal/sanitize"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/offheap"
)

type thing struct {
	n    int
	size int
	to   *thing
}

// still makes the state of p without its watch, so that the test alone calls collect. One P runs.
func still[T any](t *testing.T, p *Pool[T]) *store {
	if sanitize.Race {
		t.Skip("under the race detector a Pool has no caches")
	}
	procs := runtime.GOMAXPROCS(1)
	t.Cleanup(func() { runtime.GOMAXPROCS(procs) })
	s := new(state[T])
	p.configure(&s.store)
	p.state.Store(s)
	return &s.store
}

// lend gets n objects and puts them back.
func lend[T any](p *Pool[T], n int) {
	var out []*T
	for range n {
		out = append(out, p.Get())
	}
	for _, x := range out {
		p.Put(x)
	}
}

func TestPoolZeroValue(t *testing.T) {
	var p Pool[thing]
	x := p.Get()
	if *x != (thing{}) {
		t.Fatal("the first object is not zero")
	}
	x.n = 7
	p.Put(x)
	p.Put(nil)
	if !sanitize.Race {
		if y := p.Get(); y.n != 7 && p.Stats().Hits > 0 {
			t.Fatalf("an idle object has changed: %d", y.n)
		}
	}
	var small Pool[struct{}]
	lend(&small, 3)
}

// TestPoolFallsAfterPeak: after a peak the idle objects fall at each collection to the number that
// the program uses, and never to none.
func TestPoolFallsAfterPeak(t *testing.T) {
	made := 0
	p := Pool[thing]{New: func() *thing { made++; return &thing{} }, Max: 1 << 20}
	s := still(t, &p)
	lend(&p, 10_000)
	if st := p.Stats(); st.Idle != 10_000 || made != 10_000 {
		t.Fatalf("%d objects are idle of %d", st.Idle, made)
	}
	last := 10_000
	for range 100 {
		s.collect()
		lend(&p, 200)
		idle := p.Stats().Idle
		if idle > last { // Nothing is made.
			t.Fatalf("%d objects are idle after %d", idle, last)
		}
		last = idle
	}
	if last > 200+200/5 || made != 10_000 {
		t.Fatalf("%d objects are idle where 200 are used, and %d were made", last, made)
	}
	for range 100 {
		s.collect()
	}
	if idle := p.Stats().Idle; idle != 1 {
		t.Fatalf("%d objects are idle in an unused Pool, want 1", idle)
	}
	d := p.Stats()
	if d.Unused != 9_999 || d.TooMany+d.TooLarge+d.Drained != 0 {
		t.Fatalf("%+v", d)
	}
}

// TestPoolKeepsBusyCache: collections take nothing from a P that uses its objects.
func TestPoolKeepsBusyCache(t *testing.T) {
	made := 0
	p := Pool[thing]{New: func() *thing { made++; return &thing{} }}
	s := still(t, &p)
	for range 200 {
		lend(&p, 20)
		s.collect()
	}
	if made != 20 {
		t.Fatalf("%d objects were made where 20 are in use", made)
	}
}

func TestPoolMax(t *testing.T) {
	for _, c := range []struct{ max, procs, want int }{{-1, 1, 0}, {1, 1, 1}, {2, 1, 2}, {10, 1, 10}, {100, 1, 100}, {5000, 1, 5000}, {0, 1, 1024}, {0, 2, 2048}} {
		p := Pool[thing]{Max: c.max}
		still(t, &p)
		runtime.GOMAXPROCS(c.procs)
		lend(&p, 6000)
		st := p.Stats()
		low := c.want - c.procs*min(cacheSize, c.want/2) // A full cache gives half away, and another P's may be empty.
		if st.Idle > c.want || st.Idle < low || st.TooMany != uint64(6000-st.Idle) {
			t.Errorf("with Max %d on %d Ps %d objects are idle, want %d: %+v", c.max, c.procs, st.Idle, c.want, st)
		}
	}
}

// TestPoolSizes: larger objects are dropped, and Reset comes after Size.
func TestPoolSizes(t *testing.T) {
	var calls []string
	p := Pool[thing]{
		Size:    func(x *thing) int { calls = append(calls, "Size"); return x.size },
		Reset:   func(x *thing) { calls = append(calls, "Reset"); x.to = nil },
		MaxSize: 100,
	}
	still(t, &p)
	x := p.Get()
	x.size, x.to = 100, x
	p.Put(x)
	if want := []string{"Size", "Reset"}; !slices.Equal(calls, want) {
		t.Fatalf("Put calls %v, want %v", calls, want)
	}
	if y := p.Get(); y != x || y.to != nil {
		t.Fatal("an object of MaxSize is not kept, or not reset")
	}
	x.size = 101
	p.Put(x)
	if st := p.Stats(); st.TooLarge != 1 || st.Idle != 0 {
		t.Fatalf("%+v", st)
	}
	var out []*thing
	for range 100 {
		y := p.Get()
		y.size = 10
		out = append(out, y)
	}
	for _, y := range out {
		p.Put(y)
	}
	if st := p.Stats(); st.Idle != 100 || st.IdleBytes != 10*int64(100-p.procsIdle()) || st.IdleBytes == 0 {
		t.Fatalf("%+v", st)
	}
	p.Drain()
	if st := p.Stats(); st.Idle != 0 || st.IdleBytes != 0 || st.Drained != 100 {
		t.Fatalf("%+v", st)
	}
}

// procsIdle is the objects in the caches of Ps.
func (p *Pool[T]) procsIdle() (n int) {
	s := p.state.Load()
	for id := range s.table {
		n += int(s.table[id].Load().n)
	}
	return n
}

// TestPoolKeepsNothing: an object that Get returned and the program drops is freed, and so are a Pool
// and its idle objects.
func TestPoolKeepsNothing(t *testing.T) {
	if checksObjects() {
		t.Skip("the debug modes know an object for good")
	}
	p := &Pool[thing]{}
	lend(p, 3)
	x := weak.Make(p.Get())
	idle := weak.Make(p.Get())
	p.Put(idle.Value())
	state := weak.Make(p.state.Load())
	if !testenv.Collect(func() bool { return x.Value() == nil }) {
		t.Fatal("the Pool keeps an object alive that it has returned")
	}
	runtime.KeepAlive(p)
	if !testenv.Collect(func() bool { return state.Value() == nil && idle.Value() == nil }) {
		t.Fatal("a dropped Pool or its idle object stays in memory")
	}
}

// TestPoolCollects: the collector itself makes the idle objects fewer.
func TestPoolCollects(t *testing.T) {
	if sanitize.Race || checksObjects() {
		t.Skip("a Pool with a tracker keeps its objects")
	}
	var p Pool[thing]
	lend(&p, 1000)
	if !testenv.Collect(func() bool { return p.Stats().Idle < 10 }) {
		t.Fatalf("%d objects stay idle", p.Stats().Idle)
	}
}

// TestPoolGrows: a P without a cache gets one when it first needs it.
func TestPoolGrows(t *testing.T) {
	var p Pool[thing]
	s := still(t, &p)
	lend(&p, 100)
	var v view
	s.grow(&v, 37)
	if len(s.table) != 64 || int(v.procs.Load()) != 64 || p.Stats().Idle != 100 {
		t.Fatalf("the table has %d caches", len(s.table))
	}
	s.grow(&v, maxIDs)
	if len(s.table) != 64 {
		t.Fatalf("an ID beyond the bound makes %d caches", len(s.table))
	}
	runtime.GOMAXPROCS(3)
	lend(&p, 100)
}

// TestPoolRefused: objects off the Go heap are refused by their account, and the Pool works on.
func TestPoolRefused(t *testing.T) {
	account := offheap.NewPurpose("pool's tests, refused objects")
	account.SetLimit(1 << 20)
	defer account.SetLimit(0)
	offheap.CheckLeaks(t)
	p := Pool[[1 << 14]byte]{OffHeap: account}
	var out []*[1 << 14]byte
	err := offheap.Try(func() {
		for range 1000 {
			out = append(out, p.Get())
		}
	})
	if !errors.Is(err, offheap.ErrLimit) || len(out) == 0 {
		t.Fatalf("%v after %d objects", err, len(out))
	}
	for _, x := range out {
		p.Put(x)
	}
	p.Put(p.Get())
	p.Drain()
}

// tracking is a Pool as it is with the words guard and leaks.
func tracking[T any](p *Pool[T]) *tracker[T] {
	t := newTracker[T](p.Max)
	t.known, t.copy = map[*T]*record[T]{}, true
	s := &state[T]{tracked: t}
	p.configure(&s.store)
	p.state.Store(s)
	return t
}

// mistake is the panic of f.
func mistake(t *testing.T, kind string, f func()) *offheap.MisuseError {
	t.Helper()
	var e *offheap.MisuseError
	func() {
		defer func() {
			if v := recover(); v != nil {
				e, _ = v.(*offheap.MisuseError)
			}
		}()
		f()
	}()
	if e == nil || e.Kind != kind {
		t.Fatalf("no panic with %q, but %v", kind, e)
	}
	return e
}

// both checks that a mistake has the stacks of two functions of this file.
func both(t *testing.T, e *offheap.MisuseError, here, before string) {
	t.Helper()
	if !strings.Contains(e.Here, here) || !strings.Contains(e.Freed, before) || strings.HasPrefix(strings.TrimSpace(e.Here), "github.com/freehold-go/freehold/pool.(") {
		t.Fatalf("the mistake has not the stacks of %s and %s:\n%v", here, before, e)
	}
}

//go:noinline
func putFirst(p *Pool[thing], x *thing) { p.Put(x) }

//go:noinline
func putAgain(p *Pool[thing], x *thing) { p.Put(x) }

func TestTrackedMistakes(t *testing.T) {
	var p Pool[thing]
	tr := tracking(&p)
	x := p.Get()
	putFirst(&p, x)
	both(t, mistake(t, "second Put", func() { putAgain(&p, x) }), "putAgain", "putFirst")
	mistake(t, "foreign pointer", func() { p.Put(&thing{}) })
	x.n = 3
	e := mistake(t, "write after Put", func() { p.Get() })
	both(t, e, "TestTrackedMistakes", "putFirst")
	if err := tr.check(); err != nil {
		t.Fatalf("a write is reported twice: %v", err)
	}
	x.to = x
	if err := tr.check(); err == nil || !strings.Contains(err.Error(), "write after Put") {
		t.Fatalf("Check finds no write: %v", err)
	}
	lend(&p, 200) // The Pool works on.
	if n := tr.count(); n < lateBy || n > 201 {
		t.Fatalf("%d objects are idle", n)
	}
	mistake(t, "foreign pointer", func() { x := p.Get(); p.Drain(); q := Pool[thing]{}; tracking(&q); q.Put(x) })
}

// TestTrackedReuse: idle objects are used late and the oldest first, and Max holds.
func TestTrackedReuse(t *testing.T) {
	p := Pool[thing]{Max: 40}
	tr := tracking(&p)
	var out []*thing
	for range 50 {
		out = append(out, p.Get())
	}
	for _, x := range out {
		p.Put(x)
	}
	if st := p.Stats(); st.Idle != 40 || st.TooMany != 10 || st.Gets != 50 || st.Hits != 0 {
		t.Fatalf("%+v", st)
	}
	if x := p.Get(); x != out[10] {
		t.Fatal("Get does not return the oldest object")
	}
	for range 20 {
		p.Get()
	}
	if n := tr.count(); n != lateBy {
		t.Fatalf("%d objects are idle, want %d", n, lateBy)
	}
	p.Drain()
	if st := p.Stats(); st.Idle != 0 || st.Drained != lateBy {
		t.Fatalf("%+v", st)
	}
}

// TestTrackedPadding: the bytes between the fields of an object are compared as Put left them. They
// are not zero if the object was copied by reflect from memory of another kind.
func TestTrackedPadding(t *testing.T) {
	var p Pool[struct {
		small uint8
		large uint64
	}]
	tr := tracking(&p)
	x := p.Get()
	unsafex.SliceOf[byte](unsafex.PtrOf(x), 2, 2)[1] = 0xcc
	p.Put(x)
	if err := tr.check(); err != nil {
		t.Fatal(err)
	}
}
