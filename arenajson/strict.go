// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"bytes"
	"errors"
	"unicode/utf16"
	"unicode/utf8"
)

// Version 2 refuses what version 1 takes: names that stand twice in an object, invalid UTF-8, and escapes of half a surrogate pair.

// errText stands for the error that encoding/json/v2 finds in a string.
var errText = errors.New("arenajson: a string is no UTF-8, or has half a surrogate pair")

// skip is scanner.skip by the rules of the version.
func (d *decoder) skip(i int) int {
	next := d.scanner.skip(i)
	if d.strict && (next < 0 || !d.isStrict(i, next)) {
		d.whole = i + 1
		return -1
	}
	return next
}

// isStrict reports whether the value from i to end, which has the grammar of one, has no name twice and is UTF-8. Otherwise
// decoding ends. A string in front of a colon is a name of the innermost object.
func (d *decoder) isStrict(i, end int) bool {
	s := scanner{data: d.input} // The copy may have lost the escapes.
	outer := d.names.used
	for i >= 0 && i < end {
		switch s.data[i] {
		case '{':
			d.names.open()
		case '}':
			d.names.close(max(outer, d.names.used-1))
		case '"':
			begin := i
			if i = s.skipText(i + 1); i < 0 || !d.isText(begin+1, i-1) {
				return false
			}
			if s.peek(s.space(i)) == ':' && d.names.used > outer && !d.names.insert(d.names.used-1, d.textAt(begin, i)) {
				d.repeated(begin)
				return false
			}
			continue
		}
		i++
	}
	return true
}

// isText reports whether the string from i to end, which has the grammar of one, is UTF-8. Otherwise decoding ends.
func (d *decoder) isText(i, end int) bool {
	b := d.input[i:end] // The copy may have lost the escapes.
	if !valid(b) {
		d.stop(errText)
		return false
	}
	for at := 0; ; {
		n := bytes.IndexByte(b[at:], '\\')
		if at += n; n < 0 || at+1 >= len(b) {
			return true
		}
		if b[at+1] != 'u' {
			at += 2
			continue
		}
		r, next := escaped(b, at)
		if next < 0 || r == utf8.RuneError && utf16.IsSurrogate(hex4(b, at+2)) {
			d.stop(errText)
			return false
		}
		at = next
	}
}

// repeated ends decoding: the name at i stands twice in its object, or its key does.
func (d *decoder) repeated(i int) int { return d.stop(duplicateName(d.path(i), i)) }
