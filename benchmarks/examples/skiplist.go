package examples

import (
	"runtime"

	"github.com/freehold-go/freehold/cmd/bench"
	"github.com/freehold-go/freehold/examples/skiplist/list"
)

func skiplistWorkloads() []bench.Workload {
	return []bench.Workload{{
		Name:        "examples/skiplist",
		Doc:         "Fill a skiplist from four goroutines, look up all entries, and drop the list.",
		Op:          "entry",
		Size:        "entries",
		Quick:       []int{10_000},
		Full:        []int{1_000_000},
		Ops:         func(n int) int { return n },
		Contestants: twins("atomic.Pointer", skiplist(plainList), "AtomicRef and SliceRef; each block is freed", skiplist(offHeapList)),
	}, {
		Name:        "examples/skiplist/collection",
		Doc:         "One collection beside a skiplist.",
		Op:          "collection",
		Size:        "entries",
		Quick:       []int{10_000},
		Full:        []int{1_000_000},
		Ops:         func(int) int { return 1 },
		MaxPasses:   3,
		Contestants: twins("atomic.Pointer", besideList(plainList), "AtomicRef and SliceRef", besideList(offHeapList)),
	}}
}

func plainList() (list.Index, func()) { return new(list.Plain), func() {} }

func offHeapList() (list.Index, func()) {
	l := new(list.OffHeap)
	return l, l.Free
}

// goroutines use a list at once.
const goroutines = 4

func skiplist(newList func() (list.Index, func())) prepare {
	return func(r *bench.Run) func() uint64 {
		return func() uint64 {
			l, free := newList()
			defer free()
			list.Fill(l, r.N, goroutines)
			r.Peak()
			_, sum := list.LookUp(l, r.N, goroutines)
			return sum
		}
	}
}

func besideList(newList func() (list.Index, func())) prepare {
	return func(r *bench.Run) func() uint64 {
		l, free := newList()
		r.Cleanup(free)
		list.Fill(l, r.N, goroutines)
		return func() uint64 {
			runtime.GC()
			r.Peak()
			_, ok := l.Get(nil, list.Key(nil, r.N-1))
			if !ok {
				return 0
			}
			return 1
		}
	}
}
