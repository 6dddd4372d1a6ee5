// SPDX-License-Identifier: Apache-2.0

package sortbuf

import (
	"encoding/binary"
	"math/bits"
)

// Records lie in chunks, each as the lengths of key and value (unsigned varints), key and value. A
// position is the number of the chunk and the offset in it. So positions have the order of arrival.
// A record that is larger than a chunk has one of its own.

// records are chunks that are full, of one run.
type records struct {
	blocks [][]byte // The used part of each chunk.
	counts []int32  // The records of each.
	n      int64
	bytes  int64 // Of all used parts.
	shift  uint  // A position is chunk<<shift | offset.
	mask   uint64
}

func newRecords(chunk int) *records {
	shift := uint(bits.Len(uint(chunk)) - 1)
	return &records{shift: shift, mask: 1<<shift - 1}
}

// add takes a chunk of n records.
func (r *records) add(block []byte, n int) {
	r.blocks = append(r.blocks, block)
	r.counts = append(r.counts, int32(n))
	r.n += int64(n)
	r.bytes += int64(len(block))
}

// headerLen is the bytes of the lengths of a record.
func headerLen(key, value int) int {
	return uvarintLen(uint64(key)) + uvarintLen(uint64(value))
}

func uvarintLen(n uint64) int { return (bits.Len64(n|1) + 6) / 7 }

// split takes the first record off b. The lengths may be wrong in memory that a stale slice has
// changed; then a slice bound panics.
func split(b []byte) (key, value, rest []byte) {
	if len(b) >= 2 && (b[0]|b[1]) < 0x80 {
		k, v := 2+int(b[0]), int(b[1])
		return b[2:k:k], b[k : k+v : k+v], b[k+v:]
	}
	return splitSlow(b)
}

//go:noinline
func splitSlow(b []byte) (key, value, rest []byte) {
	k, n := binary.Uvarint(b)
	v, m := binary.Uvarint(b[n:])
	b = b[n+m:]
	return b[:k:k], b[k : k+v : k+v], b[k+v:]
}

// key is the key at a position.
func (r *records) key(pos uint64) []byte {
	b := r.blocks[pos>>r.shift][pos&r.mask:]
	if len(b) >= 2 && (b[0]|b[1]) < 0x80 {
		k := 2 + int(b[0])
		return b[2:k]
	}
	k, _, _ := splitSlow(b)
	return k
}

// first reads the first two cache lines of the record at a position.
func (r *records) first(pos uint64) byte {
	b := r.blocks[pos>>r.shift]
	at := pos & r.mask
	return b[at] + b[min(at+63, uint64(len(b)-1))]
}

// record is the record at a position.
func (r *records) record(pos uint64) (key, value []byte) {
	key, value, _ = split(r.blocks[pos>>r.shift][pos&r.mask:])
	return key, value
}

// walk calls f with each record of the chunks lo to hi, in order of arrival, until f returns false.
func (r *records) walk(lo, hi int, f func(pos uint64, key []byte) bool) {
	for c := lo; c < hi; c++ {
		b := r.blocks[c]
		for at := 0; at < len(b); {
			key, _, rest := split(b[at:])
			if !f(uint64(c)<<r.shift|uint64(at), key) {
				return
			}
			at = len(b) - len(rest)
		}
	}
}

// put writes a record to b, which has room for it, and returns its length.
func put(b []byte, key, value []byte) int {
	n := putLengths(b, len(key), len(value))
	n += copy(b[n:], key)
	return n + copy(b[n:], value)
}

// putLengths writes the lengths of a record to b, and returns the bytes that they take.
func putLengths(b []byte, key, value int) int {
	n := binary.PutUvarint(b, uint64(key))
	return n + binary.PutUvarint(b[n:], uint64(value))
}

// load8 is the 8 bytes of a key from byte d on, the first as the highest. Bytes behind the end count
// as 0.
func load8(k []byte, d int) uint64 {
	if len(k) >= d+8 {
		return binary.BigEndian.Uint64(k[d:])
	}
	return load8Slow(k, d)
}

//go:noinline
func load8Slow(k []byte, d int) (v uint64) {
	for i := d; i < d+8; i++ {
		v <<= 8
		if i < len(k) {
			v |= uint64(k[i])
		}
	}
	return v
}

// common is the length of the common prefix of a and b, at most n.
func common(a, b []byte, n int) int {
	n = min(n, len(a), len(b))
	a, b = a[:n], b[:n]
	i := 0
	for ; i+8 <= n; i += 8 {
		if x := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:]); x != 0 {
			return i + bits.TrailingZeros64(x)/8
		}
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}
