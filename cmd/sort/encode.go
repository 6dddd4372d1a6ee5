// SPDX-License-Identifier: Apache-2.0

package sort

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"
)

// ignored is a character in a table that does not count.
const ignored = math.MaxUint16

// prepare chooses the layout and makes the tables of keys. The keys must be complete.
func (o *order) prepare() {
	switch {
	case len(o.keys) == 0 && !o.reverse:
		o.layout = lineIsKey
	case len(o.keys) > 0 && (o.stable || o.unique):
		o.layout = lineIsValue
	default:
		o.layout = lineInKey
	}
	o.tables = make([]*[256]uint16, len(o.keys))
	for i := range o.keys {
		if k := &o.keys[i]; k.dictionary || k.printing || k.fold {
			o.tables[i] = k.table()
		}
	}
}

func (l *letters) table() *[256]uint16 {
	t := new([256]uint16)
	for i := range t {
		c := byte(i)
		letter := 'A' <= upper(c) && upper(c) <= 'Z'
		switch {
		case l.dictionary && !letter && !isDigit(c) && !isBlank(c), l.printing && (c < ' ' || c > '~'):
			t[i] = ignored
		case l.fold:
			t[i] = uint16(upper(c))
		default:
			t[i] = uint16(c)
		}
	}
	return t
}

// appendKey appends the key of a line: that of each option, and the line itself if whole lines are
// to be compared, too.
func (o *order) appendKey(dst, line []byte) []byte {
	dst = o.appendOptions(dst, line)
	if o.layout != lineInKey {
		if o.layout == lineIsKey {
			dst = append(dst, line...)
		}
		return dst
	}
	return o.appendLast(dst, line)
}

// record appends what a record of the line holds to scratch, which it returns for the next call. If
// whole lines are not compared, the number of the line's block says which of two lines with equal
// keys came first: it ends the key if both stay, and begins the value if only the first one stays.
func (o *order) record(scratch, line []byte, block uint32) (key, value, grown []byte) {
	if o.layout == lineIsKey {
		return line, nil, scratch
	}
	scratch = o.appendOptions(scratch[:0], line)
	end := len(scratch)
	switch {
	case o.layout == lineInKey:
		scratch = o.appendLast(scratch, line)
		n := end
		if end = len(scratch); n > 0 {
			scratch = binary.AppendUvarint(scratch, uint64(n))
		}
	case o.unique:
		scratch = append(binary.BigEndian.AppendUint32(scratch, block), line...)
	default:
		scratch = binary.BigEndian.AppendUint32(scratch, block)
		return scratch, line, scratch
	}
	return scratch[:end], scratch[end:], scratch
}

// keepFirst appends that of two values of equal keys that came first.
func (o *order) keepFirst(dst, a, b []byte) []byte {
	if o.layout == lineIsValue && bytes.Compare(b[:4], a[:4]) < 0 {
		a = b
	}
	return append(dst, a...)
}

// line returns the line of a record. A line that has to be decoded is appended to scratch, which is
// returned for the next call.
func (o *order) line(key, value, scratch []byte) (line, grown []byte) {
	switch {
	case o.layout == lineIsKey:
		return key, scratch
	case o.layout == lineIsValue && o.unique:
		return value[4:], scratch
	case o.layout == lineIsValue:
		return value, scratch
	case len(value) > 0:
		n, _ := binary.Uvarint(value)
		key = key[n:]
	}
	if !o.reverse {
		return key, scratch
	}
	scratch = scratch[:0]
	for i := 0; i < len(key)-2; i++ {
		c := ^key[i]
		if scratch = append(scratch, c); c == 0 {
			i++
		}
	}
	return scratch, scratch
}

