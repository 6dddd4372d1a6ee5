// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/freehold-go/freehold/internal/unsafex"
)

type point struct{ X, Y int64 }

type flags struct {
	A bool
	B uint8
	C bool
	N int64
}

// flags2 is as large as flags, but another type.
type flags2 struct {
	A, B, C bool
	N       int64
}

type link struct {
	_    UnsafeSelfContained
	Next *link
	N    int64
}

// manyFlags is a large block of its own.
type manyFlags [70_000]bool

// wideLink is of a size class that is cleared otherwise than the small ones.
type wideLink struct {
	link
	Pad [300]int64
}

// territory remembers which kind each granule served.
type territory map[uintptr]string

func (m territory) claim(t *testing.T, kind string, addr, size uintptr) {
	t.Helper()
	for g := addr / granule; g <= (addr+size-1)/granule; g++ {
		if was, ok := m[g]; ok && was != kind {
			t.Fatalf("the granule at %#x served %s and now serves %s", g*granule, was, kind)
		}
		m[g] = kind
	}
}

// herd allocates single values and slices of T, and frees them; it keeps the live ones.
func herd[T any](t *testing.T, m territory, kind string, rng *rand.Rand) (step func(), end func()) {
	var one []*T
	var many [][]T
	size := unsafex.Size[T]()
	step = func() {
		for range 200 {
			p := New[T]()
			m.claim(t, kind, unsafex.Addr(p), size)
			one = append(one, p)
			s := MakeSlice[T](1, 1+rng.IntN(1<<rng.IntN(14)))
			m.claim(t, kind, unsafex.SliceAddr(s), uintptr(cap(s))*size)
			many = append(many, s)
		}
		rng.Shuffle(len(one), func(i, j int) { one[i], one[j] = one[j], one[i] })
		rng.Shuffle(len(many), func(i, j int) { many[i], many[j] = many[j], many[i] })
		for _, p := range one[len(one)/4:] {
			Delete(p)
		}
		for _, s := range many[len(many)/4:] {
			FreeSlice(s)
		}
		one, many = one[:len(one)/4], many[:len(many)/4]
	}
	end = func() {
		for _, p := range one {
			Delete(p)
		}
		for _, s := range many {
			FreeSlice(s)
		}
		one, many = nil, nil
	}
	return step, end
}

// TestTypedMemoryStaysApart is the part of C1 that bools and self-contained types need.
func TestTypedMemoryStaysApart(t *testing.T) {
	needMapped(t)
	quiet(t)
	m := territory{}
	rng := rand.New(rand.NewPCG(3, 4))
	var steps, ends []func()
	add := func(step, end func()) { steps, ends = append(steps, step), append(ends, end) }
	// Plain types share memory with each other; all others share with none.
	add(herd[point](t, m, "plain", rng))
	add(herd[byte](t, m, "plain", rng))
	add(herd[flags](t, m, "flags", rng))
	add(herd[flags2](t, m, "flags2", rng))
	add(herd[bool](t, m, "bool", rng))
	add(herd[link](t, m, "link", rng))
	for range 8 {
		for _, i := range rng.Perm(len(steps)) {
			steps[i]()
		}
		Purge()
	}
	for _, end := range ends {
		end()
	}
}

// TestSelfContainedIsWiped reads freed values through stale pointers.
func TestSelfContainedIsWiped(t *testing.T) {
	needSlabs(t)
	needNoSamples(t)
	quiet(t)
	l := NewLocal()
	defer l.Close()
	p := NewPurpose("wiped")
	wipedOne(t, "New", New[link], Delete[link])
	wipedOne(t, "NewIn", func() *link { return In[link](l).New() }, func(v *link) { deleteIn(l, v) })
	wipedOne(t, "NewIn and Delete", func() *link { return In[link](l).New() }, Delete[link])
	wipedOne(t, "NewFor", func() *link { return For[link](p).New() }, Delete[link])
	wipedOne(t, "Ref", New[link], func(v *link) { DeleteRef(RefOf(v)) })
	for _, n := range []int{1, 3, 100, 4096, 20_000} {
		s := MakeSlice[link](n, n)
		for i := range s {
			s[i] = link{Next: &s[i], N: int64(i)}
		}
		FreeSlice(s)
		wantWiped(t, "MakeSlice", s)
	}
	w := New[wideLink]()
	w.Next, w.Pad[299] = &w.link, 5
	Delete(w)
	if *w != (wideLink{}) {
		t.Errorf("a wide value after Delete: %+v", w.link)
	}
	s := Append[link](nil, link{N: 1})
	for range 1000 {
		old := s
		if s = Append(s, link{Next: &s[0], N: 2}); unsafex.SliceAddr(s) != unsafex.SliceAddr(old) {
			wantWiped(t, "Append", old)
		}
	}
	FreeSlice(s)
}

func wipedOne(t *testing.T, what string, create func() *link, free func(*link)) {
	t.Helper()
	for range 100 {
		v := create()
		if *v != (link{}) {
			t.Fatalf("%s: a new value is %+v", what, v)
		}
		v.Next, v.N = v, 7
		free(v)
		if *v != (link{}) {
			t.Fatalf("%s: a freed value is %+v", what, v)
		}
	}
}

func wantWiped(t *testing.T, what string, stale []link) {
	t.Helper()
	if i := slices.IndexFunc(stale, func(v link) bool { return v != link{} }); i >= 0 {
		t.Fatalf("%s: element %d of %d after the free: %+v", what, i, len(stale), stale[i])
	}
}

// TestSelfContainedUnderGC is GC-4. It changes pointers between off-heap values while the collector
// marks, so that its write barriers see old and new ones, and finds others on stacks and on the
// heap.
func TestSelfContainedUnderGC(t *testing.T) {
	quiet(t)
	var stop, done sync.WaitGroup
	ended := make(chan struct{})
	stop.Go(func() {
		for {
			select {
			case <-ended:
				return
			default:
				runtime.GC()
			}
		}
	})
	for g := range 4 {
		done.Go(func() {
			for round := range 30 {
				var head *link
				onHeap := make([]*link, 500) // The collector reads these, too.
				for i := range 500 {
					v := New[link]()
					v.Next, v.N = head, int64(i+g)
					head, onHeap[i] = v, v
				}
				head = reversed(head)
				for i := range 500 {
					if head.N != int64(i+g) || onHeap[i] != head {
						t.Errorf("round %d: value %d, want %d", round, head.N, i+g)
						return
					}
					next := head.Next
					head.Next = nil
					Delete(head)
					head = next
				}
			}
		})
	}
	done.Wait()
	close(ended)
	stop.Wait()
}

func reversed(v *link) (head *link) {
	for v != nil {
		v.Next, head, v = head, v, v.Next
	}
	return head
}
