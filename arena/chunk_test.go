// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"
	"weak"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/internal/checks/testenv"
	"github.com/freehold-go/freehold/internal/debugmode"
	"github.com/freehold-go/freehold/internal/sanitize"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/offheap"
)

// chunked skips a test of what chunks do where the kill switch leaves none.
func chunked(t *testing.T) {
	t.Helper()
	owning(t)
	if keptApart() {
		t.Skip("a debug mode: values are kept apart")
	}
}

// reusing skips a test of memory that arenas reuse where FREEHOLD=noreuse leaves it to the
// collector.
func reusing(t *testing.T) {
	t.Helper()
	if freehold.NoReuseMode() {
		t.Skip("FREEHOLD=noreuse: arenas leave their chunks to the collector")
	}
}

// owning skips a test of what arenas own where the kill switch lets them own nothing.
func owning(t *testing.T) {
	t.Helper()
	if freehold.HeapMode() {
		t.Skip("the kill switch: arenas own nothing")
	}
}

// keptApart says that a debug mode keeps the values of some arenas apart.
func keptApart() bool {
	c := debugmode.Current()
	return c.Guard || c.Pointers || sanitize.Enabled
}

// stopClock empties the store and stops its clock until the test ends, so that nothing leaves the
// store by itself.
func stopClock(t *testing.T) {
	t.Helper()
	for begin := time.Now(); store.kept.Load() != 0 || !store.timing.CompareAndSwap(false, true); {
		if time.Since(begin) > time.Minute {
			t.Fatal("the store's clock goes on; or it was stopped before in this test")
		}
		store.expire() // Until it is empty, and the memory of the peak gone, the clock does not stop.
		time.Sleep(time.Millisecond)
	}
	t.Cleanup(func() {
		store.timing.Store(false)
		if store.kept.Load() > 0 {
			store.wake()
		}
	})
}

// quiet stops what allocates on the Go heap beside a test until it ends: the store's clock, and the
// collector, after which cleanups run and pools must be filled again.
func quiet(t *testing.T) {
	t.Helper()
	stopClock(t)
	percent := debug.SetGCPercent(-1)
	t.Cleanup(func() { debug.SetGCPercent(percent) })
}

// sampling says that some values lie on guarded pages instead of in chunks.
func sampling() bool { return debugmode.Current().Sample > 0 }

func TestClasses(t *testing.T) {
	for c := range uint8(200) {
		n := classBytes(c)
		if n > maxBytes {
			break
		}
		if classOf(n) != c || classOf(n-1) != c || classOf(n+1) != c+1 || n%32 != 0 {
			t.Fatalf("class %d of %d bytes: %d, %d, %d", c, n, classOf(n-1), classOf(n), classOf(n+1))
		}
	}
	if classBytes(classOf(1<<20)) != 1<<20 {
		t.Error("powers of two are no classes")
	}
}

// TestNoAllocations: no fast path allocates on the Go heap, nor does a round in a warm arena.
func TestNoAllocations(t *testing.T) {
	chunked(t)
	reusing(t)
	if raceEnabled || debugmode.Current().On() {
		t.Skip("the race detector and the debug modes allocate")
	}
	a := NewArena()
	defer a.Free()
	b := NewBuilder(a)
	round := func() {
		nodes := Of[node](a)
		for range 2000 {
			New[point](a)
			New[odd](a)
			New[flag](a)
			n := nodes.New()
			n.name = String(a, "a name")
			n.kids = MakeSlice[*node](a, 2, 3)
			n.kids = Append(a, n.kids, n, n, n)
			Bytes(a, "some bytes")
			_, _ = b.WriteString("more")
		}
		c := a.Checkpoint()
		nodes.New()
		MakeSlice[int](a, 100_000, 100_000)
		a.Rewind(c)
		a.Reset(Keep)
		b.Reset()
	}
	for range 3 { // Until the chunks are there, and the slots.
		round()
	}
	quiet(t)
	if n := testing.AllocsPerRun(10, round); n != 0 {
		t.Errorf("%v allocations on the Go heap a round", n)
	}
}

