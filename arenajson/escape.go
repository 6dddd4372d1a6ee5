// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// text is the string whose first byte is at i, and the index behind its closing quote, or -1.
func (d *decoder) text(i int) (string, int) {
	data, at := d.data, i
	var high uint64
	for at+8 <= len(data) {
		w := word(data, at)
		m := special(w)
		if m == 0 {
			high |= w
			at += 8
			continue
		}
		n := bits.TrailingZeros64(m)
		high |= w & (1<<n - 1)
		at += n >> 3
		if data[at] != '"' || high&highs != 0 && !utf8.Valid(data[i:at]) {
			break
		}
		return view(data[i:at]), at + 1
	}
	return d.textSlow(i, at)
}

// textSlow is text for a string with escapes or invalid UTF-8, or near the end. Up to at there is no
// escape, no quote and no control character.
//
//go:noinline
func (d *decoder) textSlow(i, at int) (string, int) {
	data := d.data
	at = plain(data, at)
	if at < len(data) && data[at] == '"' && utf8.Valid(data[i:at]) {
		return view(data[i:at]), at + 1
	}
	out, next := d.unescape(i)
	return view(out), next
}

// unescape is the string whose first byte is at i, without its escapes, and the index behind its closing
// quote, or -1. In the decoder's own copy of the input it writes the result over the string: no escape is
// shorter than what it means. An invalid byte is: it becomes the three bytes of U+FFFD, as it does in
// encoding/json. A string with one gets memory of its own, as do all strings of an input that is not copied.
func (d *decoder) unescape(i int) ([]byte, int) {
	data, at := d.data, i
	var out []byte
	over := d.own // out is the part of data in front of at.
	if over {
		out = data[i:i]
	} else if out = d.apart(nil, at); out == nil {
		return nil, -1
	}
	for at < len(data) {
		if at+8 <= len(data) && len(out)+8 <= cap(out) {
			if w := word(data, at); (special(w)|w)&highs == 0 {
				out = out[:len(out)+8]
				putWord(out, len(out)-8, w)
				at += 8
				continue
			}
		}
		switch c := data[at]; {
		case c == '"':
			return out, at + 1
		case c == '\\':
			r, next := escaped(data, at)
			if next < 0 {
				return nil, d.syntax()
			}
			out, at = utf8.AppendRune(out, r), next
		case c < ' ':
			return nil, d.syntax()
		case c < utf8.RuneSelf:
			out = append(out, c)
			at++
		default:
			r, size := utf8.DecodeRune(data[at:])
			if over && r == utf8.RuneError && size == 1 {
				if out = d.apart(out, at); out == nil {
					return nil, -1
				}
				over = false
			}
			out, at = utf8.AppendRune(out, r), at+size
		}
	}
	return nil, d.syntax()
}

// apart is memory for the beginning of a string, which is copied, and all that the rest from at on may mean. It
// is nil if there is none, or if the string does not end.
func (d *decoder) apart(begin []byte, at int) []byte {
	end := d.skipText(at)
	if end < 0 {
		return nil
	}
	b := d.bytes(len(begin) + utf8.UTFMax*(end-at))
	if b == nil {
		return nil
	}
	return append(b[:0], begin...)
}

// putWord writes w to the eight bytes of b from i on.
func putWord(b []byte, i int, w uint64) {
	// SAFETY: the caller has checked that i+8 <= len(b).
	binary.LittleEndian.PutUint64(unsafex.As[[8]byte](unsafex.Add(unsafex.DataOf(b), uintptr(i)))[:], w)
}
