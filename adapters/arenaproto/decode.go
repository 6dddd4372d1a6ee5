// SPDX-License-Identifier: Apache-2.0

package arenaproto

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/freehold-go/freehold/adapters/arenaproto/internal/memory"
)

// message decodes the records in [i, end) into the message at to. The message is a group if group is
// its number: then a tag ends it. The result is the position behind it.
//
// SAFETY: to is the address of a message of p's type, and field offsets are those of the type, here and
// in all functions of the decoder that have such parameters. Bytes are read below end, which is at
// most the length of the input.
func (d *decoder) message(p *plan, to pointer, i, end int, group protowire.Number) int {
	if d.depth--; d.depth < 0 {
		return d.fail(errDepth())
	}
	base, seen, mark := d.base, uint64(0), len(d.records)
	for i < end {
		start, c := i, memory.Byte(base, i)
		f := p.tags[c]
		if i++; f == nil {
			if f, c, i = d.longTag(p, start, end); i < 0 {
				return i
			}
		}
		v := uint64(0)
		if c&5 == 0 && i < end { // A varint, as the wire type in the tag says: a value or a length.
			if v = uint64(memory.Byte(base, i)); v < 0x80 {
				i++
			} else if v, i = d.longVarint(i, end); i < 0 {
				return d.cut(p, start, end)
			}
		} else if c&5 == 0 {
			return d.cut(p, start, end)
		}
		if c&7 == 2 && v > uint64(end-i) {
			return d.cut(p, start, end)
		}
		at := memory.Add(to, f.offset)
		switch f.op { // With more cases the compiler would use a table of jumps, which takes longer.
		case opText:
			if (v-8 > 24 || !ascii(base, i, int(v))) && !d.utf8(i, i+int(v)) {
				return d.fail(errUTF8())
			}
			memory.PutString(at, base, i, int(v))
			i += int(v)
		case opInt64:
			*memory.As[uint64](at) = v
		case opInt32:
			*memory.As[uint32](at) = uint32(v)
		case opMessages:
			i = d.messages(f, at, i, i+int(v), end)
		case opMessage:
			m := d.child(f, at, i)
			if m == nil || d.message(f.sub, m, i, i+int(v), 0) < 0 {
				return -1
			}
			i += int(v)
		case opOneof:
			i = d.oneof(f, at, v, i, end)
		case opUnknown, opForeign:
			var ended bool
			if i, ended = d.stranger(p, f, to, start, end, group); ended {
				return d.endMessage(p, to, i, mark, seen, 0)
			}
		default:
			i = d.place(f, at, v, i, end)
		}
		if i < 0 {
			return i
		}
		if f.extra {
			seen |= p.note(f, to)
		}
	}
	if group == 0 && seen == p.required && len(d.records) == mark {
		d.depth++
		return i
	}
	return d.endMessage(p, to, i, mark, seen, group)
}

// cut ends decoding at the record at start, which ends inside its length or its number, or before all its
// bytes. protobuf-go enters a map before it reads what follows the tag, so depth comes first.
func (d *decoder) cut(p *plan, start, end int) int {
	if num, _, _ := d.tag(start, end); d.depth == 0 && countsEntries(p, num) {
		d.err = errDepth()
	}
	return d.fail(errMalformed())
}

// note sets the presence bit of a field, and returns its bit among the required ones.
func (p *plan) note(f *field, to pointer) uint64 {
	if f.present {
		setPresent(memory.As[uint32](memory.Add(to, f.word)), f.bit, p.bits)
	}
	return f.needed
}

// child is the message that a field points to, or a new one.
func (d *decoder) child(f *field, at pointer, i int) pointer {
	m := *memory.As[pointer](at)
	if m == nil {
		if m = d.take(f.sub.kind, 1); m == nil {
			m = d.newSlow(f.sub.kind, i)
		}
		*memory.As[pointer](at) = m
	}
	return m
}

