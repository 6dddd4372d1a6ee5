// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"slices"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/cmd/bench"
	"github.com/freehold-go/freehold/cmd/bench/bound"
)

// The field's classic test of arenas: n small objects that are born together, and die together. All
// contestants make the slice of pointers once and clear it after every round, so only the objects
// differ. Every contestant's loop is written out, because a call through a function value would
// take a measurable part of the nanoseconds.

func objectsWorkloads() []bench.Workload {
	const million = 1_000_000
	reused := bench.Workload{
		Name:  "objects",
		Doc:   "Make n objects of two ints, keep a pointer to each in a slice, drop all; memory is used again in the next round.",
		Op:    "object",
		Size:  "objects",
		Quick: []int{1000, 100_000, million},
		Full:  []int{1000, 10_000, 100_000, 256_000, million, 10_000_000},
		Ops:   func(n int) int { return n * repeats(n) },
		Bound: slabName,
		Contestants: slices.Concat([]bench.Contestant{
			{Name: heapName, Note: "new; freed by the collector", Prepare: Objects(objectsHeap)},
			{Name: "sync.Pool", Note: "Get and Put of *object", Prepare: Objects(objectsPool)},
			{Name: "free list", Note: "a stack of pointers to objects on the Go heap, for one goroutine", Prepare: Objects(objectsFreeList), FullOnly: true},
			{Name: slabName, Note: "the bound: one slice, cleared and filled again each round", Prepare: Objects(objectsSlab)},
		}, objectsArenas(arenaReused), own(bench.Contestant{
			Name: arenaPool, Note: "Get and Put of an arena for each round, and a handle", Prepare: Objects(objectsPooled), FullOnly: true,
		}), objectsGoArena()),
		Bars: []bench.Bar{
			bench.AtMost("objects, 1M reused, "+arenaOf+" by the slab", 1.7, bench.TimeRatio("objects", million, arenaOf, slabName)),
			bench.AtMost("objects, 1M reused, "+arenaOf+" by 1/8 of the Go heap or 1.3 × the slab, whichever is more", 1,
				bench.MostRatio("objects", million, arenaOf, bench.Part{Share: 0.125, Contestant: heapName}, bench.Part{Share: 1.3, Contestant: slabName})),
			bench.AtMost("objects, 1k reused, "+arenaOf+" by the Go heap", 0.125, bench.TimeRatio("objects", 1000, arenaOf, heapName)),
			bench.AtMost("objects, 10k reused, "+arenaOf+" by the Go heap", 0.125, bench.TimeRatio("objects", 10_000, arenaOf, heapName)),
			bench.AtMost("objects, 1M reset, "+arenaNoReuse+" by the Go heap", 0.6, bench.TimeRatio("objects", million, arenaNoReuse, heapName)),
		},
	}
	fresh := reused
	fresh.Name = "objects/fresh"
	fresh.Doc = "The same where each round makes what it allocates from, and frees it at the end."
	fresh.Full = append([]int{100}, reused.Full...)
	fresh.Contestants = slices.Concat([]bench.Contestant{
		{Name: heapName, Note: "new; freed by the collector", Prepare: Objects(objectsHeap)},
		{Name: slabName, Note: "the bound: one slice, made each round, freed by the collector", Prepare: Objects(objectsSlabFresh)},
		{
			Name: hugeSlabName, Note: "a mapping made and unmapped each round, on huge pages", Unavailable: bound.HugePagesMissing,
			Bound: true, Prepare: Objects(objectsSlabHuge),
		},
	}, objectsArenas(arenaFresh), objectsGoArena())
	fresh.Bars = []bench.Bar{
		bench.AtMost("objects, made and freed, "+arenaNoReuse+" by the Go heap, the worst N", 1, bench.WorstRatio("objects/fresh", arenaNoReuse, heapName)),
		bench.AtMost("objects, made and freed, "+arenaOf+" by the Go heap, the worst N", 1, bench.WorstRatio("objects/fresh", arenaOf, heapName)),
		bench.AtMost("objects, 1M made and freed, "+arenaOf+" by 1/8 of the Go heap or 1.5 × a slab on huge pages, whichever is more", 1,
			bench.MostRatio("objects/fresh", million, arenaOf, bench.Part{Share: 0.125, Contestant: heapName}, bench.Part{Share: 1.5, Contestant: hugeSlabName})),
	}
	return []bench.Workload{reused, fresh}
}

// objectsArenas are the ways of freehold in both workloads.
func objectsArenas(life arenaLife) []bench.Contestant {
	return own(
		bench.Contestant{Name: arenaNew, Note: "New[T] in the default arena, on Go memory", Prepare: Objects(objectsNew(defaultArena, life))},
		bench.Contestant{Name: arenaOf, Note: "a handle that has looked T up", Prepare: Objects(objectsOf(defaultArena, life))},
		bench.Contestant{Name: arenaNoReuse, Note: "a handle to an arena that leaves its memory to the collector", Prepare: Objects(objectsOf(noReuseArena, life))},
		bench.Contestant{Name: arenaOffHeap, Note: "a handle to an arena outside of the Go heap", Prepare: Objects(objectsOf(offHeapArena, life))},
		bench.Contestant{Name: arenaFixed, Note: "New[T] in an arena of so many bytes outside of the Go heap", Prepare: Objects(objectsNew(fixedArena, life)), FullOnly: true},
		bench.Contestant{Name: arenaShared, Note: "New[T] in an arena for many goroutines", Prepare: Objects(objectsNew(sharedArena, life)), FullOnly: true},
	)
}

// Object is an object of the workload objects.
type Object struct{ A, B int }

