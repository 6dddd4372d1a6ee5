// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"math/bits"
	"unicode/utf8"
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
		if data[at] != '"' || high&highs != 0 && !valid(data[i:at]) {
			break
		}
		return view(data[i:at]), at + 1
	}
	return d.textSlow(i, at)
}

// textSlow is text for a string with escapes or invalid UTF-8, or near the end. Up to at there is no
// escape, no quote and no control character. Only here can a string be one that version 2 refuses.
//
//go:noinline
func (d *decoder) textSlow(i, at int) (string, int) {
	data := d.data
	at = plain(data, at)
	if at < len(data) && data[at] == '"' && valid(data[i:at]) {
		return view(data[i:at]), at + 1
	}
	out, next := d.unescape(i)
	if d.strict && next >= 0 && !d.isText(i, next-1) {
		return "", -1
	}
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
	for {
		for at < len(data) && data[at] == '\\' {
			r, next := escaped(data, at)
			if next < 0 {
				return nil, d.syntax()
			}
			out, at = utf8.AppendRune(out, r), next
		}
		end := plain(data, at)
		if run := data[at:end]; valid(run) {
			out = append(out, run...)
		} else {
			if over {
				if out = d.apart(out, at); out == nil {
					return nil, -1
				}
				over = false
			}
			out = appendRepaired(out, run)
		}
		at = end
		switch {
		case at < len(data) && data[at] == '"':
			return out, at + 1
		case at == len(data) || data[at] != '\\':
			return nil, d.syntax()
		}
	}
}

// appendRepaired appends s with U+FFFD in place of each byte that is no UTF-8.
func appendRepaired(out, s []byte) []byte {
	for len(s) > 0 {
		r, n := utf8.DecodeRune(s)
		out, s = utf8.AppendRune(out, r), s[n:]
	}
	return out
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

// textAt is the string that stands from i to next, without its quotes and escapes. It does not change the data.
func (d *decoder) textAt(i, next int) string {
	quoted := d.input[i:next]
	text := quoted[1 : len(quoted)-1]
	for _, c := range text {
		if c == '\\' || c >= utf8.RuneSelf && !d.strict {
			out, _ := unquote(quoted)
			return view(out)
		}
	}
	return view(text)
}

// unquote is a JSON string without quotes and escapes, or false if it is none.
func unquote(s []byte) ([]byte, bool) {
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		return nil, false
	}
	s = s[1 : len(s)-1]
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == '\\':
			r, next := escaped(s, i)
			if next < 0 {
				return nil, false
			}
			out, i = utf8.AppendRune(out, r), next
		default:
			r, size := utf8.DecodeRune(s[i:])
			out, i = utf8.AppendRune(out, r), i+size
		}
	}
	return out, true
}
