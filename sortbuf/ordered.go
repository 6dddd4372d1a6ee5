// SPDX-License-Identifier: Apache-2.0

package sortbuf

import (
	"encoding/binary"
	"math"
)

// AppendInt64 appends 8 bytes that compare as v does.
func AppendInt64(dst []byte, v int64) []byte {
	return binary.BigEndian.AppendUint64(dst, uint64(v)^1<<63)
}

// AppendUint64 appends 8 bytes that compare as v does.
func AppendUint64(dst []byte, v uint64) []byte { return binary.BigEndian.AppendUint64(dst, v) }

// AppendFloat64 appends 8 bytes that compare as v does. -0 equals 0, and all NaN are equal and come
// before all numbers, as in cmp.Compare.
func AppendFloat64(dst []byte, v float64) []byte {
	if v != v {
		return binary.BigEndian.AppendUint64(dst, 0)
	}
	bits := math.Float64bits(v + 0) // -0 + 0 is 0.
	if bits>>63 == 1 {
		bits = ^bits
	} else {
		bits |= 1 << 63
	}
	return binary.BigEndian.AppendUint64(dst, bits)
}

// AppendString appends the bytes of s so that further columns can follow: a key that begins with a
// shorter string comes before one with a longer string that has it as prefix, whatever follows. It
// writes 0x00 as 0x00 0xFF and ends with 0x00 0x01.
func AppendString[S string | []byte](dst []byte, s S) []byte {
	for i := range len(s) {
		if s[i] == 0 {
			dst = append(dst, 0, 0xFF)
		} else {
			dst = append(dst, s[i])
		}
	}
	return append(dst, 0, 1)
}

// Descending inverts the bytes of a column, so that it compares the other way round: begin is the
// length that key had before the column was appended. It returns key.
func Descending(key []byte, begin int) []byte {
	for i := begin; i < len(key); i++ {
		key[i] = ^key[i]
	}
	return key
}
