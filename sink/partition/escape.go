// SPDX-License-Identifier: Apache-2.0

package partition

import (
	"crypto/sha256"
	"encoding/hex"
	"unicode"
	"unicode/utf8"
)

// MaxValue is the number of bytes that an escaped value has at most. With the name in front it is a name that file systems take.
const MaxValue = 160

// emptyValue stands for an empty value. No other value is escaped so.
const emptyValue = "%empty"

// hashed stands between the beginning of a long value and its hash. No other escaped value has it.
const hashed = "%~"

// AppendEscaped appends a value of a record as one name of a path. Letters and digits of all scripts, and the characters - _ . ~ @ , ( )
// stay as they are. All other bytes become %XX: slashes, percent signs, equals signs, spaces, control characters and invalid UTF-8 among them. So does a
// dot at the beginning. An empty value becomes %empty. A value of which more than MaxValue bytes would come becomes its beginning, %~ and 128 bits of its SHA-256 in
// hexadecimal digits. Different values become different names, but for collisions of the hash.
func AppendEscaped(dst, value []byte) []byte {
	if len(value) == 0 {
		return append(dst, emptyValue...)
	}
	from := len(dst)
	const cut = MaxValue - len(hashed) - 32
	end := from // Of the last character that leaves room for the hash.
	for i := 0; i < len(value); {
		r, n := utf8.DecodeRune(value[i:])
		if plain(r, n, i == 0) {
			dst = append(dst, value[i:i+n]...)
		} else {
			for _, c := range value[i : i+n] {
				dst = append(dst, '%', upper[c>>4], upper[c&15])
			}
		}
		i += n
		if len(dst)-from <= cut {
			end = len(dst)
		}
		if len(dst)-from > MaxValue {
			sum := sha256.Sum256(value)
			return hex.AppendEncode(append(dst[:end], hashed...), sum[:16])
		}
	}
	return dst
}

const upper = "0123456789ABCDEF"

// plain reports whether a character of n bytes stays as it is.
func plain(r rune, n int, first bool) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '-', r == '_':
		return true
	case r < utf8.RuneSelf:
		return r == '.' && !first || r == '~' || r == '@' || r == ',' || r == '(' || r == ')'
	case r == utf8.RuneError && n <= 1:
		return false
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}
