// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"math"
	"math/bits"
	"strconv"
)

// integer is the number at i without its sign, whether it has one, and the index behind it. The index is 0 if
// the number is no integer of at most 18 digits: encoding/json's rules decide then.
func (s *scanner) integer(i int) (v uint64, neg bool, next int) {
	data := s.data
	if uint(i) < uint(len(data)) && data[i] == '-' {
		neg = true
		i++
	}
	at := i
	if at+8 <= len(data) { // Times and identities are long.
		if w := word(data, at); eightDigits(w) {
			v = eightValue(w)
			at += 8
		}
	}
	for uint(at) < uint(len(data)) {
		c := data[at] - '0'
		if c > 9 {
			break
		}
		v = v*10 + uint64(c)
		at++
	}
	if n := at - i; uint(n-1) >= 18 || data[i] == '0' && n > 1 {
		return 0, false, 0
	}
	if c := s.peek(at); c == '.' || c|0x20 == 'e' {
		return 0, false, 0
	}
	return v, neg, at
}

// A decimal is a number as it is written: ±digits × 10^exp.
type decimal struct {
	digits uint64
	exp    int
	neg    bool
	more   bool // There are more digits than fit.
	next   int  // The index behind it, or -1.
}

// decimal reads the number at i.
func (s *scanner) decimal(i int) decimal {
	n := decimal{next: -1}
	if s.peek(i) == '-' {
		n.neg = true
		i++
	}
	start := i
	n.digits, i = addDigits(s.data, i, 0)
	if i == start || s.data[start] == '0' && i > start+1 {
		return n
	}
	count := i - start // Digits, with the zeros in front.
	if s.peek(i) == '.' {
		from := i + 1
		if n.digits, i = addDigits(s.data, from, n.digits); i == from {
			return n
		}
		n.exp = from - i
		count += i - from
	}
	if count > 19 {
		n.more = leading(s.data[start:i], count)
	}
	if s.peek(i)|0x20 == 'e' {
		var ok bool
		if i, ok = n.readExp(s, i+1); !ok {
			return n
		}
	}
	n.next = i
	return n
}

// addDigits is v with the digits from i on behind its own, and the index behind them.
func addDigits(data []byte, i int, v uint64) (uint64, int) {
	for i+8 <= len(data) {
		w := word(data, i)
		if !eightDigits(w) {
			break
		}
		v = v*1e8 + eightValue(w)
		i += 8
	}
	for uint(i) < uint(len(data)) {
		c := data[i] - '0'
		if c > 9 {
			break
		}
		v = v*10 + uint64(c)
		i++
	}
	return v, i
}

// eightDigits reports whether all bytes of w are digits.
func eightDigits(w uint64) bool {
	return (w&(ones*0xf0))|((w+ones*0x06)&(ones*0xf0))>>4 == ones*0x33
}

// eightValue is the number that eight digits are, the first of them in the lowest byte.
func eightValue(w uint64) uint64 {
	w -= ones * '0'
	w = w*10 + w>>8 // Pairs of digits, in every other byte.
	const pairs = 0x000000ff000000ff
	return ((w&pairs)*(100+1000000<<32) + (w>>16&pairs)*(1+10000<<32)) >> 32
}

// leading reports whether a number of so many digits has more than 19 behind its leading zeros.
func leading(text []byte, count int) bool {
	for _, c := range text {
		if c == '0' {
			count--
		} else if c != '.' {
			break
		}
	}
	return count > 19
}

// readExp adds the exponent whose sign or first digit is at i, and returns the index behind it.
func (n *decimal) readExp(s *scanner, i int) (int, bool) {
	neg := s.peek(i) == '-'
	if neg || s.peek(i) == '+' {
		i++
	}
	from, e := i, 0
	for s.peek(i)-'0' <= 9 {
		if e < 1<<20 { // Far beyond what a number can have.
			e = e*10 + int(s.peek(i)-'0')
		}
		i++
	}
	if neg {
		e = -e
	}
	n.exp += e
	return i, i > from
}

