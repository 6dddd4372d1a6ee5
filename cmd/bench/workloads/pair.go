// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"sync"

	"github.com/freehold-go/freehold/cmd/bench"
	"github.com/freehold-go/freehold/cmd/bench/bound"
	"github.com/freehold-go/freehold/offheap"
)

// A pair is the allocation of one block and its free right after it: only the fast path. The blocks
// are arrays, so the size is a constant to the compiler for every contestant that takes a type.

func pairWorkloads() []bench.Workload {
	ways := []pairWay{
		{heapName, "new([n]byte)", pairHeapLoops},
		{"sync.Pool", "Get and Put of *[n]byte", pairPoolLoops},
		{boundName, "unchecked intrusive free list, one for each goroutine", pairBoundLoops},
	}
	ours := []pairWay{
		{"offheap New", "New and Delete of [n]byte", pairNewLoops},
		{"offheap Alloc", "Alloc and Free of n bytes", pairAllocLoops},
		{"offheap AllocUninit", "AllocUninit and Free of n bytes", pairAllocUninitLoops},
		{"offheap Local", "New and Delete of [n]byte, a Local for each goroutine", pairLocalLoops},
	}
	sizes := []int{16, 32, 64, 128, 256, 512, 1024, 2048, 4096}
	return []bench.Workload{
		{
			Name:        "pair",
			Doc:         "Allocate a block of n bytes, write its first word and free it, on one goroutine.",
			Op:          "pair",
			Size:        "bytes",
			Quick:       []int{32, 1024},
			Full:        sizes,
			Ops:         func(int) int { return pairsPerRound },
			Contestants: append(pairContestants(ways, false), own(pairContestants(ours, false)...)...),
			Bars: []bench.Bar{
				bench.AtMost("pair of 32 B, offheap New by the Go heap", 0.5, bench.TimeRatio("pair", 32, "offheap New", heapName)),
			},
		},
		{
			Name:        "pair/all",
			Doc:         "The same on as many goroutines as there are Ps at once; CPU time a pair.",
			Op:          "pair",
			Size:        "bytes",
			Quick:       []int{32},
			Full:        sizes,
			Ops:         func(int) int { return pairsPerRound },
			Contestants: append(pairContestants(ways, true), own(pairContestants(ours, true)...)...),
			Bars: []bench.Bar{
				bench.AtMost("pair of 32 B on all Ps, offheap New by the Go heap", 0.5, bench.TimeRatio("pair/all", 32, "offheap New", heapName)),
			},
		},
	}
}

// pairsPerRound is the number of pairs in a round, over all goroutines. Tests set less.
var pairsPerRound = 1 << 17

// A pairWay is one way to do pairs of every size of the workload. A loop allocates and frees n blocks and returns the
// sum of what it read back from them.
type pairWay struct {
	name, note string
	loops      func(size int) (newLoop func() func(n int) uint64)
}

// Pair is the Prepare of a contestant of the workload pair, or of pair/all if all. For blocks of size bytes, newLoop
// makes the loop of one goroutine: it allocates and frees n blocks one after the other, sets the first byte
// of block i to byte(i) and returns the sum of what it reads back.
func Pair(loops func(size int) (newLoop func() func(n int) uint64), all bool) func(r *bench.Run) func() uint64 {
	return func(r *bench.Run) func() uint64 {
		goroutines := 1
		if all {
			goroutines = r.Procs
		}
		return pairRound(goroutines, loops(r.N))
	}
}

func pairContestants(ways []pairWay, all bool) []bench.Contestant {
	var cs []bench.Contestant
	for _, way := range ways {
		cs = append(cs, bench.Contestant{Name: way.name, Note: way.note, Prepare: Pair(way.loops, all)})
	}
	return cs
}

// pairRound divides the pairs of a round among goroutines. newLoop is called once for each of them.
func pairRound(goroutines int, newLoop func() func(n int) uint64) func() uint64 {
	loops := make([]func(int) uint64, goroutines)
	for i := range loops {
		loops[i] = newLoop()
	}
	if goroutines == 1 {
		return func() uint64 { return loops[0](pairsPerRound) }
	}
	return func() uint64 {
		sums := make([]uint64, goroutines)
		var wg sync.WaitGroup
		for i, loop := range loops {
			from, to := i*pairsPerRound/goroutines, (i+1)*pairsPerRound/goroutines
			wg.Go(func() { sums[i] = loop(to - from) })
		}
		wg.Wait()
		var sum uint64
		for _, s := range sums {
			sum += s
		}
		return sum
	}
}

// A block is the type that a pair allocates, by size.
type block interface {
	[16]byte | [32]byte | [64]byte | [128]byte | [256]byte | [512]byte | [1024]byte | [2048]byte | [4096]byte
}

