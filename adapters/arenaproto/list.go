// SPDX-License-Identifier: Apache-2.0

package arenaproto

import (
	"math/bits"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/freehold-go/freehold/adapters/arenaproto/internal/memory"
)

// listAt is the list of a field, which may lie behind a pointer.
func (d *decoder) listAt(f *field, at pointer, i int) *memory.Slice {
	if !f.behind {
		return memory.As[memory.Slice](at)
	}
	p := memory.As[pointer](at)
	if *p == nil {
		if *p = d.new(f.header, i); *p == nil {
			return nil
		}
	}
	return memory.As[memory.Slice](*p)
}

// messages decodes a run of messages with f's tag into f's list. The first one is [i, next). The
// structs of a run lie in a row, and the list grows once.
func (d *decoder) messages(f *field, at pointer, i, next, end int) int {
	n := 1
	if next < end && memory.Byte(d.base, next) == byte(f.tag) {
		n += d.run(f, next, end)
	}
	list := d.listAt(f, at, i)
	if list == nil || list.Cap-list.Len < n && !d.reserve(f.kind, list, n, i) {
		return -1
	}
	m := d.makeSlice(f.sub.kind, n, i)
	if m == nil {
		return -1
	}
	for {
		if d.message(f.sub, m, i, next, 0) < 0 {
			return -1
		}
		if list.Len >= list.Cap && !d.reserve(f.kind, list, n, i) { // The Resolver of the options has changed it.
			return -1
		}
		*memory.As[pointer](memory.Add(list.Data, uintptr(list.Len)*f.size)) = m
		list.Len++
		if n--; n == 0 {
			return next
		}
		m = memory.Add(m, f.sub.kind.size)
		if i = next + int(f.length); i < end {
			if c := int(memory.Byte(d.base, i)); c < 0x80 && c < end-i {
				i, next = i+1, i+1+c
				continue
			}
		}
		var v uint64
		if v, i = d.lead(f, i, end); i < 0 {
			return i
		}
		next = i + int(v)
	}
}

// groups decodes a group into f's list.
func (d *decoder) groups(f *field, at pointer, i, end int) int {
	m := d.new(f.sub.kind, i)
	if m == nil {
		return -1
	}
	if i = d.message(f.sub, m, i, end, f.desc.Number()); i < 0 {
		return i
	}
	list := d.listAt(f, at, i) // Not before: the Resolver of the options may change it while m is decoded.
	if list == nil || !d.reserve(f.kind, list, 1, i) {
		return -1
	}
	*memory.As[pointer](memory.Add(list.Data, uintptr(list.Len)*f.size)) = m
	list.Len++
	return i
}

// list decodes a run of values with f's tag into f's list.
func (d *decoder) list(f *field, at pointer, v uint64, i, end int) int {
	n := 1
	switch f.wireType() {
	case protowire.BytesType:
		n += d.run(f, i+int(v), end)
	case protowire.Fixed32Type:
		n += d.run(f, i+4, end)
	case protowire.Fixed64Type:
		n += d.run(f, i+8, end)
	default:
		n += d.run(f, i, end)
	}
	list := memory.As[memory.Slice](at)
	if !d.reserveValues(f, list, n, i) {
		return -1
	}
	for {
		if i = d.value(f, f.value, memory.Add(list.Data, uintptr(list.Len)*f.size), v, i, end); i < 0 {
			return i
		}
		list.Len++
		if n--; n == 0 {
			return i
		}
		if v, i = d.lead(f, i+int(f.length), end); i < 0 {
			return i
		}
	}
}

// packed decodes the values without tags in [i, end) into f's list.
func (d *decoder) packed(f *field, at pointer, i, end int) int {
	switch {
	case i == end:
		return i
	case f.value == opFixed32 || f.value == opFixed64:
		return d.packedFixed(f, at, i, end)
	case end-i <= 8 && i <= d.last:
		return d.packedFew(f, at, i, end)
	}
	n := d.countVarints(i, end)
	if n == 0 {
		return d.fail(errMalformed())
	}
	to := d.room(f, memory.As[memory.Slice](at), n, i)
	if to == nil || d.varints(f, to, i, end, n) < 0 {
		return -1
	}
	memory.As[memory.Slice](at).Len += n
	return end
}