// float is the number at i, the index behind it, and whether it is in range. The index is -1 if it is no
// number.
func (s *scanner) float(i int) (f float64, next int, ok bool) {
	data, start := s.data, i
	neg := s.peek(i) == '-'
	if neg {
		start++
	}
	at := start
	var v uint64
	for ; uint(at) < uint(len(data)) && data[at]-'0' <= 9; at++ { // Mostly few.
		v = v*10 + uint64(data[at]-'0')
	}
	count, exp := at-start, 0
	if count == 0 || data[start] == '0' && count > 1 {
		return 0, -1, false
	}
	if s.peek(at) == '.' {
		from := at + 1
		if v, at = addDigits(data, from, v); at == from {
			return 0, -1, false
		}
		exp = from - at
		count += at - from
	}
	if count > 19 && leading(data[start:at], count) || s.peek(at)|0x20 == 'e' {
		return s.floatSlow(i)
	}
	if v < 1<<53 && exp > -len(powers10) {
		f = float64(v) / powers10[-exp] // As in exact.
		if neg {
			f = -f
		}
		return f, at, true
	}
	n := decimal{digits: v, exp: exp, neg: neg}
	if f, ok = n.rounded(); ok {
		return f, at, true
	}
	return s.floatSlow(i)
}

// floatSlow is float for numbers with an exponent or more than 19 digits, and for those that lie close to the
// middle of two floats.
func (s *scanner) floatSlow(i int) (f float64, next int, ok bool) {
	n := s.decimal(i)
	if n.next < 0 {
		return 0, -1, false
	}
	if !n.more {
		if f, ok = n.exact(); ok {
			return f, n.next, true
		}
		if f, ok = n.rounded(); ok {
			return f, n.next, true
		}
	}
	f, err := strconv.ParseFloat(view(s.data[i:n.next]), 64)
	return f, n.next, err == nil
}

// powers10 are the powers of ten that a float64 holds exactly.
var powers10 = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// exact is n if one multiplication or division of numbers without rounding errors gives it: its result is
// rounded once (Clinger, "How to read floating point numbers accurately", 1990).
func (n *decimal) exact() (float64, bool) {
	if n.digits >= 1<<53 {
		return 0, false
	}
	f := float64(n.digits)
	if n.neg {
		f = -f
	}
	switch {
	case n.exp == 0:
		return f, true
	case n.exp > 0 && n.exp < len(powers10):
		return f * powers10[n.exp], true
	case n.exp < 0 && -n.exp < len(powers10):
		return f / powers10[-n.exp], true
	}
	return 0, false
}

// rounded is n by the method of Eisel and Lemire, or false in the rare cases that it does not decide: the
// number lies too close to the middle of two float64, or it is subnormal or out of range. See Lemire, "Number
// parsing at a gigabyte per second", Software: Practice and Experience 51 (2021), section 5.
func (n *decimal) rounded() (float64, bool) {
	const bias = 1023
	if n.digits == 0 {
		if n.neg {
			return math.Copysign(0, -1), true
		}
		return 0, true
	}
	if n.exp < minPower || n.exp > maxPower {
		return 0, false
	}
	power := &powers[n.exp-minPower]
	shift := bits.LeadingZeros64(n.digits)
	digits := n.digits << shift
	// 217706 / 2^16 is the binary logarithm of 10; exact enough for all exponents of the table.
	exp2 := (217706*n.exp)>>16 + 64 + bias - shift
	hi, lo := bits.Mul64(digits, power.hi)
	if hi&0x1ff == 0x1ff && lo+digits < lo { // The lower half of the power may change the bits that count.
		moreHi, moreLo := bits.Mul64(digits, power.lo)
		var carry uint64
		if lo, carry = bits.Add64(lo, moreHi, 0); carry != 0 {
			hi++
		}
		if hi&0x1ff == 0x1ff && lo+1 == 0 && moreLo+digits < moreLo {
			return 0, false
		}
	}
	top := int(hi >> 63)
	mant := hi >> (top + 9) // 54 bits: one more than fit.
	exp2 += top - 1
	if lo == 0 && hi&0x1ff == 0 && mant&3 == 1 {
		return 0, false
	}
	mant += mant & 1
	mant >>= 1
	if mant>>53 != 0 {
		mant >>= 1
		exp2++
	}
	if exp2 < 1 || exp2 > 2046 {
		return 0, false
	}
	f := math.Float64frombits(uint64(exp2)<<52 | mant&(1<<52-1))
	if n.neg {
		f = -f
	}
	return f, true
}

// exact32 is n, whose digits and power of ten a float32 holds exactly.
func (n *decimal) exact32() float32 {
	f := float32(n.digits)
	if n.exp < 0 {
		f /= float32(powers10[-n.exp])
	} else {
		f *= float32(powers10[n.exp])
	}
	if n.neg {
		f = -f
	}
	return f
}