// TestWaste holds small arenas to what they may take.
func TestWaste(t *testing.T) {
	chunked(t)
	a := NewArena()
	defer a.Free()
	for range 10 {
		New[point](a)
	}
	if held := a.Stats().Held; held > 4<<10 {
		t.Errorf("ten objects of 16 bytes take %d bytes", held)
	}
	b := NewArena()
	defer b.Free()
	for i := range 20 { // Types of up to 8 words.
		typ := reflect.ArrayOf(1+i%8, reflect.PointerTo(reflect.ArrayOf(i, reflect.TypeFor[byte]())))
		for range 10 {
			NewOf(b, typ)
		}
	}
	if s := b.Stats(); s.Held > 32<<10 || s.Types != 20 {
		t.Errorf("ten values each of 20 types: %+v", s)
	}
}

// TestManyTypes uses 10,000 types once; the store forgets them again.
func TestManyTypes(t *testing.T) {
	chunked(t)
	reusing(t)
	stopClock(t)
	// The collector may at any time take a Pool that an earlier test left, or give back a chunk of
	// an arena without reuse. Neither counts.
	others := func() int64 { return pooled.Load() + proven.kept.Load() }
	retained := func() int64 {
		for {
			n := others()
			if r := ReadTotals().Retained; others() == n {
				return r - n
			}
		}
	}
	if r := retained(); r != 0 {
		t.Fatalf("an empty store retains %d bytes", r)
	}
	n := 10_000
	if testing.Short() || raceEnabled {
		n = 1000
	}
	a := NewArena()
	for i := range n {
		p := NewOf(a, reflect.ArrayOf(1+i%5, reflect.PointerTo(reflect.ArrayOf(i, reflect.TypeFor[int16]()))))
		if !a.Owns(p) {
			t.Fatal("not in the arena")
		}
	}
	a.Free()
	if r := retained(); r < int64(n)*64 {
		t.Errorf("%d bytes retained after Free of values of %d types", r, n)
	}
	for range keepTicks {
		store.expire()
	}
	if r := retained(); r < int64(n)*64 {
		t.Errorf("%d bytes retained after %d ticks", r, keepTicks)
	}
	store.expire()
	if r := retained(); r != 0 {
		t.Errorf("%d types used once: %d bytes retained after %d ticks", n, r, keepTicks+1)
	}
}

// TestStoreBound: the store keeps no more memory than was in use at once, plus its slack.
func TestStoreBound(t *testing.T) {
	chunked(t)
	s := &chunkStore{}
	s.timing.Store(true) // No clock.
	chunks := func(n int) (list *chunk) {
		for range n {
			c := newChunk(wordFlow, nil, classOf(maxChunk), unsafex.PtrOf(new(uint64)), 8)
			c.next, list = list, c
			s.charge(list.bytes())
		}
		return list
	}
	gone := chunks(200)
	s.charge(-200 * maxChunk)
	s.put(gone)
	if s.kept.Load() != 200*maxChunk {
		t.Errorf("%d bytes kept of 200 MiB that were in use at once", s.kept.Load())
	}
	for range 40 { // They leave, and so does the memory of the peak.
		s.expire()
	}
	if s.kept.Load() != 0 || s.peak.Load() > 1<<20 {
		t.Errorf("%d bytes kept, peak %d", s.kept.Load(), s.peak.Load())
	}
	for range 20 {
		list := chunks(10)
		s.charge(-10 * maxChunk)
		s.put(list)
	}
	if k := s.kept.Load(); k > storeSlack+10*maxChunk {
		t.Errorf("%d bytes kept where 10 MiB were in use at once", k)
	}
}

// TestNothingReachable: what freed values pointed to is not kept by arena or store.
func TestNothingReachable(t *testing.T) {
	for what, giveUp := range map[string]func(a *Arena, c Checkpoint){
		"Free":     func(a *Arena, _ Checkpoint) { a.Free() },
		"Reset":    func(a *Arena, _ Checkpoint) { a.Reset(Keep) },
		"GiveBack": func(a *Arena, _ Checkpoint) { a.Reset(GiveBack) },
		"Rewind":   func(a *Arena, c Checkpoint) { a.Rewind(c) },
		"Put":      func(a *Arena, _ Checkpoint) { new(Pool).Put(a) },
	} {
		for _, made := range []func() *Arena{NewArena, NewShared} {
			a := made()
			New[node](a)
			c := a.Checkpoint()
			var watched []weak.Pointer[[64]int64]
			for i := range 3000 {
				big := new([64]int64)
				watched = append(watched, weak.Make(big))
				*New[*[64]int64](a) = big
				New[[3]any](a)[1] = big
				if i == 5 {
					MakeSlice[any](a, 300_000, 300_000)[299_999] = big
				}
			}
			giveUp(a, c)
			runtime.GC()
			runtime.GC()
			alive := 0
			for _, w := range watched {
				if w.Value() != nil {
					alive++
				}
			}
			if alive > 1 { // One may be in a register or on the stack.
				t.Errorf("%s: %d of %d values are reachable", what, alive, len(watched))
			}
			runtime.KeepAlive(a)
		}
	}
}

