// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// Text is read eight bytes at a time. A word holds the first byte in its lowest bits.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// word is the eight bytes of b from i on. The caller has checked that there are as many.
func word(b []byte, i int) uint64 {
	// SAFETY: 0 <= i and i+8 <= len(b).
	return binary.LittleEndian.Uint64(unsafex.As[[8]byte](unsafex.Add(unsafex.DataOf(b), uintptr(i)))[:])
}

// special has the high bit of the first byte of w that is a quote, a backslash or a control character. Bits of
// later bytes may be wrong: a subtraction borrows from the byte above one that it finds. Quotes and control characters are
// the bytes below '!' once the second bit is turned over.
func special(w uint64) uint64 {
	return ((w ^ ones*('"'^' ') - ones*'!') | (w ^ ones*'\\' - ones)) &^ w & highs
}

// A scanner reads a document: what is where, and whether it is JSON. Its methods get the index at which a part of the
// document begins and return the index behind the part, or -1 if scanning cannot go on; err says why then.
type scanner struct {
	data  []byte
	depth int // How many more arrays and objects may begin within each other.

	indents [16]uint8 // How many bytes of white space the last lines had, by depth. See spaces.

	err     error // What ended scanning, or the first error of a value.
	stopped bool
}

// errSyntax stands for the error that encoding/json finds in the input.
var errSyntax = errors.New("arenajson: the input is no JSON")

// errDepth stands for an input that is nested too deeply.
var errDepth = errors.New("arenajson: the input is nested too deeply")

// syntax ends scanning: the input is no JSON.
func (s *scanner) syntax() int { return s.stop(errSyntax) }

// stop ends scanning with an error.
func (s *scanner) stop(err error) int {
	if !s.stopped {
		s.err, s.stopped = err, true
	}
	return -1
}

// peek is the byte at i, or 0 at the end, which is no part of any value.
func (s *scanner) peek(i int) byte {
	if uint(i) < uint(len(s.data)) {
		return s.data[i]
	}
	return 0
}

// space is the index of the first byte from i on that is no white space.
func (s *scanner) space(i int) int {
	if uint(i) < uint(len(s.data)) && s.data[i] > ' ' {
		return i
	}
	return s.spaces(i, 0)
}

// after is space behind a value. White space there mostly leads to the bracket of the array or object around it.
func (s *scanner) after(i int) int {
	if uint(i) < uint(len(s.data)) && s.data[i] > ' ' {
		return i
	}
	return s.spaces(i, 1)
}

// spaces is space for a byte that may be white space, in front of what stands so many
// levels further out. Documents for people have a
// line for each value, and lines of one depth begin with the same number of blanks. To expect that number is faster than
// to count the blanks: the processor reads on behind them before it has compared them.
func (s *scanner) spaces(i, out int) int {
	data, indent := s.data, &s.indents[uint(s.depth+out)%uint(len(s.indents))]
	if n := int(*indent); n > 0 && i+n+8 <= len(data) && data[i+n] > ' ' {
		w := word(data, i) ^ (ones*' ' ^ ' ' ^ '\n')
		if n <= 8 {
			w <<= 64 - 8*n
		} else {
			for at := i + 8; at < i+n-8; at += 8 {
				w |= word(data, at) ^ ones*' '
			}
			w |= word(data, i+n-8) ^ ones*' '
		}
		if w == 0 {
			return i + n
		}
	}
	from := i
	for i < len(data) {
		switch data[i] {
		case ' ', '\n', '\t', '\r':
			i++
		default:
			if n := i - from; n < 1<<8 && data[from] == '\n' {
				*indent = uint8(n)
			}
			return i
		}
		for i+8 <= len(data) {
			w := word(data, i) ^ ones*' '
			i += bits.TrailingZeros64(w) >> 3
			if w != 0 {
				break
			}
		}
	}
	return i
}

// view is b as a string. No code changes b afterwards.
func view(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	return unsafex.StringOf(unsafex.DataOf(b), len(b))
}

// bytesOf is s as bytes, which the caller only reads.
func bytesOf(s string) []byte {
	// SAFETY: nothing is written through the result.
	return unsafex.SliceOf[byte](unsafex.StringData(s), len(s), len(s))
}

// skip is the index behind the value that begins at i, or -1. It checks the value's grammar.
func (s *scanner) skip(i int) int {
	switch c := s.peek(i); c {
	case '"':
		return s.skipText(i + 1)
	case '{':
		return s.skipObject(i)
	case '[':
		return s.skipArray(i)
	case 't':
		return s.word(i, "true")
	case 'f':
		return s.word(i, "false")
	case 'n':
		return s.word(i, "null")
	}
	return s.skipNumber(i)
}

// word is the index behind a literal name, or -1.
func (s *scanner) word(i int, name string) int {
	if len(s.data)-i < len(name) || string(s.data[i:i+len(name)]) != name {
		return s.syntax()
	}
	return i + len(name)
}

func (s *scanner) skipObject(i int) int {
	if i = s.enter(i); i < 0 {
		return i
	}
	if s.peek(i) == '}' {
		return s.leave(i)
	}
	for {
		if s.peek(i) != '"' {
			return s.syntax()
		}
		if i = s.skipText(i + 1); i < 0 {
			return i
		}
		if i = s.colon(i); i < 0 {
			return i
		}
		if i = s.skip(i); i < 0 {
			return i
		}
		i = s.after(i)
		if s.peek(i) != ',' {
			return s.close(i, '}')
		}
		i = s.space(i + 1)
	}
}

