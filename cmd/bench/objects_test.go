package bench

import (
	"math/rand/v2"
	"testing"
)

// TestObjectsFindsAliases runs ways that hand out wrong memory: their checksums must differ from the heap's.
func TestObjectsFindsAliases(t *testing.T) {
	const n = 2 * roundObjects
	right := objectsRounds(n, objectsHeap)
	for name, way := range map[string]func(*Run) ObjectsWay{
		"one object for all": func(*Run) ObjectsWay {
			o := new(Object)
			return ObjectsWay{Fill: func(objects []*Object, k int) {
				for i := range objects {
					o.A, o.B = i, k
					objects[i] = o
				}
			}}
		},
		"a round before's values": func(r *Run) ObjectsWay {
			slab := make([]Object, r.N)
			return ObjectsWay{Fill: func(objects []*Object, k int) { fillFromSlab(objects, slab, max(0, k-1)) }}
		},
	} {
		if wrong := objectsRounds(n, way); firstDifference(right, wrong) < 0 {
			t.Errorf("%s goes unnoticed: %x", name, wrong)
		}
	}
	if again := objectsRounds(n, objectsSlab); firstDifference(right, again) >= 0 {
		t.Errorf("the slab gives %x, the heap %x", again, right)
	}
}

func objectsRounds(n int, way func(*Run) ObjectsWay) (sums []uint64) {
	round := Objects(way)(&Run{Spec: Spec{N: n}})
	for range 3 {
		sums = append(sums, round())
	}
	return sums
}

func TestTreeShares(t *testing.T) {
	for n := 2; n < 200; n++ {
		sum := 0
		for i := range Children(n) {
			if Share(n, i) < 1 {
				t.Fatalf("child %d of %d nodes has none", i, n)
			}
			sum += Share(n, i)
		}
		if sum != n-1 {
			t.Fatalf("the children of %d nodes have %d together", n, sum)
		}
	}
}

// TestTreeNames holds the room that the slab makes for names against the names.
func TestTreeNames(t *testing.T) {
	names := newTreeNames()
	names.next = 12345
	want := names.bytes(5000)
	got := 0
	for range 5000 {
		name := names.Next()
		if len(name) < treeShortest || len(name) >= treeLongest {
			t.Fatalf("a name of %d bytes", len(name))
		}
		got += len(name)
	}
	if got != want {
		t.Errorf("5000 names have %d bytes, not %d", got, want)
	}
}

// TestSlab holds a slab against a model: what it hands out is zero, and keeps what was written to it.
func TestSlab(t *testing.T) {
	var s slab[int]
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		var handed []*int // each value that was handed out holds its index
		hand := func(p *int) {
			if *p != 0 {
				t.Fatalf("value %d is handed out with %d in it", len(handed), *p)
			}
			*p = len(handed) + 1
			handed = append(handed, p)
		}
		for range 40 {
			if random.IntN(2) == 0 {
				hand(s.one())
				continue
			}
			values := s.some(1 + random.IntN(2*slabChunk))
			for i := range values {
				hand(&values[i])
			}
		}
		for i, p := range handed {
			if *p != i+1 {
				t.Fatalf("value %d became %d", i, *p-1)
			}
		}
		s.reset()
	}
}

// TestBoundMaps holds the tables of the bound against Go's map, over rounds that use their memory again.
func TestBoundMaps(t *testing.T) {
	ints, names := new(boundTables[boundEntry]), new(boundTables[boundNamed])
	var room [24]byte
	for _, n := range []int{1, 47, 48, 49, 5000, 300} {
		m, named := newBoundMap(ints), newBoundNames(names, nil)
		want, wantNamed := map[int64]int64{}, map[string]mapValue{}
		for i := range n {
			value := mapValue{int64(i), 1}
			m.put(mapKey(i), int64(i))
			want[mapKey(i)] = int64(i)
			named.put(mapName(&room, i), value)
			wantNamed[string(mapName(&room, i))] = value
		}
		if len(want) != n || len(wantNamed) != n {
			t.Fatalf("%d keys are %d and %d different ones", n, len(want), len(wantNamed))
		}
		for i := range 2 * n {
			got, ok := m.get(mapKey(i))
			if v, found := want[mapKey(i)]; got != v || ok != found {
				t.Fatalf("of %d ints, %d is %d, %t, not %d, %t", n, i, got, ok, v, found)
			}
			if v := wantNamed[string(mapName(&room, i))]; named.get(mapName(&room, i)) != v {
				t.Fatalf("of %d names, %d is not %v", n, i, v)
			}
		}
		m.drop()
		named.drop()
	}
}

// TestMapStepVisitsAll is what makes a round look every entry up.
func TestMapStepVisitsAll(t *testing.T) {
	for _, w := range []string{"map/ints", "map/lookup", "map/strings"} {
		for _, n := range append(find(w).Full, find(w).Quick...) {
			seen, at := make([]bool, n), 0
			for range n {
				seen[at] = true
				at = mapNext(at, mapStep%n, n)
			}
			for i, ok := range seen {
				if !ok {
					t.Fatalf("%s: of %d entries, %d is never looked up", w, n, i)
				}
			}
		}
	}
}
