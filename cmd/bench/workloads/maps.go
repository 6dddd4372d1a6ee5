// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"encoding/binary"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/cmd/bench"
)

// Maps that are grown from empty, read and dropped together, as an index of one request or one batch is. Each
// contestant's round is written out.

func mapWorkloads() []bench.Workload {
	const million = 1_000_000
	ints := bench.Workload{
		Name:  "map/ints",
		Doc:   "Fill a map from int64 to int64 with n entries, from empty; look each up once in another order; drop it.",
		Op:    "entry",
		Size:  "entries",
		Quick: []int{100_000},
		Full:  []int{1000, 100_000, million},
		Ops:   func(n int) int { return n * repeats(n) },
		Heap:  goMapName,
		Contestants: append([]bench.Contestant{
			{Name: goMapName, Note: "make(map[int64]int64)", Prepare: rounds(mapInts)},
			{Name: "Go map, sized", Note: "make(map[int64]int64, n)", Prepare: rounds(mapIntsSized), FullOnly: true},
			{Name: "Go map, cleared", Note: "one map, cleared after each round: it keeps its size, and nothing grows", Prepare: mapIntsCleared},
			{Name: boundName, Note: "open addressing with one multiplication for a hash, memory kept, no deletion", Prepare: mapIntsBound},
		}, own(
			bench.Contestant{Name: arenaMap, Note: "a Map in the default arena, reset after each round", Prepare: mapIntsArena(defaultArena, arenaReused)},
			bench.Contestant{Name: arenaMapOffHeap, Note: "the same in an arena outside of the Go heap", Prepare: mapIntsArena(offHeapArena, arenaReused)},
			bench.Contestant{Name: arenaMapFresh, Note: "a Map in a new arena for each round, freed", Prepare: mapIntsArena(defaultArena, arenaFresh)},
		)...),
		Bars: []bench.Bar{
			bench.AtMost("map, 1M ints grown, read and dropped, "+arenaMap+" by Go's map", 0.5, bench.TimeRatio("map/ints", million, arenaMap, goMapName)),
			bench.AtMost("map, 1M ints, off heap, by Go's map", 0.5, bench.TimeRatio("map/ints", million, arenaMapOffHeap, goMapName)),
		},
	}
	lookups := ints
	lookups.Name = "map/lookup"
	lookups.Doc = "Look up n keys in a map from int64 to int64 with n entries; one in eight is not there."
	lookups.Op = "look-up"
	lookups.Contestants = append([]bench.Contestant{
		{Name: goMapName, Note: "map[int64]int64", Prepare: mapLookup},
		{Name: boundName, Note: "open addressing with one multiplication for a hash", Prepare: mapLookupBound},
	}, own(
		bench.Contestant{Name: arenaMap, Note: "a Map in the default arena", Prepare: mapLookupArena(defaultArena)},
		bench.Contestant{Name: arenaMapOffHeap, Note: "a Map in an arena outside of the Go heap", Prepare: mapLookupArena(offHeapArena)},
	)...)
	lookups.Bars = []bench.Bar{
		bench.AtMost("map, look-ups of 1M ints, "+arenaMap+" by Go's map", 0.8, bench.TimeRatio("map/lookup", million, arenaMap, goMapName)),
	}
	return []bench.Workload{ints, lookups, mapStringsWorkload(ints)}
}

// mapStringsWorkload is map/strings, which has the sizes of the others.
func mapStringsWorkload(w bench.Workload) bench.Workload {
	w.Name = "map/strings"
	w.Doc = "Fill a map from string to a struct of two ints with n entries, from empty, keys from a buffer that is not the map's " +
		"to keep; look each up once in another order; drop it."
	w.Contestants = append([]bench.Contestant{
		{Name: goMapName, Note: "map[string]struct; keys copied by string(b)", Prepare: rounds(mapStrings)},
		{Name: "Go map, cleared", Note: "one map, cleared after each round: it keeps its size, and nothing grows", Prepare: mapStringsCleared},
		{Name: boundName, Note: "open addressing over one text of all keys, memory kept, no deletion", Prepare: mapStringsBound},
	}, own(
		bench.Contestant{Name: arenaMap, Note: "a Map in the default arena, reset after each round; SetBytes and GetBytes", Prepare: mapStringsArena(arenaReused)},
		bench.Contestant{Name: arenaMapFresh, Note: "a Map in a new arena for each round, freed", Prepare: mapStringsArena(arenaFresh)},
	)...)
	w.Bars = []bench.Bar{
		bench.AtMost("map, 1M strings to a struct, "+arenaMap+" by Go's map", 0.8, bench.TimeRatio("map/strings", 1_000_000, arenaMap, goMapName)),
	}
	return w
}

// The ways of freehold to hold a map.
const (
	arenaMap        = "arena Map"
	arenaMapOffHeap = "arena Map, off heap"
	arenaMapFresh   = "arena Map, fresh"
)

const goMapName = "Go map"

// mapKey is the key of entry i: spread over all int64, and different for different i.
func mapKey(i int) int64 {
	x := uint64(i) * 0x9e3779b97f4a7c15
	return int64(x ^ x>>29)
}

// mapStep is the distance between two consecutive look-ups. It is a prime larger than the prime
// factors of any size in use, so each entry is looked up.
const mapStep = 7919

// mapNext is the entry to look up after entry at of n; step is mapStep % n.
func mapNext(at, step, n int) int {
	at += step
	if at >= n {
		at -= n
	}
	return at
}

