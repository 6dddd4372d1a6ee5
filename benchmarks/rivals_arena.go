package main

import (
	"unsafe"

	"github.com/dgraph-io/ristretto/v2/z"
	"github.com/ortuman/nuke"

	"github.com/freehold-go/freehold/cmd/bench"
	"github.com/freehold-go/freehold/cmd/bench/workloads"
)

// Arenas of other people. They hand out bytes that the collector does not look into, so they take
// part where values hold no pointers. Each is told beforehand how much it will need, which spares
// it growing.

const (
	objectSize = int(unsafe.Sizeof(workloads.Object{}))
	// zObjectSize is what AllocateAligned takes for an object.
	zObjectSize    = objectSize + 7
	zAllocatorName = "ristretto z.Allocator"
)

func init() {
	set.Add("objects",
		bench.Contestant{Name: zAllocatorName, Note: "AllocateAligned and Reset", Prepare: workloads.Objects(zReset)},
		bench.Contestant{Name: "nuke", Note: "nuke.New in a monotonic arena of one buffer, and Reset", Prepare: workloads.Objects(nukeReset)},
	)
	set.Add("objects/fresh",
		bench.Contestant{Name: zAllocatorName, Note: "NewAllocator, AllocateAligned and Release", Prepare: workloads.Objects(zRelease)},
		bench.Contestant{Name: "nuke", Note: "nuke.New in a monotonic arena that is made each round", Prepare: workloads.Objects(nukeFresh)},
	)
	set.AddBars("objects", bench.AtMost("objects, 1M reused, arena Of by z.Allocator with Reset", 1./3, bench.TimeRatio("objects", 1_000_000, "arena Of", zAllocatorName)))
}

func zFill(a *z.Allocator, objects []*workloads.Object, k int) {
	for i := range objects {
		o := (*workloads.Object)(unsafe.Pointer(unsafe.SliceData(a.AllocateAligned(objectSize))))
		o.A, o.B = i, k
		objects[i] = o
	}
}

func zReset(r *bench.Run) workloads.ObjectsWay {
	a := z.NewAllocator(zObjectSize*r.N, "bench")
	r.Cleanup(a.Release)
	return workloads.ObjectsWay{
		Fill: func(objects []*workloads.Object, k int) { zFill(a, objects, k) },
		Free: a.Reset,
	}
}

func zRelease(*bench.Run) workloads.ObjectsWay {
	var a *z.Allocator
	return workloads.ObjectsWay{
		Fill: func(objects []*workloads.Object, k int) {
			a = z.NewAllocator(zObjectSize*len(objects), "bench")
			zFill(a, objects, k)
		},
		Free: func() { a.Release() },
	}
}

func nukeFill(a nuke.Arena, objects []*workloads.Object, k int) {
	for i := range objects {
		o := nuke.New[workloads.Object](a)
		o.A, o.B = i, k
		objects[i] = o
	}
}

func nukeReset(r *bench.Run) workloads.ObjectsWay {
	a := nuke.NewMonotonicArena(objectSize*r.N, 1)
	return workloads.ObjectsWay{
		Fill: func(objects []*workloads.Object, k int) { nukeFill(a, objects, k) },
		Free: func() { a.Reset(false) },
	}
}

func nukeFresh(*bench.Run) workloads.ObjectsWay {
	return workloads.ObjectsWay{Fill: func(objects []*workloads.Object, k int) {
		nukeFill(nuke.NewMonotonicArena(objectSize*len(objects), 1), objects, k)
	}}
}
