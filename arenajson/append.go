// SPDX-License-Identifier: Apache-2.0

package arenajson

import "unicode/utf8"

// AppendJSON appends v as a document to dst. Numbers stand as they were written, members in their order. No value is null.
func (v Value) AppendJSON(dst []byte) []byte {
	switch v.Kind() {
	case False:
		return append(dst, "false"...)
	case True:
		return append(dst, "true"...)
	case Number:
		return append(dst, v.text()...)
	case String:
		return appendText(dst, v.text())
	case Array:
		dst = append(dst, '[')
		for i, e := range v.elements() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = e.AppendJSON(dst)
		}
		return append(dst, ']')
	case Object:
		dst = append(dst, '{')
		for i, m := range v.members() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendText(dst, m.name), ':')
			dst = m.value.AppendJSON(dst)
		}
		return append(dst, '}')
	}
	return append(dst, "null"...)
}

// appendText appends s as a JSON string. Characters that a script in a web page could take for something else are not
// escaped. Invalid UTF-8 becomes U+FFFD.
func appendText(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				dst = append(append(dst, s[from:i]...), "\ufffd"...)
				from = i + 1
			}
			i += size
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, s[from:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
		}
		i++
		from = i
	}
	return append(append(dst, s[from:]...), '"')
}

// MarshalJSON is v as a document, so that encoding/json can encode it. No value is null.
func (v Value) MarshalJSON() ([]byte, error) { return v.AppendJSON(nil), nil }

// String is v as a document.
func (v Value) String() string { return string(v.AppendJSON(nil)) }