// TestForgotten: the collector frees an arena on Go memory that is dropped without Free, with its
// chunks. Its values live as long as they are reachable (GC-6).
func TestForgotten(t *testing.T) {
	var id uint64
	var last *node
	var word weak.Pointer[point]
	func() {
		a := NewArena()
		id = a.ID()
		for i := range 10_000 {
			last = &node{name: fmt.Sprint(i), next: last}
			n := New[node](a)
			*n = *last
			last = n
		}
		word = weak.Make(new(point))
		*New[*point](a) = word.Value()
	}()
	for range 3 {
		runtime.GC()
	}
	if listed(id) || word.Value() != nil {
		t.Error("a forgotten arena is still there")
	}
	for _, i := range List() {
		if i.ID == id {
			t.Error("a forgotten arena is listed")
		}
	}
	n := 0
	for v := last; v != nil; v = v.next {
		if n++; v.name != fmt.Sprint(10_000-n) {
			t.Fatalf("value %d of a forgotten arena is %q", n, v.name)
		}
	}
	if n != 10_000 {
		t.Errorf("%d values", n)
	}
}

// TestForgottenCount: arenas on Go memory that die unfreed are counted. Freed ones are not, nor are
// off-heap ones, which leak.
func TestForgottenCount(t *testing.T) {
	owning(t)
	const n = 20
	for range 2 { // What other tests have forgotten shall not die later.
		runtime.GC()
	}
	grown := func(drop func()) uint64 {
		before := ReadTotals().Forgotten
		for range n {
			drop()
		}
		for range 3 {
			runtime.GC()
		}
		return ReadTotals().Forgotten - before
	}
	for what, c := range map[string]struct {
		drop func()
		want bool
	}{
		"NewArena":           {func() { New[node](NewArena()) }, true},
		"NewShared":          {func() { New[node](NewShared()) }, true},
		"Pool.Get":           {func() { New[node](new(Pool).Get()) }, true},
		"freed":              {func() { NewArena().Free() }, false},
		"put back to a Pool": {func() { p := new(Pool); p.Put(p.Get()) }, false},
		"NewOffHeap":         {func() { NewOffHeap(Options{}) }, false},
	} {
		// The last one may still be in a register.
		if got := grown(c.drop); (got >= n-1) != c.want {
			t.Errorf("%s: %d arenas were dropped, %d are counted as forgotten", what, n, got)
		}
	}
}

// TestIndexForgets checks GC-5: while a chunk's record is reachable its memory is nothing else, and
// when the record is gone the index does not lead to it.
func TestIndexForgets(t *testing.T) {
	owning(t)
	var addrs []uintptr
	func() {
		a := NewArena()
		for range 1000 {
			addrs = append(addrs, unsafex.Addr(New[node](a)))
		}
		for _, addr := range addrs {
			if c := index.find(addr); c == nil || addr-unsafex.PtrAddr(c.base) >= c.size {
				t.Fatal("the index does not find a value's chunk")
			}
		}
		runtime.KeepAlive(a)
	}()
	for range 3 {
		runtime.GC()
	}
	for _, addr := range addrs {
		if index.find(addr) != nil {
			t.Fatal("the index leads to a chunk that the collector took")
		}
	}
}

