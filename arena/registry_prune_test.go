// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"runtime"
	"testing"
)

// TestRegistryPrunes drops arenas until each shard has looked for those that the collector took, the newest record of the shard among
// them: the rings still have as many records as the shards count, and no dead one for long.
func TestRegistryPrunes(t *testing.T) {
	for range 4 {
		for range 100 * len(registry.shards) {
			NewArena()
		}
		runtime.GC()
	}
	for i := range registry.shards {
		s := &registry.shards[i]
		s.mu.Lock()
		n := 0
		for r := s.ring; r != nil && (n == 0 || r != s.ring); r = r.next {
			if r.next.prev != r || r.prev.next != r {
				t.Fatalf("shard %d: the ring is broken", i)
			}
			n++
		}
		if n != s.count {
			t.Errorf("shard %d has %d records and counts %d", i, n, s.count)
		}
		s.mu.Unlock()
	}
}