func (s *scanner) skipArray(i int) int {
	if i = s.enter(i); i < 0 {
		return i
	}
	if s.peek(i) == ']' {
		return s.leave(i)
	}
	for {
		if i = s.skip(i); i < 0 {
			return i
		}
		i = s.after(i)
		if s.peek(i) != ',' {
			return s.close(i, ']')
		}
		i = s.space(i + 1)
	}
}

// enter is the index of the first byte in the object or array that begins at i, or -1 if it is nested too
// deeply.
func (s *scanner) enter(i int) int {
	if s.depth--; s.depth < 0 {
		return s.stop(errDepth)
	}
	return s.space(i + 1)
}

// close is the index behind the object or array that ends at i with the bracket given, or -1 if something else is there.
func (s *scanner) close(i int, end byte) int {
	if s.peek(i) != end {
		return s.syntax()
	}
	return s.leave(i)
}

// leave is the index behind the object or array that ends at i.
func (s *scanner) leave(i int) int {
	s.depth++
	return i + 1
}

// colon is the index of the value behind a name that ends at i, or -1.
func (s *scanner) colon(i int) int {
	if data := s.data; uint(i)+2 < uint(len(data)) && data[i] == ':' { // With a blank behind it, or without.
		if data[i+1] > ' ' {
			return i + 1
		}
		if data[i+1] == ' ' && data[i+2] > ' ' {
			return i + 2
		}
	}
	return s.colonSlow(i)
}

func (s *scanner) colonSlow(i int) int {
	if i = s.space(i); s.peek(i) != ':' {
		return s.syntax()
	}
	return s.space(i + 1)
}

// plain is the index of the first byte from i on that is a quote, a backslash or a control character.
func plain(data []byte, i int) int {
	for i+8 <= len(data) {
		m := special(word(data, i))
		i += bits.TrailingZeros64(m) >> 3
		if m != 0 {
			return i
		}
	}
	for i < len(data) && data[i] >= ' ' && data[i] != '"' && data[i] != '\\' {
		i++
	}
	return i
}

// skipText is the index behind the string whose first byte is at i, or -1.
func (s *scanner) skipText(i int) int {
	data := s.data
	for {
		i = plain(data, i)
		if i < len(data) && data[i] == '"' {
			return i + 1
		}
		if i = s.skipEscape(i); i < 0 {
			return i
		}
	}
}

// skipEscape is the index behind the escape at i, or -1.
func (s *scanner) skipEscape(i int) int {
	if s.peek(i) != '\\' {
		return s.syntax()
	}
	switch s.peek(i + 1) {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2
	case 'u':
		if hex4(s.data, i+2) >= 0 {
			return i + 6
		}
	}
	return s.syntax()
}

// skipNumber is the index behind the number at i, or -1.
func (s *scanner) skipNumber(i int) int {
	if s.peek(i) == '-' {
		i++
	}
	first := i
	if i = digits(s.data, i); i == first {
		return s.syntax()
	}
	if s.data[first] == '0' { // The number ends here, whatever follows.
		i = first + 1
	}
	c := s.peek(i)
	if c == '.' {
		from := i + 1
		if i = digits(s.data, from); i == from {
			return s.syntax()
		}
		c = s.peek(i)
	}
	if c|0x20 == 'e' {
		i++
		if c := s.peek(i); c == '+' || c == '-' {
			i++
		}
		from := i
		if i = digits(s.data, i); i == from {
			return s.syntax()
		}
	}
	return i
}

// digits is the index of the first byte from i on that is no digit.
func digits(data []byte, i int) int {
	for i+8 <= len(data) {
		w := word(data, i) ^ ones*'0'
		if m := (w&^highs + ones*(0x80-10) | w) & highs; m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
		i += 8
	}
	for uint(i) < uint(len(data)) && data[i]-'0' <= 9 {
		i++
	}
	return i
}

// escaped is what the escape at i means, and the index behind it, or -1. A surrogate without its other half
// means U+FFFD.
func escaped(data []byte, i int) (rune, int) {
	if i+1 >= len(data) {
		return 0, -1
	}
	switch data[i+1] {
	case '"', '\\', '/':
		return rune(data[i+1]), i + 2
	case 'b':
		return '\b', i + 2
	case 'f':
		return '\f', i + 2
	case 'n':
		return '\n', i + 2
	case 'r':
		return '\r', i + 2
	case 't':
		return '\t', i + 2
	case 'u':
		r := hex4(data, i+2)
		if r < 0 {
			return 0, -1
		}
		if !utf16.IsSurrogate(r) {
			return r, i + 6
		}
		if i+7 < len(data) && data[i+6] == '\\' && data[i+7] == 'u' {
			if both := utf16.DecodeRune(r, hex4(data, i+8)); both != utf8.RuneError {
				return both, i + 12
			}
		}
		return utf8.RuneError, i + 6
	}
	return 0, -1
}

// hex4 is the number that the four hexadecimal digits from i on are, or a negative number.
func hex4(data []byte, i int) rune {
	if len(data)-i < 4 {
		return -1
	}
	b := data[i : i+4]
	return rune(hexDigits[b[0]])<<12 | rune(hexDigits[b[1]])<<8 | rune(hexDigits[b[2]])<<4 | rune(hexDigits[b[3]])
}

// hexDigits are what bytes mean as hexadecimal digits, or -1.
var hexDigits = func() (t [256]int8) {
	for i := range t {
		t[i] = -1
	}
	for i, c := range []byte("0123456789abcdef") {
		t[c] = int8(i)
		t[bytes.ToUpper([]byte{c})[0]] = int8(i)
	}
	return t
}()
