// SPDX-License-Identifier: Apache-2.0

// Package number reads the numbers of JSON.
//
// The sink has no other reader of them, so that a number means the same in a partition and in a column. A result is exact, or it is refused. The only rounding is that of Float, for columns whose type is a floating point number. An integer may be written
// with a point or an exponent: 1e3 and 1000.0 are 1000. The cost follows the length of the text and not the exponent: 1e1000000000 is never expanded.
//
// The functions take texts that follow the grammar of JSON. They also take zeros in front, which JSON does not have.
package number

import (
	"math"
	"strconv"
)

// Int is the number if it is an integer that fits.
func Int(s string) (int64, bool) {
	if n, ok := plain(s); ok {
		return n, true
	}
	return intSlow(s)
}

// plain reads an integer of at most 18 digits without a point and an exponent. Most numbers are written so.
func plain(s string) (n int64, ok bool) {
	digits := s
	if len(s) > 0 && s[0] == '-' {
		digits = s[1:]
	}
	if uint(len(digits)-1) >= 18 {
		return 0, false
	}
	for i := range len(digits) {
		c := digits[i] - '0'
		if c > 9 {
			return 0, false
		}
		n = n*10 + int64(c)
	}
	if len(digits) < len(s) {
		n = -n
	}
	return n, true
}

func intSlow(s string) (int64, bool) {
	p, ok := split(s)
	if !ok {
		return 0, false
	}
	n, fraction, ok := p.whole(0)
	if !ok || fraction {
		return 0, false
	}
	return signed(n, p.neg)
}

// signed is n with a sign, if it fits.
func signed(n uint64, neg bool) (int64, bool) {
	if neg {
		return -int64(n), n <= 1<<63
	}
	return int64(n), n < 1<<63
}

// Floor is the number times ten to the power of shift, rounded down. A number that does not fit is the smallest or the largest int64: as a time both are out of
// any range. Not ok means that the text is no number.
func Floor(s string, shift int) (n int64, ok bool) {
	if n, ok := plain(s); ok && (shift == 0 || shift == 3 && -1e15 < n && n < 1e15) {
		if shift == 3 {
			n *= 1000
		}
		return n, true
	}
	p, ok := split(s)
	if !ok {
		return 0, false
	}
	u, fraction, fits := p.whole(int64(shift))
	if fits {
		n, fits = signed(u, p.neg)
	}
	switch {
	case !fits && p.neg, fraction && p.neg && n == math.MinInt64:
		return math.MinInt64, true
	case !fits:
		return math.MaxInt64, true
	case fraction && p.neg:
		n--
	}
	return n, true
}

// Float is the nearest float64, or the nearest float32 if bits is 32. A number beyond the largest one is not ok.
func Float(s string, bits int) (float64, bool) {
	if len(s) > 1000 {
		return floatSlow(s, bits)
	}
	f, err := strconv.ParseFloat(s, bits)
	return f, err == nil
}

// floatSlow is Float for long texts. ParseFloat takes exponents beyond 10,000 as 10,000, which is wrong if thousands of zeros make up for them.
func floatSlow(s string, bits int) (float64, bool) {
	p, ok := split(s)
	if !ok {
		return 0, false
	}
	short := make([]byte, 0, p.count+32)
	if p.neg {
		short = append(short, '-')
	}
	short = p.append(append(short, "0."...))
	short = strconv.AppendInt(append(short, "0e"...), max(-5000, min(p.point, 5000)), 10)
	f, err := strconv.ParseFloat(string(short), bits)
	return f, err == nil
}

// Kept is the nearest float64, if it keeps the number: printed with as many digits as the number has, it is the number. This takes every number of at most 15
// digits that is neither tiny nor huge, and those of 16 and 17 digits that a program printed from a float64.
func Kept(s string) (f float64, ok bool) {
	p, ok := split(s)
	if !ok || p.count > 17 {
		return 0, false
	}
	if f, ok = Float(s, 64); !ok || p.count == 0 {
		return f, ok
	}
	if p.count <= 15 && -290 < p.point && p.point < 300 {
		return f, true
	}
	var text, digits, want [32]byte
	printed := strconv.AppendFloat(text[:0], f, 'e', p.count-1, 64)
	q, ok := split(string(printed))
	return f, ok && q.point == p.point && string(q.append(digits[:0])) == string(p.append(want[:0]))
}

