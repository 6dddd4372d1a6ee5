// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"errors"
	"fmt"
	"testing"

	"github.com/freehold-go/freehold/offheap"
)

// TestMapMemory: a table that has outgrown its memory takes it along. Together, the tables of a large
// Map take little more than the last one.
func TestMapMemory(t *testing.T) {
	chunked(t)
	for _, k := range kinds[:3] {
		a := k.make()
		before := a.Stats().InUse
		m := NewMap[int64, int64](a, 0)
		const n = 120_000 // 2^18 slots, of 16 bytes and a control byte.
		for i := range int64(n) {
			m.Set(i, i)
		}
		if got, most := a.Stats().InUse-before, int64(1<<18*17*6/5); got > most {
			t.Errorf("%s: %d entries take %d bytes, want %d at most", k.name, n, got, most)
		}
		a.Free()
	}
}

// TestMapSegments holds Maps whose tables have several segments against Go maps: while they grow, lose
// entries and are swept, with iterations under way and without.
func TestMapSegments(t *testing.T) {
	type wide struct {
		key [3]int64
		at  *int64
	}
	for _, k := range append(kinds[:3:3], kinds[len(kinds)-1]) {
		a := k.make()
		if err := playSegments(a, func(i int64) int64 { return i }, func(i int64) int64 { return i }); err != nil {
			t.Errorf("%s, words: %v", k.name, err)
		}
		if err := playSegments(a, func(i int64) [2]int64 { return [2]int64{i, i} }, func(i int64) [9]int64 { return [9]int64{i} }); err != nil {
			t.Errorf("%s, other keys: %v", k.name, err)
		}
		if k.pointers {
			at := make([]int64, 20_000)
			if err := playSegments(a, func(i int64) *int64 { return &at[i] }, func(i int64) wide { return wide{at: &at[i]} }); err != nil {
				t.Errorf("%s, pointers: %v", k.name, err)
			}
		}
		a.Free()
	}
}

func playSegments[K, V comparable](a *Arena, key func(int64) K, value func(int64) V) error {
	m, want := NewMap[K, V](a, 0), map[K]V{}
	for i := range int64(12_000) {
		m.Set(key(i), value(i))
		want[key(i)] = value(i)
	}
	seen := map[K]bool{}
	for k, v := range m.All() {
		if want[k] != v || seen[k] {
			return fmt.Errorf("a loop gives %v: %v, before that %v", k, v, seen[k])
		}
		if seen[k] = true; len(seen) == 100 { // It grows below the loop, and the loop goes on in the old table.
			for i := int64(12_000); i < 16_000; i++ {
				m.Set(key(i), value(i))
				want[key(i)] = value(i)
			}
		}
	}
	for i := range int64(12_000) {
		if !seen[key(i)] {
			return fmt.Errorf("a loop leaves %v out", key(i))
		}
	}
	for i := range int64(60_000) { // As many go as come, so tables are swept.
		old, k := key(i%16_000), key((i*7919)%20_000)
		if _, there := want[old]; m.Delete(old) != there {
			return fmt.Errorf("Delete of %v says %v", old, !there)
		}
		delete(want, old)
		m.Set(k, value(i%20_000))
		want[k] = value(i % 20_000)
	}
	if m.t.slots.count() < 2 {
		return fmt.Errorf("the table has %d slots in one segment", m.t.slots.len())
	}
	return sameMap(m, want)
}

// TestMapSegmentsLimit: a Map of several segments that cannot grow is unchanged, and goes on after the limit is
// raised.
func TestMapSegmentsLimit(t *testing.T) {
	for _, k := range kinds[:3] {
		a := k.make()
		a.SetLimit(1 << 20)
		m, want := NewMap[int64, int64](a, 0), map[int64]int64{}
		for round := range 2 {
			refused := 0
			for i := range int64(40_000) {
				if err := trySet(m, i, i+int64(round)); err == nil {
					want[i] = i + int64(round)
				} else if refused++; !errors.Is(err, offheap.ErrLimit) {
					t.Fatal(err)
				}
			}
			if (refused > 0) != (round == 0) && !chunkless() {
				t.Errorf("%s: in round %d, %d entries were refused", k.name, round, refused)
			}
			if err := sameMap(m, want); err != nil {
				t.Errorf("%s: %v", k.name, err)
			}
			a.SetLimit(0)
		}
		a.Free()
	}
}

// TestMapLargeSlots: a segment of slots above 4 KiB is one group, so entries lie several segments behind the
// one where they belong. Growing and sweeping find a segment for each of them.
func TestMapLargeSlots(t *testing.T) {
	type large = [520]uint64
	for name, a := range map[string]*Arena{"nil": nil, "NewArena": NewArena(), "NewOffHeap": NewOffHeap(Options{})} {
		c := a.Checkpoint()
		for round := range 12 {
			m, want := NewMap[int, large](a, 0), map[int]large{}
			for i := range 420 { // It grows to 64 groups, and is swept.
				if k := i - 200; k >= 0 && i%3 != 0 {
					m.Delete(k)
					delete(want, k)
				}
				m.Set(i, large{uint64(i), 519: uint64(round)})
				want[i] = large{uint64(i), 519: uint64(round)}
			}
			if err := sameMap(m, want); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			a.Rewind(c)
		}
		a.Free()
	}
}