// appendLast appends the line for the comparison of whole lines. In reverse order each byte is
// complemented. Then the end must be the largest, because a line comes behind longer ones that begin
// alike: the end is FF FF, and a NUL, whose complement is FF, is FF 00.
func (o *order) appendLast(dst, line []byte) []byte {
	if !o.reverse {
		return append(dst, line...)
	}
	for len(line) > 0 {
		n := bytes.IndexByte(line, 0)
		if n < 0 {
			n = len(line)
		}
		at := len(dst)
		dst = append(dst, line[:n]...)
		complement(dst[at:])
		if line = line[n:]; len(line) > 0 {
			dst, line = append(dst, 0xff, 0), line[1:]
		}
	}
	return append(dst, 0xff, 0xff)
}

func complement(b []byte) {
	for len(b) >= 8 {
		binary.LittleEndian.PutUint64(b, ^binary.LittleEndian.Uint64(b))
		b = b[8:]
	}
	for i := range b {
		b[i] = ^b[i]
	}
}

// appendOptions appends the keys of the options. None is the start of another of the same option, so
// that they can stand one behind the other, and be complemented for the reverse order.
func (o *order) appendOptions(dst, line []byte) []byte {
	for i := range o.keys {
		k := &o.keys[i]
		n := len(dst)
		if k.path != nil {
			dst = o.appendJSON(dst, line, i)
		} else {
			dst = o.appendPart(dst, o.part(line, k), i)
		}
		if k.reverse {
			complement(dst[n:])
		}
	}
	return dst
}

// appendJSON appends the key that option i makes of a field of the line, or 0 if the line has no
// such field.
func (o *order) appendJSON(dst, line []byte, i int) []byte {
	value, ok := jsonField(line, o.keys[i].path)
	if !ok {
		return append(dst, 0)
	}
	if value[0] == '"' {
		value = jsonText(value)
	}
	return o.appendPart(append(dst, 1), value, i)
}

// appendPart appends the key that option i makes of a part of the line.
func (o *order) appendPart(dst, part []byte, i int) []byte {
	switch k := &o.keys[i]; {
	case k.numeric:
		n := readNumber(part, k.path != nil)
		return n.append(dst)
	case k.human:
		n := readNumber(part, false)
		if k.fold {
			n.unit = upper(n.unit)
		}
		return n.append(append(dst, byte(0x80+n.magnitude())))
	case k.month:
		return append(dst, month(part))
	}
	return appendText(dst, part, o.tables[i])
}

// appendText appends text that ends with 0. The bytes 0 and 1 are written as 1 1 and 1 2.
func appendText(dst, text []byte, table *[256]uint16) []byte {
	if table == nil {
		n := 0
		for n < len(text) && text[n] > 1 {
			n++
		}
		dst, text = append(dst, text[:n]...), text[n:]
	}
	for _, c := range text {
		if table != nil {
			v := table[c]
			if v == ignored {
				continue
			}
			c = byte(v)
		}
		if c < 2 {
			dst = append(dst, 1)
			c++
		}
		dst = append(dst, c)
	}
	return append(dst, 0)
}

// A number is a decimal number as -n reads it: blanks, a minus sign, digits, a point, digits.
// Without a digit it is 0.
type number struct {
	negative    bool
	whole, part []byte // the digits before and behind the point, without zeros that mean nothing
	exponent    int    // the number is 0.(digits) times 10 to the power of exponent
	unit        byte   // the character behind the number, or 0
}

// readNumber reads the number at the start of text. A number in JSON may have an exponent.
func readNumber(text []byte, json bool) (n number) {
	text = text[skipBlanks(text, 0):]
	if len(text) > 0 && text[0] == '-' {
		n.negative, text = true, text[1:]
	}
	n.whole, text = leadingDigits(text)
	if len(text) > 0 && text[0] == '.' {
		n.part, text = leadingDigits(text[1:])
	}
	if len(text) > 0 {
		n.unit = text[0]
	}
	n.whole = bytes.TrimLeft(n.whole, "0")
	n.exponent = len(n.whole)
	n.part = bytes.TrimRight(n.part, "0")
	if len(n.whole) == 0 {
		digits := len(n.part)
		n.part = bytes.TrimLeft(n.part, "0")
		n.exponent = len(n.part) - digits
	}
	if len(n.part) == 0 {
		n.whole = bytes.TrimRight(n.whole, "0")
	}
	if json && (n.unit == 'e' || n.unit == 'E') {
		n.exponent += readExponent(text[1:])
	}
	return n
}