// packedFixed is packed for values of fixed size.
func (d *decoder) packedFixed(f *field, at pointer, i, end int) int {
	n := (end - i) / int(f.size)
	if n*int(f.size) != end-i {
		return d.fail(errMalformed())
	}
	to := d.room(f, memory.As[memory.Slice](at), n, i)
	if to == nil {
		return -1
	}
	d.copyFixed(f.value, to, i, n)
	memory.As[memory.Slice](at).Len += n
	return end
}

// packedFew is packed for varints in at most eight bytes.
func (d *decoder) packedFew(f *field, at pointer, i, end int) int {
	w := memory.Load64(d.base, i) << (64 - 8*uint(end-i)) // The last byte is the highest.
	n := end - i - bits.OnesCount64(w&highBits)
	if n == 0 {
		return d.fail(errMalformed())
	}
	to := d.room(f, memory.As[memory.Slice](at), n, i)
	if to == nil {
		return -1
	}
	if w&highBits == 0 { // A byte each.
		w >>= 64 - 8*uint(end-i)
		for k := range uintptr(n) {
			if f.value == opInt32 {
				*memory.As[uint32](memory.Add(to, 4*k)) = uint32(w & 0x7f)
			} else {
				putVarint(f.value, memory.Add(to, k*f.size), w&0x7f)
			}
			w >>= 8
		}
	} else if d.varints(f, to, i, end, n) < 0 {
		return -1
	}
	memory.As[memory.Slice](at).Len += n
	return end
}

// copyFixed decodes n values of fixed size at i.
func (d *decoder) copyFixed(o op, to pointer, i, n int) {
	for k := range n {
		if o == opFixed32 {
			*memory.As[uint32](memory.Add(to, uintptr(4*k))) = memory.Load32(d.base, i+4*k)
		} else {
			*memory.As[uint64](memory.Add(to, uintptr(8*k))) = memory.Load64(d.base, i+8*k)
		}
	}
}

// varints decodes the n varints in [i, end).
func (d *decoder) varints(f *field, to pointer, i, end, n int) int {
	base, o, size := d.base, f.value, f.size
	for k := range uintptr(n) {
		if i >= end {
			return d.fail(errMalformed())
		}
		v := uint64(memory.Byte(base, i))
		if i++; v >= 0x80 {
			c := uint64(0x80)
			if i < end {
				c = uint64(memory.Byte(base, i))
			}
			if c < 0x80 {
				v, i = v&0x7f|c<<7, i+1
			} else if v, i = d.longVarint(i-1, end); i < 0 {
				return i
			}
		}
		switch at := memory.Add(to, k*size); o {
		case opInt32:
			*memory.As[uint32](at) = uint32(v)
		case opInt64:
			*memory.As[uint64](at) = v
		default:
			putVarint(o, at, v)
		}
	}
	if i != end {
		return d.fail(errMalformed())
	}
	return i
}

// room makes room for n more elements in a list of values, and returns where they lie.
func (d *decoder) room(f *field, list *memory.Slice, n, i int) pointer {
	if list.Cap-list.Len < n && !d.reserveValues(f, list, n, i) {
		return nil
	}
	return memory.Add(list.Data, uintptr(list.Len)*f.size)
}

// reserve makes room for n more elements of a type in a list.
func (d *decoder) reserve(k *kind, list *memory.Slice, n, i int) bool {
	if list.Cap-list.Len >= n {
		return true
	}
	if list.Cap == 0 {
		p := d.makeSlice(k, n, i)
		if p == nil {
			return false
		}
		list.Data, list.Cap = p, n
		return true
	}
	p, room := d.grow(k, list.Data, list.Len, list.Cap, list.Len+n)
	if p == nil {
		return false
	}
	list.Data, list.Cap = p, room
	return true
}

// reserveValues is reserve for the elements of a list that are no messages.
func (d *decoder) reserveValues(f *field, list *memory.Slice, n, i int) bool {
	if f.size != 4 {
		return d.reserve(f.kind, list, n, i)
	}
	if list.Cap-list.Len >= n {
		return true
	}
	room := list.Len + n
	if list.Cap != 0 {
		room = max(room, 2*list.Cap)
	}
	p := d.makeSlice(wordKind, (room+1)/2, i)
	if p == nil {
		return false
	}
	if list.Len != 0 {
		copy(memory.Bytes(p, 0, 4*list.Len), memory.Bytes(list.Data, 0, 4*list.Len))
	}
	list.Data, list.Cap = p, room
	return true
}
