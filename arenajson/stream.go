// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
)

// A stream reads values, one after the other, into a buffer.
type stream struct {
	r      io.Reader
	buf    []byte
	at     int   // What is not read yet begins here.
	offset int64 // Of buf in the stream.
	err    error // Of r, once all that it gave is in buf.
	run    int   // So many bytes from at on are known to be no space, bracket, comma or quote.

	eol    int // Up to here there is no line break in buf, from at on.
	framed int // The values that begin before are found by their brackets and quotes. See line.
	misses int // How many lines in a row were no single value.
	lines  *decoder
}

// firstBuffer is how many bytes a stream asks for at first.
const firstBuffer = 64 << 10

// fill reads more into the buffer. What was read by the caller makes room. It reports whether there is more.
func (s *stream) fill() bool {
	if s.at > 0 {
		s.offset += int64(s.at)
		s.buf = s.buf[:copy(s.buf, s.buf[s.at:])]
		s.eol, s.framed = s.eol-s.at, s.framed-s.at
		s.at = 0
	}
	if len(s.buf) == cap(s.buf) {
		s.buf = append(make([]byte, 0, max(firstBuffer, 2*cap(s.buf))), s.buf...)
	}
	for range 100 {
		if s.err != nil {
			return false
		}
		var n int
		room := s.buf[len(s.buf):cap(s.buf)]
		n, s.err = s.r.Read(room)
		if n < 0 || n > len(room) {
			panic(fmt.Errorf("arenajson: a Read of at most %d bytes returned %d", len(room), n))
		}
		s.buf = s.buf[:len(s.buf)+n]
		if n > 0 {
			return true
		}
	}
	s.err = io.ErrNoProgress
	return false
}

// peek is the next byte that is no white space, or 0 and false at the end.
func (s *stream) peek() (byte, bool) {
	for {
		for ; s.at < len(s.buf); s.at++ {
			switch c := s.buf[s.at]; c {
			case ' ', '\t', '\r', '\n':
			default:
				return c, true
			}
		}
		if !s.fill() {
			return 0, false
		}
	}
}

// mostMisses is after how many lines in a row that are no single value a stream counts as one without lines.
const mostMisses = 16

// line is what is left of the line that the next value begins on, without the blanks and the comma at its end. It is
// empty if the buffer has not all of it: the value may end before the line, and the stream must not wait for more then. The caller has
// peeked. It says whether the line was a value, by took or missed.
//
// To find the end of a line costs little. To find the end of a value costs as much as to decode it.
func (s *stream) line() []byte {
	if s.at < s.framed || s.misses >= mostMisses {
		return nil
	}
	s.eol = max(s.eol, s.at)
	n := bytes.IndexByte(s.buf[s.eol:], '\n')
	if n < 0 {
		s.eol = len(s.buf)
		return nil
	}
	s.eol += n
	end := s.eol
	for end > s.at && (s.buf[end-1] == '\r' || s.buf[end-1] == ' ' || s.buf[end-1] == '\t') {
		end--
	}
	if end > s.at && s.buf[end-1] == ',' {
		end--
	}
	return s.buf[s.at:end]
}

// decoder is the one for lines. It serves all of them, because to take it from a pool for each costs as much as a few members.
func (s *stream) decoder() *decoder {
	if s.lines == nil {
		s.lines = decoders.Get().(*decoder)
	}
	return s.lines
}

// release leaves the decoder to others.
func (s *stream) release() {
	if s.lines != nil {
		decoders.Put(s.lines)
		s.lines = nil
	}
}

// took says that a line was one value.
func (s *stream) took(line []byte) {
	s.at += len(line)
	s.misses, s.run = 0, 0
}

// missed says that it was not.
func (s *stream) missed() {
	s.framed = s.eol
	s.misses++
}

