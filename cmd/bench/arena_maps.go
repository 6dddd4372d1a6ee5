package bench

import "github.com/freehold-go/freehold/arena"

// The ways of freehold to hold a map.
const (
	arenaMap        = "arena Map"
	arenaMapOffHeap = "arena Map, off heap"
	arenaMapFresh   = "arena Map, fresh"
)

// addMapArena adds the ways of freehold to map.
func addMapArena() {
	addOwn("map/ints",
		Contestant{Name: arenaMap, Note: "a Map in the default arena, reset after each round", Prepare: mapIntsArena(defaultArena, arenaReused)},
		Contestant{Name: arenaMapOffHeap, Note: "the same in an arena outside of the Go heap", Prepare: mapIntsArena(offHeapArena, arenaReused)},
		Contestant{Name: arenaMapFresh, Note: "a Map in a new arena for each round, freed", Prepare: mapIntsArena(defaultArena, arenaFresh)},
	)
	addOwn("map/lookup",
		Contestant{Name: arenaMap, Note: "a Map in the default arena", Prepare: mapLookupArena(defaultArena)},
		Contestant{Name: arenaMapOffHeap, Note: "a Map in an arena outside of the Go heap", Prepare: mapLookupArena(offHeapArena)},
	)
	addOwn("map/strings",
		Contestant{Name: arenaMap, Note: "a Map in the default arena, reset after each round; SetBytes and GetBytes", Prepare: mapStringsArena(arenaReused)},
		Contestant{Name: arenaMapFresh, Note: "a Map in a new arena for each round, freed", Prepare: mapStringsArena(arenaFresh)},
	)
	const million = 1_000_000
	AddBar(Bar{"map, 1M ints grown, read and dropped, " + arenaMap + " by Go's map", 0.5, TimeRatio("map/ints", million, arenaMap, goMapName)})
	AddBar(Bar{"map, 1M ints, off heap, by Go's map", 0.5, TimeRatio("map/ints", million, arenaMapOffHeap, goMapName)})
	AddBar(Bar{"map, look-ups of 1M ints, " + arenaMap + " by Go's map", 0.8, TimeRatio("map/lookup", million, arenaMap, goMapName)})
	AddBar(Bar{"map, 1M strings to a struct, " + arenaMap + " by Go's map", 0.8, TimeRatio("map/strings", million, arenaMap, goMapName)})
}

// arenaRounds is the Prepare of a contestant that uses an arena in each round.
func arenaRounds(make newArena, life arenaLife, one func(r *Run, a *arena.Arena) uint64) func(r *Run) func() uint64 {
	return func(r *Run) func() uint64 {
		a := life.keepArena(r, make, 0)
		return rounds(func(r *Run) uint64 {
			if life == arenaFresh {
				a = make(0)
			}
			sum := one(r, a)
			life.end(a)
			return sum
		})(r)
	}
}

func mapIntsArena(make newArena, life arenaLife) func(r *Run) func() uint64 {
	return arenaRounds(make, life, func(r *Run, a *arena.Arena) (sum uint64) {
		m := arena.NewMap[int64, int64](a, 0)
		for i := range r.N {
			m.Set(mapKey(i), int64(i))
		}
		r.Peak()
		at, step := 0, mapStep%r.N
		for range r.N {
			v, _ := m.Get(mapKey(at))
			sum = sum*31 + uint64(v)
			at = mapNext(at, step, r.N)
		}
		return sum
	})
}

func mapLookupArena(make newArena) func(r *Run) func() uint64 {
	return func(r *Run) func() uint64 {
		m := arena.NewMap[int64, int64](arenaReused.keepArena(r, make, 0), 0)
		for i := range r.N {
			m.Set(mapKey(i), int64(i))
		}
		return rounds(func(r *Run) (sum uint64) {
			at, step := 0, mapStep%r.N
			for i := range r.N {
				if v, ok := m.Get(lookupKey(at, i, r.N)); ok {
					sum = sum*31 + uint64(v)
				}
				at = mapNext(at, step, r.N)
			}
			return sum
		})(r)
	}
}

func mapStringsArena(life arenaLife) func(r *Run) func() uint64 {
	return arenaRounds(defaultArena, life, func(r *Run, a *arena.Arena) (sum uint64) {
		var room [24]byte
		m := arena.NewMap[string, mapValue](a, 0)
		for i := range r.N {
			b := mapName(&room, i)
			arena.SetBytes(m, b, mapValue{int64(i), int64(len(b))})
		}
		r.Peak()
		at, step := 0, mapStep%r.N
		for range r.N {
			v, _ := arena.GetBytes(m, mapName(&room, at))
			sum = sum*31 + uint64(v.count+v.bytes)
			at = mapNext(at, step, r.N)
		}
		return sum
	})
}
