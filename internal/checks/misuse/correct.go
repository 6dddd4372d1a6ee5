// SPDX-License-Identifier: Apache-2.0

package main

import (
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/offheap"
)

// correct are programs that look wrong and are not.
func correct() []Case {
	return []Case{
		{Name: "correct-reuse", Text: "allocates again after Free or Reset and forgets what was before", Run: three(reuse[node], reuse[point])},
		{Name: "correct-compare", Text: "compares a stale pointer and does not follow it", Run: three(compareStale[node], compareStale[point])},
		{Name: "correct-append", Text: "reads the old slice after arena.Append moved it, while the arena lives", Run: two(appendInArena)},
		{Name: "correct-other-goroutine", Text: "frees in another goroutine than the one that allocated", Run: three(freeElsewhere[node], freeElsewhere[point])},
		{Name: "correct-prefix", Text: "frees a block by a prefix of its slice, and nothing by empty ones", Run: only(OffHeap, freePrefix)},
		{Name: "correct-outlive", Text: "copies values out of an arena and uses the copies after Free", Run: map[Variant]func(Variant){Pointers: outlive, Plain: outlivePlain}},
		{Name: "correct-static", Text: "keeps static strings and addresses of package-level variables off the heap", Run: only(OffHeap, staticPointers)},
		{Name: "correct-self-contained", Text: "links off-heap values by pointers", Run: only(OffHeap, linkedOffHeap)},
		{Name: "correct-rewind", Text: "uses what is older than a checkpoint after Rewind", Run: three(olderThanRewind[node], olderThanRewind[point])},
		{Name: "correct-inner", Text: "works through pointers into the middle of values and frees by the first", Run: three(innerPointers[node], innerPointers[point])},
		{Name: "correct-forgotten", Text: "drops an arena on Go memory without Free", Run: map[Variant]func(Variant){Pointers: forgotten[node], Plain: forgotten[point]}},
		{Name: "correct-atomics", Text: "orders goroutines by atomics in a block", Run: two(atomicsInBlock)},
		{Name: "correct-whole-block", Text: "writes and reads every byte of blocks of all sizes", Run: two(wholeBlocks)},
		{Name: "correct-uninit", Text: "writes what AllocUninit returned before it reads it", Run: only(OffHeap, uninitWritten)},
		{Name: "correct-pool", Text: "takes arenas from a Pool and puts them back, in several goroutines", Run: only(Pointers, poolRounds)},
		{Name: "correct-gc", Text: "lets the collector run over values that were given up", Run: three(collected[node], collected[point])},
		{Name: "correct-list", Text: "makes and frees a list of Refs", Run: only(OffHeap, listOfRefs)},
		{Name: "correct-zero-size", Text: "allocates and frees values without a size", Run: two(zeroSize)},
		{Name: "correct-grow", Text: "lets slices, Maps and Builders grow, and shrinks a block", Run: two(grow)},
	}
}

func reuse[T any, P value[T]](v Variant) {
	for _, how := range []way{byFree, byReset, byRewind} {
		h := open(v, how)
		for range 20 {
			accessWrite(allocate[T, P](h))
			giveUp(h)
			if how == byFree {
				h = open(v, how)
			}
		}
		if h.a != nil {
			h.a.Free()
		}
	}
}

func compareStale[T any, P value[T]](v Variant) {
	h := open(v, byFree)
	p, q := allocate[T, P](h), allocate[T, P](h)
	giveUp(h)
	if p == q {
		panic("two values at one address")
	}
}

func appendInArena(v Variant) {
	h := openArena(v, byFree)
	s := allocateSlice[point](h, 4)
	old := s
	for range 1000 {
		s = arena.Append(h.a, s, point{})
	}
	accessRead(&old[3])
	giveUp(h)
}

func freeElsewhere[T any, P value[T]](v Variant) {
	h := open(v, byFree)
	accessRead(allocate[T, P](h))
	spawn(func() { giveUp(h) })()
}

func freePrefix(Variant) {
	b := allocateBlock(1000)
	offheap.Free(b[:0])
	offheap.Free(nil)
	offheap.Free([]byte{})
	offheap.Delete[point](nil)
	offheap.FreeSlice[point](nil)
}

func outlive(Variant) {
	h := openArena(Pointers, byFree)
	n := allocate[node](h)
	name := strings.Clone(n.name)
	whole, err := arena.Heap(n)
	if err != nil {
		panic(err)
	}
	giveUp(h)
	accessIndex(name)
	accessRead(whole)
	accessIndex(whole.name)
}

func outlivePlain(Variant) {
	h := openArena(Plain, byFree)
	p := arena.Clone(allocate[point](h))
	s := arena.Clone(allocateString(h, text))
	giveUp(h)
	accessRead(p)
	accessIndex(s)
}