func mapInts(r *bench.Run) uint64 { return mapIntsInto(r, map[int64]int64{}) }

func mapIntsSized(r *bench.Run) uint64 { return mapIntsInto(r, make(map[int64]int64, r.N)) }

func mapIntsCleared(r *bench.Run) func() uint64 {
	m := map[int64]int64{}
	return rounds(func(r *bench.Run) uint64 {
		sum := mapIntsInto(r, m)
		clear(m)
		return sum
	})(r)
}

func mapIntsInto(r *bench.Run, m map[int64]int64) (sum uint64) {
	for i := range r.N {
		m[mapKey(i)] = int64(i)
	}
	r.Peak()
	at, step := 0, mapStep%r.N
	for range r.N {
		sum = sum*31 + uint64(m[mapKey(at)])
		at = mapNext(at, step, r.N)
	}
	return sum
}

func mapIntsBound(r *bench.Run) func() uint64 {
	var tables boundTables[boundEntry]
	return rounds(func(r *bench.Run) (sum uint64) {
		m := newBoundMap(&tables)
		for i := range r.N {
			m.put(mapKey(i), int64(i))
		}
		r.Peak()
		at, step := 0, mapStep%r.N
		for range r.N {
			v, _ := m.get(mapKey(at))
			sum = sum*31 + uint64(v)
			at = mapNext(at, step, r.N)
		}
		m.drop()
		return sum
	})(r)
}

// lookupKey is the entry of look-up i: every eighth one is not in the map.
func lookupKey(at, i, n int) int64 {
	if i&7 == 0 {
		at += n
	}
	return mapKey(at)
}

func mapLookup(r *bench.Run) func() uint64 {
	m := map[int64]int64{}
	for i := range r.N {
		m[mapKey(i)] = int64(i)
	}
	return rounds(func(r *bench.Run) (sum uint64) {
		at, step := 0, mapStep%r.N
		for i := range r.N {
			if v, ok := m[lookupKey(at, i, r.N)]; ok {
				sum = sum*31 + uint64(v)
			}
			at = mapNext(at, step, r.N)
		}
		return sum
	})(r)
}

func mapLookupBound(r *bench.Run) func() uint64 {
	m := newBoundMap(new(boundTables[boundEntry]))
	for i := range r.N {
		m.put(mapKey(i), int64(i))
	}
	return rounds(func(r *bench.Run) (sum uint64) {
		at, step := 0, mapStep%r.N
		for i := range r.N {
			if v, ok := m.get(lookupKey(at, i, r.N)); ok {
				sum = sum*31 + uint64(v)
			}
			at = mapNext(at, step, r.N)
		}
		return sum
	})(r)
}

// mapName writes the key of entry i into room and returns it: 8 to 23 bytes, of which the first 8 differ for all i.
func mapName(room *[24]byte, i int) []byte {
	x := uint64(i) * 0x9e3779b97f4a7c15
	for k := 0; k < len(room); k += 8 {
		binary.LittleEndian.PutUint64(room[k:], x)
	}
	return room[:8+i&15]
}

func mapStrings(r *bench.Run) uint64 { return mapStringsInto(r, map[string]mapValue{}) }

func mapStringsCleared(r *bench.Run) func() uint64 {
	m := map[string]mapValue{}
	return rounds(func(r *bench.Run) uint64 {
		sum := mapStringsInto(r, m)
		clear(m)
		return sum
	})(r)
}

func mapStringsInto(r *bench.Run, m map[string]mapValue) (sum uint64) {
	var room [24]byte
	for i := range r.N {
		b := mapName(&room, i)
		m[string(b)] = mapValue{int64(i), int64(len(b))}
	}
	r.Peak()
	at, step := 0, mapStep%r.N
	for range r.N {
		v := m[string(mapName(&room, at))]
		sum = sum*31 + uint64(v.count+v.bytes)
		at = mapNext(at, step, r.N)
	}
	return sum
}

func mapStringsBound(r *bench.Run) func() uint64 {
	var tables boundTables[boundNamed]
	var text []byte
	return rounds(func(r *bench.Run) (sum uint64) {
		var room [24]byte
		m := newBoundNames(&tables, text)
		for i := range r.N {
			b := mapName(&room, i)
			m.put(b, mapValue{int64(i), int64(len(b))})
		}
		r.Peak()
		at, step := 0, mapStep%r.N
		for range r.N {
			v := m.get(mapName(&room, at))
			sum = sum*31 + uint64(v.count+v.bytes)
			at = mapNext(at, step, r.N)
		}
		text = m.drop()
		return sum
	})(r)
}

func mapIntsArena(make newArena, life arenaLife) func(r *bench.Run) func() uint64 {
	return arenaRounds(make, life, func(r *bench.Run, a *arena.Arena) (sum uint64) {
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

func mapLookupArena(make newArena) func(r *bench.Run) func() uint64 {
	return func(r *bench.Run) func() uint64 {
		m := arena.NewMap[int64, int64](arenaReused.keepArena(r, make, 0), 0)
		for i := range r.N {
			m.Set(mapKey(i), int64(i))
		}
		return rounds(func(r *bench.Run) (sum uint64) {
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

func mapStringsArena(life arenaLife) func(r *bench.Run) func() uint64 {
	return arenaRounds(defaultArena, life, func(r *bench.Run, a *arena.Arena) (sum uint64) {
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