// bySize picks the instance of a generic loop for a size of the workload.
func bySize[F any](size int, b16, b32, b64, b128, b256, b512, b1024, b2048, b4096 F) F {
	switch size {
	case 16:
		return b16
	case 32:
		return b32
	case 64:
		return b64
	case 128:
		return b128
	case 256:
		return b256
	case 512:
		return b512
	case 1024:
		return b1024
	case 2048:
		return b2048
	case 4096:
		return b4096
	}
	panic("bench: pair has no blocks of that size")
}

// A pairSink makes a block escape. Each goroutine has its own, a cache line away from the next.
type pairSink[T any] struct {
	p *T
	_ [120]byte
}

func pairHeapLoops(size int) func() func(int) uint64 {
	return bySize(size, pairHeap[[16]byte], pairHeap[[32]byte], pairHeap[[64]byte], pairHeap[[128]byte],
		pairHeap[[256]byte], pairHeap[[512]byte], pairHeap[[1024]byte], pairHeap[[2048]byte], pairHeap[[4096]byte])
}

func pairHeap[T block]() func(int) uint64 {
	sink := new(pairSink[T])
	return func(n int) (sum uint64) {
		for i := range n {
			p := new(T)
			sink.p = p
			(*p)[0] = byte(i)
			sum += uint64((*p)[0])
		}
		return sum
	}
}

func pairPoolLoops(size int) func() func(int) uint64 {
	return bySize(size, pairPool[[16]byte], pairPool[[32]byte], pairPool[[64]byte], pairPool[[128]byte],
		pairPool[[256]byte], pairPool[[512]byte], pairPool[[1024]byte], pairPool[[2048]byte], pairPool[[4096]byte])
}

func pairPool[T block]() func(int) uint64 {
	pool := sync.Pool{New: func() any { return new(T) }}
	return func(n int) (sum uint64) {
		for i := range n {
			p := pool.Get().(*T)
			(*p)[0] = byte(i)
			sum += uint64((*p)[0])
			pool.Put(p)
		}
		return sum
	}
}

func pairBoundLoops(size int) func() func(int) uint64 {
	return bySize(size, pairBound[[16]byte], pairBound[[32]byte], pairBound[[64]byte], pairBound[[128]byte],
		pairBound[[256]byte], pairBound[[512]byte], pairBound[[1024]byte], pairBound[[2048]byte], pairBound[[4096]byte])
}

func pairBound[T block]() func(int) uint64 {
	var zero T
	stack := bound.NewStack(8, len(zero))
	return func(n int) (sum uint64) {
		for i := range n {
			p := bound.Pop[T](stack)
			(*p)[0] = byte(i)
			sum += uint64((*p)[0])
			bound.Push(stack, p)
		}
		return sum
	}
}

func pairNewLoops(size int) func() func(int) uint64 {
	return bySize(size, pairNew[[16]byte], pairNew[[32]byte], pairNew[[64]byte], pairNew[[128]byte],
		pairNew[[256]byte], pairNew[[512]byte], pairNew[[1024]byte], pairNew[[2048]byte], pairNew[[4096]byte])
}

func pairNew[T block]() func(int) uint64 {
	return func(n int) (sum uint64) {
		for i := range n {
			p := offheap.New[T]()
			(*p)[0] = byte(i)
			sum += uint64((*p)[0])
			offheap.Delete(p)
		}
		return sum
	}
}

func pairLocalLoops(size int) func() func(int) uint64 {
	return bySize(size, pairLocal[[16]byte], pairLocal[[32]byte], pairLocal[[64]byte], pairLocal[[128]byte],
		pairLocal[[256]byte], pairLocal[[512]byte], pairLocal[[1024]byte], pairLocal[[2048]byte], pairLocal[[4096]byte])
}

func pairLocal[T block]() func(int) uint64 {
	from := offheap.In[T](offheap.NewLocal())
	return func(n int) (sum uint64) {
		for i := range n {
			p := from.New()
			(*p)[0] = byte(i)
			sum += uint64((*p)[0])
			from.Delete(p)
		}
		return sum
	}
}

func pairAllocLoops(size int) func() func(int) uint64 {
	return func() func(int) uint64 {
		return func(n int) (sum uint64) {
			for i := range n {
				b := offheap.Alloc(size)
				b[0] = byte(i)
				sum += uint64(b[0])
				offheap.Free(b)
			}
			return sum
		}
	}
}

func pairAllocUninitLoops(size int) func() func(int) uint64 {
	return func() func(int) uint64 {
		return func(n int) (sum uint64) {
			for i := range n {
				b := offheap.AllocUninit(size)
				b[0] = byte(i)
				sum += uint64(b[0])
				offheap.Free(b)
			}
			return sum
		}
	}
}
