// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"testing"
	"weak"
)

// TestRegistryPrunes enters records of which the collector has taken some, all, or none of the arenas: the ring has as many as the shard
// counts, and the dead go when the shard has doubled, the newest one among them.
func TestRegistryPrunes(t *testing.T) {
	alive := new(state)
	for _, every := range []int{1, 2, 3, 1000} { // Which records are dead.
		var s registryShard
		for i := range 1000 {
			r := &record{from: &fromSingle}
			if i%every != every-1 {
				r.state = weak.Make(alive)
			}
			s.add(r)
			n := 0
			s.each(func(r *record) {
				if r.next.prev != r || r.prev.next != r {
					t.Fatalf("every %d: the ring is broken after %d records", every, i+1)
				}
				n++
			})
			if n != s.count {
				t.Fatalf("every %d: %d records, and the shard counts %d", every, n, s.count)
			}
		}
		if every == 1 && s.count > 64 {
			t.Errorf("%d records of arenas that are gone are left", s.count)
		}
	}
	if !(&record{state: weak.Make(alive)}).alive() {
		t.Error("what is alive counts as dead")
	}
}