func TestLimit(t *testing.T) {
	testenv.MisusesMemory(t)
	// A shared arena has a chunk for each P: one may have room where another has met the limit.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, k := range kinds {
		a := k.make()
		if old := a.SetLimit(100_000); k.name == "NewFixed" { // It holds its bytes from the beginning.
			a.SetLimit(old)
		} else if old != 0 {
			t.Errorf("%s: the first limit is %d", k.name, old)
		}
		var err error
		n := 0
		for ; err == nil && n < 1<<20; n++ {
			_, err = TryNew[point](a)
		}
		if !errors.Is(err, offheap.ErrLimit) || !strings.Contains(err.Error(), "chunk_test.go") && !strings.Contains(err.Error(), "misuse_test.go") {
			t.Errorf("%s: after %d values: %v, want ErrLimit", k.name, n, err)
		}
		if !strings.Contains(fmt.Sprint(err), ": Reset it, or ") {
			t.Errorf("%s: the error does not say what to do: %v", k.name, err)
		}
		if k.name != "NewFixed" && (n < 2000 || n > 100_000/16+1) {
			t.Errorf("%s: %d values of 16 bytes in 100,000", k.name, n)
		}
		for what, f := range map[string]func(){
			"New":       func() { New[[50]point](a) },
			"MakeSlice": func() { MakeSlice[point](a, 10_000, 10_000) },
			"Append":    func() { Append(a, make([]point, 10_000), point{}) },
			"String":    func() { String(a, strings.Repeat("x", 200_000)) },
		} {
			if err, ok := caught(f).(error); !ok || !errors.Is(err, offheap.ErrLimit) {
				t.Errorf("%s: %s beyond the limit: %v", k.name, what, err)
			}
		}
		a.Reset(Keep)
		if _, err := TryNew[point](a); err != nil {
			t.Errorf("%s: after Reset: %v", k.name, err)
		}
		a.SetLimit(0)
		a.Free()
	}
}

func TestListAndIDs(t *testing.T) {
	a, b := NewArena(), NewShared()
	if a.ID() == b.ID() || !listed(a.ID()) || !listed(b.ID()) {
		t.Error("IDs do not lead to their arenas")
	}
	found := 0
	for _, i := range List() {
		if i.ID == a.ID() || i.ID == b.ID() {
			found++
			if !strings.Contains(i.Made, "TestListAndIDs") || !strings.Contains(i.String(), "chunk_test.go") {
				t.Errorf("made by %s", i.Made)
			}
		}
	}
	if found != 2 {
		t.Errorf("%d of two arenas are listed", found)
	}
	a.Free()
	b.Free()
}

func TestLeak(t *testing.T) {
	owning(t)
	var id uint64
	var p *point
	func() {
		a := NewOffHeap(Options{})
		id = a.ID()
		p = New[point](a)
		p.x = 17
	}()
	for range 3 {
		runtime.GC()
	}
	if s := ReadTotals(); s.Leaked < 1 || s.LeakedBytes <= 0 || s.OffHeap < s.LeakedBytes || s.Held < s.OffHeap {
		t.Errorf("an off-heap arena that was dropped, in the sums: %+v", s)
	}
	for _, i := range List() {
		if i.ID == id {
			if !i.Leaked || i.Held == 0 || p.x != 17 {
				t.Errorf("an off-heap arena that was dropped: %v, its value %v", i, *p)
			}
			return
		}
	}
	t.Error("an off-heap arena that was dropped is not listed")
}

// TestNoCursorIsRead: all arenas share noCursor, so values without a size must not be cut from it. The race detector sees a write.
func TestNoCursorIsRead(t *testing.T) {
	type none struct{}
	uses := map[string]func(*Arena){
		"Map": func(a *Arena) { NewMap[none, [0]int](a, 1).Set(none{}, [0]int{}) },
		"DeepClone": func(a *Arena) {
			must(second(DeepClone(a, &struct{ p *none }{new(none)})))
			must(second(DeepClone(a, [][0]int{{}, {}})))
		},
		"New": func(a *Arena) { New[none](a); NewOf(a, reflect.TypeFor[none]()); NewFrom(a, none{}) },
		"MakeSlice": func(a *Arena) {
			MakeSlice[none](a, 3, 3)
			MakeSlice[int](a, 0, 0)
			SliceFrom(a, []none{{}, {}})
			SliceFrom(a, []int{})
			Append(a, []none(nil), none{})
		},
		"text": func(a *Arena) { String(a, ""); Bytes(a, []byte{}); Append(a, []byte(nil)) },
		"door": func(a *Arena) {
			for _, typ := range []*UnsafeType{UnsafeTypeOf(reflect.TypeFor[none]()), UnsafeTypeOf(reflect.TypeFor[int]())} {
				a.UnsafeMakeSlice(typ, 0)
			}
			a.UnsafeNew(UnsafeTypeOf(reflect.TypeFor[none]()))
			a.UnsafeBytes(0)
		},
	}
	for name, use := range uses {
		t.Run(name, func(t *testing.T) {
			var both sync.WaitGroup
			for range 2 {
				both.Go(func() {
					use(NewArena())
					shared := NewShared()
					use(shared)
					shared.Free()
				})
			}
			both.Wait()
		})
	}
}