// Decimal is the number in its shortest form, 123e-2, if a decimal of so many digits, scale of them behind the point, holds it exactly.
func Decimal(s string, precision, scale int) (short string, ok bool) {
	p, ok := split(s)
	whole := p.point + int64(scale) // The digits of the number times ten to the power of scale.
	switch {
	case !ok:
		return "", false
	case p.count == 0:
		return "0", true
	case int64(p.count) > whole || whole > int64(precision):
		return "", false
	}
	dst := make([]byte, 0, p.count+24)
	if p.neg {
		dst = append(dst, '-')
	}
	dst = append(p.append(dst), 'e')
	return string(strconv.AppendInt(dst, p.point-int64(p.count), 10)), true
}

// Quoted reports whether a string of a message's JSON has a number: Protocol Buffers write integers of 64 bits between quotes, and also the floating point numbers that
// JSON does not have. Float reads those, too.
func Quoted(s string) bool {
	_, ok := split(s)
	return ok || s == "NaN" || s == "Infinity" || s == "-Infinity"
}

// parts are a number as it is written: ±0.digits × 10^point.
type parts struct {
	neg    bool
	digits string // From the first to the last digit that is not zero, perhaps with the point among them.
	count  int    // Of the digits. Zero has none.
	point  int64
}

// farthest bounds exponents. No text is long enough to make up for one that is larger.
const farthest = 1 << 50

// split reads a text.
func split(s string) (p parts, ok bool) {
	begin := 0
	if len(s) > 0 && s[0] == '-' {
		p.neg, begin = true, 1
	}
	i, dot, first, last := begin, -1, -1, -1
	for ; i < len(s); i++ {
		c := s[i]
		if c == '.' && dot < 0 && i > begin {
			dot = i
			continue
		}
		if c-'0' > 9 {
			break
		}
		if c != '0' {
			if last = i; first < 0 {
				first = i
			}
		}
	}
	if i == begin || dot == i-1 {
		return p, false
	}
	if dot < 0 {
		dot = i
	}
	if i < len(s) {
		if p.point, ok = exponent(s[i:]); !ok {
			return p, false
		}
	}
	if first < 0 {
		p.point = 0
		return p, true
	}
	p.digits, p.count = s[first:last+1], last+1-first
	if first < dot {
		p.point += int64(dot - first)
		if dot < last {
			p.count--
		}
	} else {
		p.point += int64(dot + 1 - first)
	}
	return p, true
}

// exponent reads an exponent with its letter. One that is too large to matter is the farthest.
func exponent(s string) (e int64, ok bool) {
	if s[0]|0x20 != 'e' {
		return 0, false
	}
	s = s[1:]
	neg := false
	if len(s) > 0 && (s[0] == '-' || s[0] == '+') {
		neg, s = s[0] == '-', s[1:]
	}
	for i := range len(s) {
		c := s[i] - '0'
		if c > 9 {
			return 0, false
		}
		e = min(e*10+int64(c), farthest)
	}
	if neg {
		e = -e
	}
	return e, len(s) > 0
}

// whole is the amount of the number times ten to the power of shift without its fraction, and whether it has one. It does not fit if it has more than 19 digits.
func (p *parts) whole(shift int64) (n uint64, fraction, fits bool) {
	point := p.point + shift
	switch {
	case p.count == 0:
		return 0, false, true
	case point <= 0:
		return 0, true, true
	case point > 19:
		return 0, false, false
	}
	left := int(point)
	for i := 0; i < len(p.digits) && left > 0; i++ {
		if c := p.digits[i]; c != '.' {
			n = n*10 + uint64(c-'0')
			left--
		}
	}
	for ; left > 0; left-- {
		n *= 10
	}
	return n, int64(p.count) > point, true
}

// append appends the digits without the point.
func (p *parts) append(dst []byte) []byte {
	for i := range len(p.digits) {
		if c := p.digits[i]; c != '.' {
			dst = append(dst, c)
		}
	}
	return dst
}
