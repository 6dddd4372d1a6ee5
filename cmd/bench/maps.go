package bench

import "encoding/binary"

// Maps that are grown from empty, read and dropped together, as an index of one request or one batch is. Each
// contestant's round is written out.

func init() {
	w := Workload{
		Name:  "map/ints",
		Doc:   "Fill a map from int64 to int64 with n entries, from empty; look each up once in another order; drop it.",
		Op:    "entry",
		Size:  "entries",
		Quick: []int{100_000},
		Full:  []int{1000, 100_000, 1_000_000},
		Ops:   func(n int) int { return n * repeats(n) },
		Heap:  goMapName,
		Order: 104,
	}
	Register(w,
		Contestant{Name: goMapName, Note: "make(map[int64]int64)", Prepare: rounds(mapInts)},
		Contestant{Name: "Go map, sized", Note: "make(map[int64]int64, n)", Prepare: rounds(mapIntsSized), FullOnly: true},
		Contestant{Name: "Go map, cleared", Note: "one map, cleared after each round: it keeps its size, and nothing grows", Prepare: mapIntsCleared},
		Contestant{Name: boundName, Note: "open addressing with one multiplication for a hash, memory kept, no deletion", Prepare: mapIntsBound},
	)
	w.Name, w.Order = "map/lookup", 105
	w.Doc = "Look up n keys in a map from int64 to int64 with n entries; one in eight is not there."
	w.Op = "look-up"
	Register(w,
		Contestant{Name: goMapName, Note: "map[int64]int64", Prepare: mapLookup},
		Contestant{Name: boundName, Note: "open addressing with one multiplication for a hash", Prepare: mapLookupBound},
	)
	w.Name, w.Order = "map/strings", 106
	w.Doc = "Fill a map from string to a struct of two ints with n entries, from empty, keys from a buffer that is not the map's " +
		"to keep; look each up once in another order; drop it."
	w.Op = "entry"
	Register(w,
		Contestant{Name: goMapName, Note: "map[string]struct; keys copied by string(b)", Prepare: rounds(mapStrings)},
		Contestant{Name: "Go map, cleared", Note: "one map, cleared after each round: it keeps its size, and nothing grows", Prepare: mapStringsCleared},
		Contestant{Name: boundName, Note: "open addressing over one text of all keys, memory kept, no deletion", Prepare: mapStringsBound},
	)
	addMapArena()
}

const goMapName = "Go map"

// rounds is the Prepare of a contestant that has nothing to keep between its rounds.
func rounds(one func(r *Run) uint64) func(r *Run) func() uint64 {
	return func(r *Run) func() uint64 {
		return func() (sum uint64) {
			for range repeats(r.N) {
				sum = sum*31 + one(r)
			}
			return sum
		}
	}
}

// mapKey is the key of entry i: spread over all int64, and different for different i.
func mapKey(i int) int64 {
	x := uint64(i) * 0x9e3779b97f4a7c15
	return int64(x ^ x>>29)
}

// mapStep is how far apart the entries are that are looked up one after the other. It is a prime larger than the
// prime factors of any size in use, so that each entry has its turn.
const mapStep = 7919

// mapNext is the entry that is looked up after entry at of n, where step is mapStep % n.
func mapNext(at, step, n int) int {
	at += step
	if at >= n {
		at -= n
	}
	return at
}

func mapInts(r *Run) uint64 { return mapIntsInto(r, map[int64]int64{}) }

func mapIntsSized(r *Run) uint64 { return mapIntsInto(r, make(map[int64]int64, r.N)) }

func mapIntsCleared(r *Run) func() uint64 {
	m := map[int64]int64{}
	return rounds(func(r *Run) uint64 {
		sum := mapIntsInto(r, m)
		clear(m)
		return sum
	})(r)
}

func mapIntsInto(r *Run, m map[int64]int64) (sum uint64) {
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

func mapIntsBound(r *Run) func() uint64 {
	var tables boundTables[boundEntry]
	return rounds(func(r *Run) (sum uint64) {
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

func mapLookup(r *Run) func() uint64 {
	m := map[int64]int64{}
	for i := range r.N {
		m[mapKey(i)] = int64(i)
	}
	return rounds(func(r *Run) (sum uint64) {
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

func mapLookupBound(r *Run) func() uint64 {
	m := newBoundMap(new(boundTables[boundEntry]))
	for i := range r.N {
		m.put(mapKey(i), int64(i))
	}
	return rounds(func(r *Run) (sum uint64) {
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

// A mapValue is what map/strings holds.
type mapValue struct{ count, bytes int64 }

// mapName writes the key of entry i into room and returns it: 8 to 23 bytes, of which the first 8 differ for all i.
func mapName(room *[24]byte, i int) []byte {
	x := uint64(i) * 0x9e3779b97f4a7c15
	for k := 0; k < len(room); k += 8 {
		binary.LittleEndian.PutUint64(room[k:], x)
	}
	return room[:8+i&15]
}

func mapStrings(r *Run) uint64 { return mapStringsInto(r, map[string]mapValue{}) }

func mapStringsCleared(r *Run) func() uint64 {
	m := map[string]mapValue{}
	return rounds(func(r *Run) uint64 {
		sum := mapStringsInto(r, m)
		clear(m)
		return sum
	})(r)
}

func mapStringsInto(r *Run, m map[string]mapValue) (sum uint64) {
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

func mapStringsBound(r *Run) func() uint64 {
	var tables boundTables[boundNamed]
	var text []byte
	return rounds(func(r *Run) (sum uint64) {
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
