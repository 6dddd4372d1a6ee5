// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"math/rand/v2"
	"testing"
)

// keyOfHash is the key that a Map without a secret gives a hash.
func keyOfHash(h uint64) uint64 {
	inverse := uint64(1) // Of golden, by Newton's method: each step doubles the bits that are right.
	for range 6 {
		inverse *= 2 - golden*inverse
	}
	return h * inverse
}

// TestMapSpill fills Maps with keys whose hashes are chosen: in long runs of full groups, at the end of the table, which
// goes on at its beginning, and behind many deleted keys. Slots are large, so that a segment is one group.
func TestMapSpill(t *testing.T) {
	rounds := 60
	if testing.Short() {
		rounds = 12
	}
	for seed := range uint64(rounds) {
		r := rand.New(rand.NewPCG(seed, 13))
		a := NewArena()
		m := NewMap[uint64, [4096]byte](a, 0)
		m.hasher = hasher{0, 1}
		want := make(map[uint64]byte)
		var keys []uint64
		places := make([]uint64, 1+r.IntN(6))
		for i := range places {
			places[i] = r.Uint64()
			if r.IntN(3) == 0 {
				places[i] |= 0xff << 56 // The last groups.
			}
		}
		for step := range 700 {
			h := places[r.IntN(len(places))] + r.Uint64()>>(4+r.IntN(60))
			key := keyOfHash(h)
			if m.hash(key) != h && !m.t.isRow() {
				t.Fatalf("seed %d: the hash of %x is %x, want %x", seed, key, m.hash(key), h)
			}
			m.Set(key, [4096]byte{byte(step)})
			if _, ok := want[key]; !ok {
				keys = append(keys, key)
			}
			want[key] = byte(step)
			for range r.IntN(3) * int(seed%2) { // Every other Map shrinks again and again.
				i := r.IntN(len(keys))
				if _, ok := want[keys[i]]; m.Delete(keys[i]) != ok {
					t.Fatalf("seed %d, step %d: Delete", seed, step)
				}
				delete(want, keys[i])
				keys[i] = keys[len(keys)-1]
				if keys = keys[:len(keys)-1]; len(keys) == 0 {
					break
				}
			}
			if m.Len() != len(want) {
				t.Fatalf("seed %d, step %d: %d entries, want %d", seed, step, m.Len(), len(want))
			}
		}
		for key, v := range want {
			if got, ok := m.Get(key); !ok || got[0] != v {
				t.Fatalf("seed %d: the entry of %x is %d, %t, want %d", seed, key, got[0], ok, v)
			}
		}
		a.Free()
	}
}

// TestMapSpillOfGroup sweeps a table in which the entries of the first group belong to eight other groups. The new table
// needs memory for each of these at once, before the first group of the old one is free.
func TestMapSpillOfGroup(t *testing.T) {
	const groups = 16
	m := NewMap[uint64, [4096]byte](Cleanup(t, NewArena()), groups*7)
	m.hasher = hasher{0, 1}
	if len(m.t.ctrl) != groups || m.t.slots.count() != groups {
		t.Fatalf("%d groups in %d segments, want %d in as many", len(m.t.ctrl), m.t.slots.count(), groups)
	}
	made := uint64(0)
	add := func(group uint64) uint64 {
		made++
		key := keyOfHash(group<<60 | made<<8)
		m.Set(key, [4096]byte{byte(made)})
		return key
	}
	var filling, spilled []uint64
	for i := range uint64(64) {
		filling = append(filling, add(8+i/8))
	}
	for i := range uint64(8) { // The groups from 8 on are full, and the first group comes behind the last one.
		spilled = append(spilled, add(8+i))
	}
	for _, key := range filling {
		m.Delete(key)
	}
	serial := m.t.serial
	for i := uint64(0); m.t.serial == serial; i++ {
		add(1 + i%7)
	}
	if len(m.t.ctrl) != groups {
		t.Fatalf("the table has grown to %d groups", len(m.t.ctrl))
	}
	for i, key := range spilled {
		if v, ok := m.Get(key); !ok || v[0] != byte(65+i) {
			t.Errorf("the entry of %x is %d, %t, want %d", key, v[0], ok, 65+i)
		}
	}
}
