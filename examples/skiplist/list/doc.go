// SPDX-License-Identifier: Apache-2.0

// Package list has one lock-free skiplist twice: on the Go heap, and off it.
//
// [Plain] links its nodes by atomic.Pointer, as Go programs do. Each collection marks all of its
// nodes, keys and values. [OffHeap] is the same code with its memory in package offheap. The
// collector sees one object, whatever the number of entries.
//
// Both keep byte strings in order. Many goroutines may set and get entries at once. An entry can be
// replaced and not removed: the list dies as a whole, as the memory table of a database does when
// it has been written to disk.
package list

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
)

// maxHeight bounds the levels of a list. With a quarter of the nodes of each level on the next one,
// 16 levels suffice for 4^16 entries.
const maxHeight = 16

// randomHeight draws the number of levels of a node, from 1 to maxHeight.
func randomHeight() int {
	return min(1+bits.TrailingZeros64(rand.Uint64())/2, maxHeight)
}

// prefixOf is the first eight bytes of key as a number. Nodes keep it beside their links: numbers
// that differ order the keys, so most steps of a search do not read the memory of the node's key.
func prefixOf(key []byte) uint64 {
	if len(key) >= 8 {
		return binary.BigEndian.Uint64(key)
	}
	var padded [8]byte
	copy(padded[:], key)
	return binary.BigEndian.Uint64(padded[:])
}
