// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"math/rand/v2"
)

// A hasher makes the hashes of one Map its own, so that an attacker who chooses keys does not know
// which of them collide.
type hasher struct{ add, mul uint64 }

// hashSeed is that of the package maphash.
var hashSeed = maphash.MakeSeed()

func (h *hasher) init() { h.add, h.mul = rand.Uint64(), rand.Uint64()|1 }

// comparableHash hashes a key of any type, as Go says.
func comparableHash[K comparable](h *hasher, key K) uint64 {
	return h.word(maphash.Comparable(hashSeed, key))
}

// word mixes a word. Both halves of one product, as wyhash does it, are not enough: of keys in a
// row it makes an arithmetic progression, and the step of one Map in a hundred is so near to a
// simple fraction that its keys pile up in a few places. The second product breaks the progression
// up.
func (h *hasher) word(x uint64) uint64 {
	hi, lo := bits.Mul64(x^h.add, h.mul)
	return (hi ^ lo) * golden
}

// longKey is from how many bytes on the package maphash, which has the processor's own instructions,
// is faster than bytes.
const longKey = 64

// bytes is wyhash, as the Go runtime has it for processors without instructions for AES. A call of
// maphash takes as long as all of it for short keys.
func (h *hasher) bytes(b []byte) uint64 {
	n := len(b)
	seed := h.add
	var x, y uint64
	switch {
	case n > 16:
		if n >= longKey {
			x = maphash.Bytes(hashSeed, b)
			break
		}
		for rest := b; len(rest) > 16; rest = rest[16:] {
			seed = mix(binary.LittleEndian.Uint64(rest)^h.mul, binary.LittleEndian.Uint64(rest[8:])^seed)
		}
		x, y = binary.LittleEndian.Uint64(b[n-16:]), binary.LittleEndian.Uint64(b[n-8:])
	case n >= 8:
		x, y = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[n-8:])
	case n >= 4:
		x, y = uint64(binary.LittleEndian.Uint32(b)), uint64(binary.LittleEndian.Uint32(b[n-4:]))
	case n > 0:
		x = uint64(b[0])<<16 | uint64(b[n>>1])<<8 | uint64(b[n-1])
	}
	return mix(golden^uint64(n), mix(x^h.mul, y^seed))
}

func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}