// value is the text of the next value, which is as long as its brackets and quotes say. The caller has peeked. Where
// the stream ends the text may be cut off; an error of the reader's is returned then. The text is valid until the
// stream reads on.
func (s *stream) value() ([]byte, error) {
	f := framer{pos: s.run, bare: s.run > 0}
	s.run = 0
	for {
		if n, ok := f.scan(s.buf[s.at:]); ok {
			text := s.first(s.buf[s.at : s.at+n])
			s.at += len(text)
			return text, nil
		}
		if !s.fill() {
			text := s.first(s.buf[s.at:])
			s.at += len(text)
			if word := string(text); s.err == io.EOF || s.run > 0 || word == "true" || word == "false" || word == "null" {
				return text, nil
			}
			return text, s.err
		}
	}
}

// first is the first value of a text. Numbers and names need no space between them: 1true is two values.
func (s *stream) first(text []byte) []byte {
	switch text[0] {
	case '{', '[', '"':
		return text
	}
	c := scanner{data: text}
	if n := c.skip(0); n > 0 && n < len(text) {
		s.run = len(text) - n
		return text[:n]
	}
	return text
}

// position is how many bytes of the stream were read.
func (s *stream) position() int64 { return s.offset + int64(s.at) }

// failed is the error for a value that is no JSON. text is what was read of it. encoding/json finds the error: where a
// number or a name ends, and whether the stream ends too early, shows in what follows.
func (s *stream) failed(text []byte, o []Options) error {
	r := io.MultiReader(bytes.NewReader(s.buf[s.at-len(text):]), failing{cmp.Or(s.err, io.EOF)})
	from := s.position() - int64(len(text))
	if len(o) == 1 && o[0].V2 {
		return moved(readError(r), from)
	}
	var v json.RawMessage
	return moved(json.NewDecoder(r).Decode(&v), from)
}

// failing is a reader with nothing but an error.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// moved is an error whose offset, if it has one, counts from so many bytes before.
func moved(err error, by int64) error {
	switch e := err.(type) {
	case *json.SyntaxError:
		e2 := *e // encoding/json may return its error again.
		e2.Offset += by
		return &e2
	case *json.UnmarshalTypeError:
		e.Offset += by
	}
	return movedV2(err, by)
}

// framing are the bytes that matter to a framer within brackets and braces.
var framing = [256]bool{'"': true, '{': true, '}': true, '[': true, ']': true}

// A framer finds the end of a value: where as many brackets and braces have closed as have opened, outside of
// strings. It does not check anything else, and goes on where it stopped for lack of input.
type framer struct {
	pos, depth   int
	text, escape bool // Within a string; behind a backslash.
	bare         bool // Within a number, a name, or what is no value, outside of brackets and braces.
}

// scan goes on in b, which begins where the value does, and returns the value's length if b has all of it.
func (f *framer) scan(b []byte) (int, bool) {
	i := f.pos
	for i < len(b) {
		if f.text {
			i = f.scanText(b, i)
			if !f.text && f.depth == 0 {
				return i, true
			}
			continue
		}
		if f.depth > 0 { // What lies between these bytes is for the decoder.
			for !framing[b[i]] {
				if i++; i == len(b) {
					f.pos = i
					return 0, false
				}
			}
		}
		c := b[i]
		if f.bare && bytes.IndexByte([]byte(" \t\r\n,]}[{\""), c) >= 0 {
			if f.bare = false; f.depth == 0 {
				return i, true
			}
		}
		i++
		switch c {
		case '"':
			f.text = true
		case '{', '[':
			f.depth++
		case '}', ']':
			if f.depth--; f.depth <= 0 {
				return i, true
			}
		case ' ', '\t', '\r', '\n', ',', ':':
			if c == ',' && f.depth == 0 { // No value begins so.
				return i, true
			}
		default:
			f.bare = true
		}
	}
	f.pos = i
	return 0, false
}

// scanText goes on in a string.
func (f *framer) scanText(b []byte, i int) int {
	for i < len(b) {
		switch {
		case f.escape:
			f.escape = false
		case b[i] == '\\':
			f.escape = true
		case b[i] == '"':
			f.text = false
			return i + 1
		default:
			if next := plain(b, i); next > i {
				i = next
				continue
			}
		}
		i++ // This byte: a control character is no end.
	}
	return i
}
