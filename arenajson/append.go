// SPDX-License-Identifier: Apache-2.0

package arenajson

import "unicode/utf8"

// AppendJSON appends v as a document to dst. Numbers stand as they were written, members in their order. No value is null.
// AppendJSON panics if arrays and objects are nested more than 10000 deep: no decoder would take the document.
func (v Value) AppendJSON(dst []byte) []byte {
	dst, err := v.appendTo(dst, maxDepth)
	if err != nil {
		panic(err)
	}
	return dst
}

// appendTo is AppendJSON with an error if arrays and objects are nested more than depth deep.
func (v Value) appendTo(dst []byte, depth int) (_ []byte, err error) {
	switch v.Kind() {
	case False:
		return append(dst, "false"...), nil
	case True:
		return append(dst, "true"...), nil
	case Number:
		return append(dst, v.text()...), nil
	case String:
		return appendText(dst, v.text()), nil
	case Array, Object:
		if depth == 0 {
			return dst, errDeepValue
		}
	default:
		return append(dst, "null"...), nil
	}
	if v.Kind() == Array {
		dst = append(dst, '[')
		for i, e := range v.elements() {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = e.appendTo(dst, depth-1); err != nil {
				return dst, err
			}
		}
		return append(dst, ']'), nil
	}
	dst = append(dst, '{')
	for i, m := range v.members() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendText(dst, m.name), ':')
		if dst, err = m.value.appendTo(dst, depth-1); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
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

// MarshalJSON is v as a document, so that encoding/json can encode it. No value is null. It is an error if arrays and
// objects are nested more than 10000 deep.
func (v Value) MarshalJSON() ([]byte, error) { return v.appendTo(nil, maxDepth) }

// String is v as a document. It panics as AppendJSON does.
func (v Value) String() string { return string(v.AppendJSON(nil)) }