// endMessage ends a message whose last record ends at i. open is the number of a group that no tag has
// ended, or 0.
func (d *decoder) endMessage(p *plan, to pointer, i, mark int, seen uint64, open protowire.Number) int {
	if open != 0 {
		return d.fail(errMalformed())
	}
	if seen != p.required {
		d.partial = true
	}
	if len(d.records) > mark && !d.handOver(p, to, mark) {
		return -1
	}
	d.depth++
	return i
}

// lead reads what a record of f begins with behind its tag, at i: a varint, which may be a length of bytes that are
// there, or nothing. The functions below have it as a parameter v, and i is the position behind it.
func (d *decoder) lead(f *field, i, end int) (v uint64, next int) {
	if !f.lead {
		return 0, i
	}
	if v, next = d.varint(i, end); next >= 0 && f.sized && v > uint64(end-next) {
		return 0, d.fail(errMalformed())
	}
	return v, next
}

// place decodes a value, or values, at their place in a message.
func (d *decoder) place(f *field, at pointer, v uint64, i, end int) int {
	switch f.op {
	case opFixed32: // As in value, which takes another call.
		if end-i < 4 {
			return d.fail(errMalformed())
		}
		*memory.As[uint32](at) = memory.Load32(d.base, i)
		return i + 4
	case opFixed64:
		if end-i < 8 {
			return d.fail(errMalformed())
		}
		*memory.As[uint64](at) = memory.Load64(d.base, i)
		return i + 8
	case opPointer:
		return d.pointee(f, at, v, i, end)
	case opPacked:
		return d.packed(f, at, i, i+int(v))
	case opList:
		return d.list(f, at, v, i, end)
	case opMap:
		return d.mapping(f, at, i, i+int(v), end)
	case opGroups:
		return d.groups(f, at, i, end)
	}
	return d.value(f, f.op, at, v, i, end)
}

// pointee decodes the value that a field at an address points to.
func (d *decoder) pointee(f *field, at pointer, v uint64, i, end int) int {
	p := *memory.As[pointer](at)
	if p == nil {
		if p = d.new(f.kind, i); p == nil {
			return -1
		}
		*memory.As[pointer](at) = p
	}
	switch f.value {
	case opInt32:
		*memory.As[uint32](p) = uint32(v)
		return i
	case opText, opChars:
		if f.value == opText && !d.utf8(i, i+int(v)) {
			return d.fail(errUTF8())
		}
		*memory.As[string](p) = memory.String(d.base, i, int(v))
		return i + int(v)
	}
	return d.value(f, f.value, p, v, i, end)
}

// value decodes a value that lies at to.
func (d *decoder) value(f *field, o op, to pointer, v uint64, i, end int) int {
	switch o {
	case opBool, opInt32, opInt64, opZig32, opZig64:
		putVarint(o, to, v)
		return i
	case opFixed32:
		if end-i < 4 {
			return d.fail(errMalformed())
		}
		*memory.As[uint32](to) = memory.Load32(d.base, i)
		return i + 4
	case opFixed64:
		if end-i < 8 {
			return d.fail(errMalformed())
		}
		*memory.As[uint64](to) = memory.Load64(d.base, i)
		return i + 8
	case opMessage, opGroup:
		m := d.child(f, to, i)
		switch {
		case m == nil:
			return -1
		case o == opGroup:
			return d.message(f.sub, m, i, end, f.desc.Number())
		}
		return d.message(f.sub, m, i, i+int(v), 0)
	case opText:
		if !d.utf8(i, i+int(v)) {
			return d.fail(errUTF8())
		}
		*memory.As[string](to) = memory.String(d.base, i, int(v))
	case opChars:
		*memory.As[string](to) = memory.String(d.base, i, int(v))
	case opBytesOrNil:
		if v == 0 {
			*memory.As[[]byte](to) = nil
			return i
		}
		fallthrough
	default: // opBytes
		*memory.As[[]byte](to) = memory.Bytes(d.base, i, int(v))
	}
	return i + int(v)
}