// ObjectsWay is a way to make objects. Its functions are called once for all objects, so each way
// writes its own loop.
type ObjectsWay struct {
	// Fill makes an object for each place of objects, with A its index and B = k.
	Fill func(objects []*Object, k int)
	// Put frees the objects one by one. It is nil if the way does not free single objects.
	Put func(objects []*Object)
	// Free frees all objects at once, after the slice was cleared. It is nil if the way does not.
	Free func()
}

// Objects is the Prepare of a contestant of the workloads objects and objects/fresh.
func Objects(newWay func(r *bench.Run) ObjectsWay) func(r *bench.Run) func() uint64 {
	return func(r *bench.Run) func() uint64 {
		way := newWay(r)
		objects := make([]*Object, r.N)
		k := 0
		return func() (sum uint64) {
			for i := range repeats(r.N) {
				way.Fill(objects, k)
				if i == 0 {
					r.Peak()
				}
				sum = sum*31 + objectsSum(objects, k)
				if way.Put != nil {
					way.Put(objects)
				}
				clear(objects)
				if way.Free != nil {
					way.Free()
				}
				k++
			}
			return sum
		}
	}
}

// objectsStride is the distance between the objects that are read back. Reading all would cost as
// much as the best ways take to make them. The first round, which is not measured, reads all.
const objectsStride = 64

func objectsSum(objects []*Object, k int) (sum uint64) {
	stride := objectsStride
	if k == 0 {
		stride = 1
	}
	for i := k % stride; i < len(objects); i += stride {
		o := objects[i]
		sum = sum*31 + uint64(o.A) + uint64(o.B)<<32
	}
	return sum
}

func objectsHeap(*bench.Run) ObjectsWay {
	return ObjectsWay{Fill: func(objects []*Object, k int) {
		for i := range objects {
			o := new(Object)
			o.A, o.B = i, k
			objects[i] = o
		}
	}}
}

func objectsPool(*bench.Run) ObjectsWay {
	pool := newPool[Object]()
	return ObjectsWay{
		Fill: func(objects []*Object, k int) {
			for i := range objects {
				o := pool.Get().(*Object)
				o.A, o.B = i, k
				objects[i] = o
			}
		},
		Put: func(objects []*Object) {
			for _, o := range objects {
				pool.Put(o)
			}
		},
	}
}

func objectsFreeList(*bench.Run) ObjectsWay {
	var free []*Object
	return ObjectsWay{
		Fill: func(objects []*Object, k int) {
			for i := range objects {
				var o *Object
				if last := len(free) - 1; last >= 0 {
					o, free = free[last], free[:last]
				} else {
					o = new(Object)
				}
				o.A, o.B = i, k
				objects[i] = o
			}
		},
		Put: func(objects []*Object) { free = append(free, objects...) },
	}
}

func objectsSlab(r *bench.Run) ObjectsWay {
	slab := make([]Object, r.N)
	return ObjectsWay{Fill: func(objects []*Object, k int) {
		clear(slab)
		fillFromSlab(objects, slab, k)
	}}
}

func objectsSlabFresh(*bench.Run) ObjectsWay {
	return ObjectsWay{Fill: func(objects []*Object, k int) {
		fillFromSlab(objects, make([]Object, len(objects)), k)
	}}
}

func objectsSlabHuge(r *bench.Run) ObjectsWay {
	var mapping bound.Huge
	return ObjectsWay{
		Fill: func(objects []*Object, k int) {
			mapping = bound.MapHuge(bound.SizeOf[Object](r.N))
			fillFromSlab(objects, bound.Over[Object](mapping.Mem, r.N), k)
		},
		Free: func() { mapping.Unmap() },
	}
}

func fillFromSlab(objects []*Object, slab []Object, k int) {
	slab = slab[:len(objects)]
	for i := range objects {
		o := &slab[i]
		o.A, o.B = i, k
		objects[i] = o
	}
}

func objectsNew(make newArena, life arenaLife) func(r *bench.Run) ObjectsWay {
	return objectsArena(make, life, func(a *arena.Arena, objects []*Object, k int) {
		for i := range objects {
			o := arena.New[Object](a)
			o.A, o.B = i, k
			objects[i] = o
		}
	})
}

func objectsOf(make newArena, life arenaLife) func(r *bench.Run) ObjectsWay {
	return objectsArena(make, life, func(a *arena.Arena, objects []*Object, k int) {
		fillOf(arena.Of[Object](a), objects, k)
	})
}

// objectsArena is the way of arenas of a kind, in which fill makes the objects.
func objectsArena(make newArena, life arenaLife, fill func(a *arena.Arena, objects []*Object, k int)) func(r *bench.Run) ObjectsWay {
	return func(r *bench.Run) ObjectsWay {
		bytes := bound.SizeOf[Object](r.N)
		a := life.keepArena(r, make, bytes)
		return ObjectsWay{
			Fill: func(objects []*Object, k int) {
				if life == arenaFresh {
					a = make(bytes)
				}
				fill(a, objects, k)
			},
			Free: func() { life.end(a) },
		}
	}
}

func fillOf(of arena.Typed[Object], objects []*Object, k int) {
	for i := range objects {
		o := of.New()
		o.A, o.B = i, k
		objects[i] = o
	}
}

func objectsPooled(r *bench.Run) ObjectsWay {
	pool := &arena.Pool{Bytes: pooledBytesFor(bound.SizeOf[Object](r.N))}
	var a *arena.Arena
	return ObjectsWay{
		Fill: func(objects []*Object, k int) {
			a = pool.Get()
			fillOf(arena.Of[Object](a), objects, k)
		},
		Free: func() { pool.Put(a) },
	}
}