func staticPointers(Variant) {
	p := allocateSelfContained()
	p.name, p.next = "a literal is static data", &static
	check()
	accessIndex(p.name)
	*p = selfContained{}
	offheap.Delete(p)
}

var static selfContained

func linkedOffHeap(Variant) {
	first := allocateSelfContained()
	for range 20 {
		p := allocateSelfContained()
		p.next, first = first, p
	}
	runtime.GC()
	check()
	for first != nil {
		next := first.next
		offheap.Delete(first)
		first = next
	}
}

func olderThanRewind[T any, P value[T]](v Variant) {
	h := openArena(v, byRewind)
	old := allocate[T, P](h)
	h.since = h.a.Checkpoint()
	allocate[T, P](h)
	giveUp(h)
	accessRead(old)
	accessWrite(old)
	h.a.Free()
}

func innerPointers[T any, P value[T]](v Variant) {
	h := open(v, byFree)
	s := allocateSlice[T, P](h, 100)
	for i := range s {
		accessWrite(P(&s[len(s)-1-i]))
		accessRead(P(&s[i]))
	}
	giveUp(h)
}

func forgotten[T any, P value[T]](v Variant) {
	for range 50 {
		h := openArena(v, byFree)
		accessRead(allocate[T, P](h))
	}
	runtime.GC()
}

func atomicsInBlock(v Variant) {
	h := open(v, byFree)
	flags := allocateFlags(h)
	shared := 0
	wait := spawn(func() {
		shared = 7
		flags.ready.Store(1)
	})
	for flags.ready.Load() == 0 {
		runtime.Gosched()
	}
	sum += int64(shared)
	wait()
	if h.a == nil {
		offheap.Delete(flags)
	}
	giveUp(h)
}

type flags struct{ ready, other atomic.Int64 }

//go:noinline
func allocateFlags(h *home) *flags {
	if h.a == nil {
		return offheap.New[flags]()
	}
	return arena.New[flags](h.a)
}

// lowByte is the i-th byte of the written data. With 32 bits any four bytes may be an address of
// the Go heap, which FREEHOLD=pointers would report; bytes as low as these are none, since the heap
// begins behind the program, at 0x08048000 at the earliest.
func lowByte(i int) byte { return byte(i % 5) }

func wholeBlocks(v Variant) {
	h := open(v, byFree)
	for n := 1; n < 300_000; n += 1 + n/7 {
		b := allocateBytes(h, n)
		for i := range b {
			if b[i] != 0 {
				panic("not zero")
			}
			b[i] = lowByte(i)
		}
		accessByte(&b[n-1])
	}
	giveUp(h)
}

func uninitWritten(Variant) {
	b := offheap.AllocUninit(1000)
	for i := range b {
		b[i] = lowByte(i)
	}
	accessUninit(&b[999])
	offheap.Free(b)
}

func poolRounds(Variant) {
	var pool arena.Pool
	var done sync.WaitGroup
	for range 4 {
		done.Go(func() {
			for range 50 {
				a := pool.Get()
				n := arena.New[node](a)
				n.next, n.name = arena.New[node](a), arena.String(a, text)
				n.write()
				pool.Put(a)
			}
		})
	}
	done.Wait()
}

func collected[T any, P value[T]](v Variant) {
	for _, how := range []way{byFree, byReset, byRewind} {
		h := open(v, how)
		for range 3 {
			for range 100 {
				allocate[T, P](h)
			}
			giveUp(h)
			runtime.GC()
			if how == byFree {
				h = open(v, how)
			}
		}
		if h.a != nil {
			h.a.Free()
		}
	}
}

func listOfRefs(Variant) {
	head := allocateList(1000)
	runtime.GC()
	for !head.IsNil() {
		next := head.Ptr().next
		offheap.DeleteRef(head)
		head = next
	}
}

func zeroSize(v Variant) {
	if v == OffHeap {
		p, q := offheap.New[struct{}](), offheap.New[struct{}]()
		offheap.Delete(p)
		offheap.Delete(p)
		offheap.Delete(q)
		offheap.FreeSlice(offheap.MakeSlice[struct{}](10, 10))
	}
	h := openArena(v, byFree)
	arena.New[struct{}](h.a)
	arena.String(h.a, "")
	arena.MakeSlice[struct{}](h.a, 10, 10)
	giveUp(h)
}

func grow(v Variant) {
	h := openArena(v, byFree)
	m := allocateMap[int64](h)
	for i := range int64(3000) {
		m.Set(i, i)
	}
	accessIndex(allocateBuilt(h))
	giveUp(h)
	if v == OffHeap {
		s := allocateSlice[point](&home{how: byFree}, 4)
		for range 1000 {
			s = offheap.Append(s, point{})
		}
		offheap.FreeSlice(s)
		b := offheap.Realloc(offheap.Realloc(offheap.Alloc(100), 50_000), 20)
		accessByte(&b[19])
		offheap.Free(b)
	}
}