func leadingDigits(text []byte) (digits, rest []byte) {
	i := 0
	for i < len(text) && isDigit(text[i]) {
		i++
	}
	return text[:i], text[i:]
}

// readExponent reads what stands behind the E of a number. An exponent of more than nine digits is
// as one of nine.
func readExponent(text []byte) int {
	negative := len(text) > 0 && text[0] == '-'
	if negative || len(text) > 0 && text[0] == '+' {
		text = text[1:]
	}
	digits, _ := leadingDigits(text)
	digits = bytes.TrimLeft(digits, "0")
	e := 0
	for i, d := range digits {
		if e = 10*e + int(d-'0'); i == 9 {
			e = 999999999
			break
		}
	}
	if negative {
		return -e
	}
	return e
}

func (n *number) isZero() bool { return len(n.whole) == 0 && len(n.part) == 0 }

// magnitude is the power of 1024, or of 1000, that the unit behind the number stands for. That of a
// negative number is negative, that of 0 is 0.
func (n *number) magnitude() int {
	m := strings.IndexByte("KMGTPEZYRQ", n.unit) + 1
	if n.unit == 'k' {
		m = 1
	}
	if n.isZero() {
		m = 0
	}
	if n.negative {
		m = -m
	}
	return m
}

// The first byte of the key of a positive number says how large its exponent is. The exponents that
// have a byte of their own begin at firstExponent. Behind the first byte come the digits, two to a
// byte, from 1 to 100, and 0. The key of a negative number is the complement.
const (
	zero          = 0x80
	smallExponent = 0x81 // four bytes with the exponent follow
	firstExponent = -16
	lastExponent  = 0xff - 1 - 0x82 + firstExponent
	largeExponent = 0xff // likewise
)

func (n *number) append(dst []byte) []byte {
	if n.isZero() {
		return append(dst, zero)
	}
	at := len(dst)
	switch {
	case n.exponent < firstExponent:
		dst = binary.BigEndian.AppendUint32(append(dst, smallExponent), uint32(n.exponent)+1<<31)
	case n.exponent > lastExponent:
		dst = binary.BigEndian.AppendUint32(append(dst, largeExponent), uint32(n.exponent))
	default:
		dst = append(dst, byte(0x82+n.exponent-firstExponent))
	}
	dst, odd := appendPairs(dst, n.whole, false)
	dst, _ = appendPairs(dst, n.part, odd)
	dst = append(dst, 0)
	if n.negative {
		complement(dst[at:])
	}
	return dst
}

// appendPairs appends digits, two to a byte. If odd, the last byte of dst has only one digit, and
// takes another one; odd is returned for the next digits. A single digit has a 0 behind it.
func appendPairs(dst, digits []byte, odd bool) ([]byte, bool) {
	for _, d := range digits {
		if odd {
			dst[len(dst)-1] += d - '0'
		} else {
			dst = append(dst, 10*(d-'0')+1)
		}
		odd = !odd
	}
	return dst, odd
}

// month returns the number of the month whose first three letters text begins with, or 0.
func month(text []byte) byte {
	text = text[skipBlanks(text, 0):]
	if len(text) < 3 {
		return 0
	}
	const names = "JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC"
	name := string([]byte{upper(text[0]), upper(text[1]), upper(text[2])})
	if at := strings.Index(names, name); at%3 == 0 {
		return byte(at/3 + 1)
	}
	return 0
}

func upper(c byte) byte {
	if 'a' <= c && c <= 'z' {
		c -= 'a' - 'A'
	}
	return c
}
