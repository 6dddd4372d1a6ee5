// SPDX-License-Identifier: Apache-2.0

package arenaproto

import (
	"math/bits"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/freehold-go/freehold/adapters/arenaproto/internal/memory"
)

// varint reads the varint at i and returns the position behind it.
func (d *decoder) varint(i, end int) (uint64, int) {
	if i < end {
		if c := memory.Byte(d.base, i); c < 0x80 {
			return uint64(c), i + 1
		}
	}
	return d.longVarint(i, end)
}

const highBits = 0x8080808080808080

//go:noinline
func (d *decoder) longVarint(i, end int) (uint64, int) {
	if i <= d.last && i < end {
		w := memory.Load64(d.base, i)
		if stop := ^w & highBits; stop != 0 {
			next := i + (bits.TrailingZeros64(stop)+1)/8
			if next > end {
				return 0, d.fail(errMalformed())
			}
			w &= (stop ^ (stop - 1)) & ^uint64(highBits) // The bytes up to the last one, seven bits each.
			w = w&0x007f007f007f007f | w&0x7f007f007f007f00>>1
			w = w&0x00003fff00003fff | w&0x3fff00003fff0000>>2
			return w&0x0fffffff | w&0x0fffffff00000000>>4, next
		}
	}
	var v uint64
	for n := 0; i+n < end && n < 10; n++ {
		c := memory.Byte(d.base, i+n)
		if n == 9 && c > 1 {
			break // More than 64 bits.
		}
		v |= uint64(c&0x7f) << (7 * n)
		if c < 0x80 {
			return v, i + n + 1
		}
	}
	return 0, d.fail(errMalformed())
}

// longTag finds the field of a tag of more than one byte at i, and returns its wire type and the position
// behind it. The wire type is that of the field: the caller does not trust the byte that it has read before.
func (d *decoder) longTag(p *plan, i, end int) (f *field, wire byte, next int) {
	num, typ, next := d.tag(i, end)
	if next < 0 {
		return nil, 0, next
	}
	return p.field(num, uint8(typ)), uint8(typ), next
}

// tag reads the tag at i.
func (d *decoder) tag(i, end int) (protowire.Number, protowire.Type, int) {
	v, next := d.varint(i, end)
	if next < 0 {
		return 0, 0, next
	}
	if n := v >> 3; n < uint64(protowire.MinValidNumber) || n > uint64(protowire.MaxValidNumber) {
		return 0, 0, d.fail(errMalformed())
	}
	return protowire.Number(v >> 3), protowire.Type(v & 7), next
}

// run counts the records with f's tag that follow each other from i on. It counts none that it cannot
// read at a glance.
func (d *decoder) run(f *field, i, end int) (n int) {
	base, most := d.base, min(d.last, end-1)
	for ; i <= most && memory.Load64(base, i)&f.mask == f.tag; n++ {
		i += int(f.length)
		switch f.wireType() {
		case protowire.BytesType:
			if i >= end {
				return n
			}
			size := int(memory.Byte(base, i))
			i++
			if size >= 0x80 {
				if size, i = d.peekLength(i-1, end); i < 0 {
					return n
				}
			}
			if size > end-i {
				return n
			}
			i += size
		case protowire.VarintType:
			for i < end && memory.Byte(base, i) >= 0x80 {
				i++
			}
			i++
		case protowire.Fixed32Type:
			i += 4
		case protowire.Fixed64Type:
			i += 8
		default:
			return 0
		}
		if i > end {
			return n
		}
	}
	return n
}

// peekLength reads the length at i without an error: it is negative if it cannot be read.
func (d *decoder) peekLength(i, end int) (n, next int) {
	v, size := protowire.ConsumeVarint(d.data[i:end])
	if size < 0 || v > uint64(end-i-size) {
		return 0, -1
	}
	return int(v), i + size
}

// countVarints is how many varints end in [i, end).
func (d *decoder) countVarints(i, end int) (n int) {
	for ; end-i >= 8; i += 8 {
		n += bits.OnesCount64(^memory.Load64(d.base, i) & highBits)
	}
	for ; i < end; i++ {
		if memory.Byte(d.base, i) < 0x80 {
			n++
		}
	}
	return n
}

// ascii reports whether n bytes at i, 8 to 32 of them, are ASCII. Some are looked at twice.
func ascii(base pointer, i, n int) bool {
	high := memory.Load64(base, i) | memory.Load64(base, i+n-8)
	if n > 16 {
		high |= memory.Load64(base, i+8) | memory.Load64(base, i+n-16)
	}
	return high&highBits == 0
}

// utf8 reports whether the bytes in [i, end) are UTF-8.
func (d *decoder) utf8(i, end int) bool {
	base, from := d.base, i
	if end-i >= 8 { // The last eight bytes may be looked at twice.
		high := memory.Load64(base, end-8)
		for ; end-i > 16; i += 16 {
			high |= memory.Load64(base, i) | memory.Load64(base, i+8)
		}
		if end-i > 8 {
			high |= memory.Load64(base, i)
		}
		return high&highBits == 0 || utf8.Valid(d.data[from:end])
	}
	if i == end {
		return true
	}
	if i <= d.last {
		return memory.Load64(base, i)<<(64-8*uint(end-i))&highBits == 0 || utf8.Valid(d.data[from:end])
	}
	for ; i < end; i++ {
		if memory.Byte(base, i) >= 0x80 {
			return utf8.Valid(d.data[from:end])
		}
	}
	return true
}
