// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"math/bits"
	"unicode/utf8"
)

// What the first bits of a character's bytes are, for as many characters of two or three bytes as a word holds.
const (
	twoMask, twoBits     = 0xc0e0c0e0c0e0c0e0, 0x80c080c080c080c0
	threeMask, threeBits = 0x0000c0c0f0c0c0f0, 0x00008080e08080e0
)

// One byte is enough for a character of two if none of the bits of twoMin in its first byte is set: adding twoCarry sets
// a bit of twoHigh otherwise.
const twoMin, twoCarry, twoHigh = 0x001e001e001e001e, 0x7fff7fff7fff7fff, 0x8000800080008000

// valid reports whether b is UTF-8, as utf8.Valid does. That takes a character at a time; this takes as many characters of
// equally many bytes as a word holds, if they follow each other, and texts mostly consist of such runs.
func valid(b []byte) bool {
	i := 0
	for i+8 <= len(b) {
		w := word(b, i)
		switch {
		case w&highs == 0:
			i += 8
		case w&0x80 == 0:
			i += bits.TrailingZeros64(w&highs) >> 3
		case w&twoMask == twoBits && (w&twoMin+twoCarry)&twoHigh == twoHigh:
			i += 8
		case w&threeMask == threeBits && three(w) && three(w>>24):
			i += 6
		case w&0xffff&twoMask == twoBits&0xffff && w&twoMin&0xff != 0:
			i += 2
		case w&0xffffff&threeMask == threeBits&0xffffff && three(w):
			i += 3
		default:
			r, n := utf8.DecodeRune(b[i:])
			if r == utf8.RuneError && n == 1 {
				return false
			}
			i += n
		}
	}
	return utf8.Valid(b[i:])
}

// three reports whether three bytes in the lowest bits of w, whose first bits are right, are a character: one that two
// bytes cannot express, and no surrogate.
func three(w uint64) bool {
	begin, high := w&0xf, w&(0x20<<8) != 0
	return begin != 0 && begin != 0xd || begin == 0 == high
}
