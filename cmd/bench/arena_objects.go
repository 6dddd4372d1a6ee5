package bench

import "github.com/freehold-go/freehold/arena"

// The names of the kinds of arena, and of the ways to use them, in all workloads.
const (
	arenaNew     = "arena New"
	arenaOf      = "arena Of"
	arenaOffHeap = "arena off heap"
	arenaShared  = "arena shared"
	arenaFixed   = "arena fixed"
	arenaPool    = "arena Pool"
	arenaNoReuse = "arena no reuse"
)

// A newArena makes an arena for so many bytes of values, which only a fixed one needs to know.
type newArena func(bytes int) *arena.Arena

func defaultArena(int) *arena.Arena { return arena.NewArena() }
func offHeapArena(int) *arena.Arena { return arena.NewOffHeap(arena.Options{}) }
func sharedArena(int) *arena.Arena  { return arena.NewShared() }
func fixedArena(n int) *arena.Arena { return arena.NewFixed(n) }

// noReuseArena makes an arena whose memory goes to the collector when it is reset or freed.
func noReuseArena(int) *arena.Arena { return arena.NewWith(arena.Options{NoReuse: true}) }

// addObjectsArena adds the ways of freehold to objects and objects/fresh.
func addObjectsArena() {
	ways := func(life arenaLife) []Contestant {
		return []Contestant{
			{Name: arenaNew, Note: "New[T] in the default arena, on Go memory", Prepare: Objects(objectsNew(defaultArena, life))},
			{Name: arenaOf, Note: "a handle that has looked T up", Prepare: Objects(objectsOf(defaultArena, life))},
			{Name: arenaNoReuse, Note: "a handle to an arena that leaves its memory to the collector", Prepare: Objects(objectsOf(noReuseArena, life))},
			{Name: arenaOffHeap, Note: "a handle to an arena outside of the Go heap", Prepare: Objects(objectsOf(offHeapArena, life))},
			{Name: arenaFixed, Note: "New[T] in an arena of so many bytes outside of the Go heap", Prepare: Objects(objectsNew(fixedArena, life)), FullOnly: true},
			{Name: arenaShared, Note: "New[T] in an arena for many goroutines", Prepare: Objects(objectsNew(sharedArena, life)), FullOnly: true},
		}
	}
	addOwn("objects", append(ways(arenaReused), Contestant{
		Name: arenaPool, Note: "Get and Put of an arena for each round, and a handle", Prepare: Objects(objectsPooled), FullOnly: true,
	})...)
	addOwn("objects/fresh", ways(arenaFresh)...)
	addObjectsGoArena()
	addObjectsBars()
}

// An arenaLife says whether an arena is reset after a round, or freed and made anew.
type arenaLife bool

const (
	arenaReused arenaLife = false
	arenaFresh  arenaLife = true
)

// keepArena makes the arena of all rounds if it is reused.
func (life arenaLife) keepArena(r *Run, make newArena, bytes int) *arena.Arena {
	if life == arenaFresh {
		return nil
	}
	a := make(bytes)
	r.Cleanup(a.Free)
	return a
}

func objectsNew(make newArena, life arenaLife) func(r *Run) ObjectsWay {
	return objectsArena(make, life, func(a *arena.Arena, objects []*Object, k int) {
		for i := range objects {
			o := arena.New[Object](a)
			o.A, o.B = i, k
			objects[i] = o
		}
	})
}

func objectsOf(make newArena, life arenaLife) func(r *Run) ObjectsWay {
	return objectsArena(make, life, func(a *arena.Arena, objects []*Object, k int) {
		fillOf(arena.Of[Object](a), objects, k)
	})
}

// objectsArena is the way of arenas of a kind, in which fill makes the objects.
func objectsArena(make newArena, life arenaLife, fill func(a *arena.Arena, objects []*Object, k int)) func(r *Run) ObjectsWay {
	return func(r *Run) ObjectsWay {
		bytes := sizeOf[Object](r.N)
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

// end gives up the values of a.
func (life arenaLife) end(a *arena.Arena) {
	if life == arenaFresh {
		a.Free()
	} else {
		a.Reset(arena.Keep)
	}
}

func objectsPooled(r *Run) ObjectsWay {
	pool := &arena.Pool{Bytes: pooledBytesFor(sizeOf[Object](r.N))}
	var a *arena.Arena
	return ObjectsWay{
		Fill: func(objects []*Object, k int) {
			a = pool.Get()
			fillOf(arena.Of[Object](a), objects, k)
		},
		Free: func() { pool.Put(a) },
	}
}

// pooledBytesFor is the limit of a Pool that keeps everything of a round: chunks grow geometrically, so that the last may be
// as large as all before.
func pooledBytesFor(bytes int) int64 { return max(4<<20, 4*int64(bytes)) }
