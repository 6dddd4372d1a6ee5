package bench

// The field's classic test of arenas: n small objects that are born together, and die together. The slice of pointers
// is made once and cleared after every round, by all contestants alike, so that what is compared is the objects. Every
// contestant's loop is written out, so that no call through a function value blurs nanoseconds.

func init() {
	w := Workload{
		Name:  "objects",
		Doc:   "Make n objects of two ints, keep a pointer to each in a slice, drop all; memory is used again in the next round.",
		Op:    "object",
		Size:  "objects",
		Quick: []int{1000, 100_000, 1_000_000},
		Full:  []int{1000, 10_000, 100_000, 256_000, 1_000_000, 10_000_000},
		Ops:   func(n int) int { return n * repeats(n) },
		Bound: slabName,
		Order: 100,
	}
	Register(w,
		Contestant{Name: heapName, Note: "new; freed by the collector", Prepare: Objects(objectsHeap)},
		Contestant{Name: "sync.Pool", Note: "Get and Put of *object", Prepare: Objects(objectsPool)},
		Contestant{Name: "free list", Note: "a stack of pointers to objects on the Go heap, for one goroutine", Prepare: Objects(objectsFreeList), FullOnly: true},
		Contestant{Name: slabName, Note: "the bound: one slice, cleared and filled again each round", Prepare: Objects(objectsSlab)},
	)
	w.Name, w.Order = "objects/fresh", 101
	w.Doc = "The same where each round makes what it allocates from, and frees it at the end."
	w.Full = append([]int{100}, w.Full...)
	Register(w,
		Contestant{Name: heapName, Note: "new; freed by the collector", Prepare: Objects(objectsHeap)},
		Contestant{Name: slabName, Note: "the bound: one slice, made each round, freed by the collector", Prepare: Objects(objectsSlabFresh)},
		Contestant{
			Name: hugeSlabName, Note: "a mapping made and unmapped each round, on huge pages", Unavailable: hugePagesMissing,
			Bound:   true,
			Prepare: Objects(objectsSlabHuge),
		},
	)
	addObjectsArena()
}

// The names of the bound where it is a slab.
const (
	slabName     = "slab"
	hugeSlabName = "slab, huge pages"
)

// Object is what the workload objects makes.
type Object struct{ A, B int }

// ObjectsWay is a way to make objects. Its functions are called once for all objects, so that a way writes its own loop.
type ObjectsWay struct {
	// Fill makes an object for each place of objects, with A its index and B = k.
	Fill func(objects []*Object, k int)
	// Put takes every object back one by one. It is nil where nothing does.
	Put func(objects []*Object)
	// Free takes all objects back at once, after the slice was cleared. It is nil where nothing does.
	Free func()
}

// roundObjects is how many objects a round handles at least, so that reading the clock costs it nothing.
const roundObjects = 1 << 14

// repeats is how often a round does the task with n objects.
func repeats(n int) int { return max(1, roundObjects/max(1, n)) }

// Objects is the Prepare of a contestant of the workloads objects and objects/fresh.
func Objects(newWay func(r *Run) ObjectsWay) func(r *Run) func() uint64 {
	return func(r *Run) func() uint64 {
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

// objectsStride is how far apart the objects are that are read back: reading all would cost as much as the best ways
// take to make them. The first round, which is not measured, reads all.
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

func objectsHeap(*Run) ObjectsWay {
	return ObjectsWay{Fill: func(objects []*Object, k int) {
		for i := range objects {
			o := new(Object)
			o.A, o.B = i, k
			objects[i] = o
		}
	}}
}

func objectsPool(*Run) ObjectsWay {
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

func objectsFreeList(*Run) ObjectsWay {
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

func objectsSlab(r *Run) ObjectsWay {
	slab := make([]Object, r.N)
	return ObjectsWay{Fill: func(objects []*Object, k int) {
		clear(slab)
		fillFromSlab(objects, slab, k)
	}}
}

func objectsSlabFresh(*Run) ObjectsWay {
	return ObjectsWay{Fill: func(objects []*Object, k int) {
		fillFromSlab(objects, make([]Object, len(objects)), k)
	}}
}

func objectsSlabHuge(r *Run) ObjectsWay {
	var mapping hugeMapping
	return ObjectsWay{
		Fill: func(objects []*Object, k int) {
			mapping = mapHuge(sizeOf[Object](r.N))
			fillFromSlab(objects, mappedSlice[Object](mapping.mem, r.N), k)
		},
		Free: func() { mapping.unmap() },
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