// putVarint stores what a varint stands for.
func putVarint(o op, to pointer, v uint64) {
	switch o {
	case opBool:
		*memory.As[bool](to) = v != 0
	case opInt32:
		*memory.As[uint32](to) = uint32(v)
	case opInt64:
		*memory.As[uint64](to) = v
	case opZig32:
		*memory.As[uint32](to) = uint32(v)>>1 ^ -(uint32(v) & 1)
	default:
		*memory.As[uint64](to) = v>>1 ^ -(v & 1)
	}
}

// oneof decodes a member of a oneof. If the message has the member already, the value is merged into
// it.
func (d *decoder) oneof(f *field, at pointer, v uint64, i, end int) int {
	w := memory.As[memory.Interface](at)
	wrapper := w.Data
	if w.Tab != f.tab || wrapper == nil {
		if wrapper = d.take(f.kind, 1); wrapper == nil {
			if wrapper = d.newSlow(f.kind, i); wrapper == nil {
				return -1
			}
		}
	}
	if f.value == opText && (v-8 <= 24 && ascii(d.base, i, int(v)) || d.utf8(i, i+int(v))) { // The most frequent one.
		memory.PutString(wrapper, d.base, i, int(v))
		i += int(v)
	} else {
		i = d.value(f, f.value, wrapper, v, i, end)
	}
	if i >= 0 {
		w.Tab, w.Data = f.tab, wrapper
	}
	return i
}

// stranger decodes a record at start that no plan covers, or the tag that ends a group.
func (d *decoder) stranger(p *plan, f *field, to pointer, start, end int, group protowire.Number) (next int, ended bool) {
	num, wire, i := d.tag(start, end)
	switch {
	case i < 0:
		return i, false
	case wire != protowire.EndGroupType:
		return d.unknown(p, f, to, start, i, end, num, wire), false
	case num != group:
		return d.fail(errMalformed()), false
	}
	return i, true
}

// unknown keeps the record at start that no field takes. Its value begins at i.
func (d *decoder) unknown(p *plan, f *field, to pointer, start, i, end int, num protowire.Number, wire protowire.Type) int {
	if d.depth == 0 && wire != protowire.BytesType && countsEntries(p, num) {
		return d.fail(errDepth()) // protobuf-go enters a map before it looks at the wire type.
	}
	n := protowire.ConsumeFieldValue(num, wire, d.data[i:end:end])
	if n < 0 {
		return d.fail(errMalformed())
	}
	next := i + n
	switch {
	case p.extensible || f.op == opForeign:
		d.records = append(d.records, record{start, next})
	case d.opts.DiscardUnknown:
	case !d.keep(memory.As[[]byte](memory.Add(to, p.unknown)), start, i, next, num, wire):
		return -1
	}
	return next
}

// countsEntries reports whether the field of a number is a map whose entries count as nested messages.
func countsEntries(p *plan, num protowire.Number) bool {
	f := p.field(num, uint8(protowire.BytesType))
	return f.op == opMap && f.entry.levels != 0
}

// keep adds the record in [start, next), whose value begins at i, to unknown fields.
func (d *decoder) keep(to *[]byte, start, i, next int, num protowire.Number, wire protowire.Type) bool {
	if d.own && protowire.SizeTag(num) == i-start { // Else the tag is written anew, in its shortest form.
		if len(*to) == 0 {
			*to = memory.Bytes(d.base, start, next-start)
			return true
		}
		if all, ok := memory.Joined(*to, d.base, start, next-start); ok {
			*to = all
			return true
		}
	}
	n := protowire.SizeTag(num) + next - i
	if cap(*to)-len(*to) < n {
		if n > math.MaxInt/4 || len(*to) > math.MaxInt/4 {
			return d.fail(errMalformed()) >= 0
		}
		room := len(*to) + n
		if len(*to) != 0 {
			room = max(room, 2*len(*to))
		}
		b := d.bytes(room)
		if b == nil {
			return false
		}
		copied := copy(b, *to)
		clear(b[copied:])
		*to = b[:copied]
	}
	*to = append(protowire.AppendTag(*to, num, wire), d.data[i:next]...)
	return true
}
