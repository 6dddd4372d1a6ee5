// SPDX-License-Identifier: Apache-2.0

package arenaproto

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/freehold-go/freehold/adapters/arenaproto/internal/memory"
	"github.com/freehold-go/freehold/arena"
)

// listAt is the list of a field, which may lie behind a pointer.
func (d *decoder) listAt(f *field, at pointer) *memory.Slice {
	if !f.behind {
		return memory.As[memory.Slice](at)
	}
	p := memory.As[pointer](at)
	if *p == nil {
		if *p = d.new(f.header); *p == nil {
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
	list := d.listAt(f, at)
	if list == nil || list.Cap-list.Len < n && !d.reserve(f.mem, list, n) {
		return -1
	}
	m := d.makeSlice(f.sub.mem, n)
	if m == nil {
		return -1
	}
	for {
		if d.message(f.sub, m, i, next, 0) < 0 {
			return -1
		}
		if list.Len >= list.Cap && !d.reserve(f.mem, list, n) { // The Resolver of the options has changed it.
			return -1
		}
		*memory.As[pointer](memory.Add(list.Data, uintptr(list.Len)*f.size)) = m
		list.Len++
		if n--; n == 0 {
			return next
		}
		m = memory.Add(m, f.sub.size)
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
	m := d.new(f.sub.mem)
	if m == nil {
		return -1
	}
	if i = d.message(f.sub, m, i, end, f.desc.Number()); i < 0 {
		return i
	}
	list := d.listAt(f, at) // Not before: the Resolver of the options may change it while m is decoded.
	if list == nil || !d.reserve(f.mem, list, 1) {
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
	if !d.reserveValues(f, list, n) {
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
	if i == end {
		return i
	}
	n, size := 0, 0
	switch f.value {
	case opFixed32, opFixed64:
		size = int(f.size)
		if n = (end - i) / size; n*size != end-i {
			return d.fail(errMalformed())
		}
	default:
		if n = d.countVarints(i, end); n == 0 {
			return d.fail(errMalformed())
		}
	}
	list := memory.As[memory.Slice](at)
	if !d.reserveValues(f, list, n) {
		return -1
	}
	to := memory.Add(list.Data, uintptr(list.Len)*f.size)
	if size != 0 {
		d.copyFixed(f.value, to, i, n)
	} else if i = d.varints(f.value, to, i, end, n); i < 0 {
		return i
	}
	list.Len += n
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
func (d *decoder) varints(o op, to pointer, i, end, n int) int {
	base := d.base
	for k := uintptr(0); k < uintptr(n); k++ {
		if i >= end {
			return d.fail(errMalformed())
		}
		v := uint64(memory.Byte(base, i))
		if i++; v >= 0x80 {
			if v, i = d.longVarint(i-1, end); i < 0 {
				return i
			}
		}
		switch o {
		case opInt32:
			*memory.As[uint32](memory.Add(to, 4*k)) = uint32(v)
		case opInt64:
			*memory.As[uint64](memory.Add(to, 8*k)) = v
		case opZig32:
			putVarint(o, memory.Add(to, 4*k), v)
		case opZig64:
			putVarint(o, memory.Add(to, 8*k), v)
		default:
			putVarint(o, memory.Add(to, k), v)
		}
	}
	if i != end {
		return d.fail(errMalformed())
	}
	return i
}

// reserve makes room for n more elements of a type in a list.
func (d *decoder) reserve(t *arena.UnsafeType, list *memory.Slice, n int) bool {
	if list.Cap-list.Len >= n {
		return true
	}
	if list.Cap == 0 {
		p := d.makeSlice(t, n)
		if p == nil {
			return false
		}
		list.Data, list.Cap = p, n
		return true
	}
	p, room := d.grow(t, list.Data, list.Len, list.Cap, list.Len+n)
	if p == nil {
		return false
	}
	list.Data, list.Cap = p, room
	return true
}

// reserveValues is reserve for the elements of a list that are no messages.
func (d *decoder) reserveValues(f *field, list *memory.Slice, n int) bool {
	if f.size != 4 {
		return d.reserve(f.mem, list, n)
	}
	if list.Cap-list.Len >= n {
		return true
	}
	// Words are cheaper than four bytes: they need not be cleared one by one.
	room := list.Len + n
	if list.Cap != 0 {
		room = max(room, 2*list.Cap)
	}
	p := d.makeSlice(wordType, (room+1)/2)
	if p == nil {
		return false
	}
	copy(memory.Bytes(p, 0, 4*list.Len), memory.Bytes(list.Data, 0, 4*list.Len))
	list.Data, list.Cap = p, room
	return true
}
