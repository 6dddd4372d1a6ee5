// SPDX-License-Identifier: Apache-2.0

package workloads

import "testing"

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
		for _, n := range append(workload(t, w).Full, workload(t, w).Quick...) {
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
