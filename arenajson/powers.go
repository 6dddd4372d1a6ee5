// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"math/bits"
	"sync"
)

// The exponents of ten whose powers, times a number of up to 19 digits, can be a float64 that is not
// subnormal.
const (
	minPower = -348
	maxPower = 347
)

// A power is the first 128 bits of a power of ten, rounded down. Its highest bit is 1.
type power struct{ hi, lo uint64 }

// powers are those from minPower to maxPower. needPowers makes them.
var powers [maxPower - minPower + 1]power

// needPowers makes the powers. They take some 50 µs, which only programs with floats pay.
var needPowers = sync.OnceFunc(func() {
	up := make(big, 1, 13) // 10^q has the bits of 5^q.
	up[0] = 1
	for q := 0; q <= maxPower; q++ {
		powers[q-minPower] = up.top()
		up = up.times5()
	}
	// 2^1152 has enough bits that 128 are left at the end; to divide and round down again and again is to
	// divide by the power and to round down.
	down := make(big, 19)
	down[18] = 1
	for q := -1; q >= minPower; q-- {
		down = down.by5()
		powers[q-minPower] = down.top()
	}
})

// A big is a number, its lowest 64 bits first.
type big []uint64

func (b big) times5() big {
	var carry uint64
	for i, w := range b {
		hi, lo := bits.Mul64(w, 5)
		lo, c := bits.Add64(lo, carry, 0)
		b[i], carry = lo, hi+c
	}
	if carry != 0 {
		b = append(b, carry)
	}
	return b
}

func (b big) by5() big {
	var rest uint64
	for i := len(b) - 1; i >= 0; i-- {
		b[i], rest = bits.Div64(rest, b[i], 5)
	}
	for b[len(b)-1] == 0 {
		b = b[:len(b)-1]
	}
	return b
}

// top is the highest 128 bits, the first of them 1.
func (b big) top() power {
	word := func(i int) uint64 {
		if i = len(b) - 1 - i; i < 0 {
			return 0
		}
		return b[i]
	}
	shift := bits.LeadingZeros64(b[len(b)-1])
	return power{
		hi: word(0)<<shift | word(1)>>(64-shift),
		lo: word(1)<<shift | word(2)>>(64-shift),
	}
}
