// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"bytes"
	"math"
	"strconv"
)

// nextToken returns the first token of a line and what follows it. Tokens are separated by spaces alone, as
// in memcached.
func nextToken(line []byte) (token, rest []byte) {
	i := 0
	for i < len(line) && line[i] == ' ' {
		i++
	}
	line = line[i:]
	if i = bytes.IndexByte(line, ' '); i < 0 {
		return line, nil
	}
	return line[:i], line[i:]
}

// appendTokens appends the tokens of a line.
func appendTokens(tokens [][]byte, line []byte) [][]byte {
	for {
		var t []byte
		if t, line = nextToken(line); len(t) == 0 {
			return tokens
		}
		tokens = append(tokens, t)
	}
}

// mostKey is the number of bytes of a key, at most.
const mostKey = 250

// longKey says whether a line has a key that is too long.
func longKey(line []byte) bool {
	for len(line) > 0 {
		var key []byte
		if key, line = nextToken(line); len(key) > mostKey {
			return true
		}
	}
	return false
}

// parseUint parses a decimal number of 64 bits without a sign.
func parseUint(b []byte) (n uint64, ok bool) {
	for _, c := range b {
		d := uint64(c - '0')
		if d > 9 || n > (math.MaxUint64-d)/10 {
			return 0, false
		}
		n = n*10 + d
	}
	return n, len(b) > 0
}

// parseUint32 parses a decimal number of 32 bits without a sign.
func parseUint32(b []byte) (uint32, bool) {
	n, ok := parseUint(b)
	return uint32(n), ok && n <= math.MaxUint32
}

// parseInt32 parses a decimal number of 32 bits, which may be negative.
func parseInt32(b []byte) (int32, bool) {
	if len(b) > 0 && b[0] == '-' {
		n, ok := parseUint(b[1:])
		return int32(-int64(min(n, math.MaxInt32))), ok && n <= math.MaxInt32
	}
	n, ok := parseUint(b)
	return int32(min(n, math.MaxInt32)), ok && n <= math.MaxInt32
}

// parseLength parses the length of a value, which is followed by two bytes more.
func parseLength(b []byte) (int32, bool) {
	n, ok := parseInt32(b)
	return n, ok && n >= 0 && n <= math.MaxInt32-2
}

func appendUint(b []byte, n uint64) []byte { return strconv.AppendUint(b, n, 10) }

// number is the number that data begins with, before a space or the end, as strtoull finds it.
func number(data []byte) (uint64, bool) {
	digits, _ := nextToken(data)
	return parseUint(bytes.TrimPrefix(digits, []byte("+")))
}

// trimSpaces removes the spaces that keep a number's width.
func trimSpaces(b []byte) []byte {
	for len(b) > 0 && b[len(b)-1] == ' ' {
		b = b[:len(b)-1]
	}
	return b
}
