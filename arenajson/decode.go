// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"encoding/json"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// value decodes the value at i into the variable of p's type at to.
func (d *decoder) value(p *plan, to pointer, i int) int {
	// SAFETY: to is the address of a variable of the type that p was made for, here and in all functions of the
	// decoder that have such parameters.
	switch p.op {
	case opString:
		if d.peek(i) == '"' {
			s, next := d.text(i + 1)
			if next >= 0 {
				*unsafex.As[string](to) = s
			}
			return next
		}
	case opStruct:
		if d.peek(i) == '{' {
			return d.structure(p, to, i)
		}
	case opSlice:
		if d.peek(i) == '[' {
			return d.slice(p, to, i)
		}
	case opPointer:
		return d.pointer(p, to, i)
	case opInt64, opInt32, opInt16, opInt8:
		if v, neg, next := d.integer(i); next > 0 && putInt(p.op, to, v, neg) {
			return next
		}
	case opUint64, opUint32, opUint16, opUint8:
		if v, neg, next := d.integer(i); next > 0 && !neg && putUint(p.op, to, v) {
			return next
		}
	case opFloat64:
		if c := d.peek(i); c == '-' || c-'0' <= 9 {
			if f, next, ok := d.float(i); ok {
				*unsafex.As[float64](to) = f
				return next
			}
		}
	case opBool:
		switch d.peek(i) {
		case 't':
			if i = d.word(i, "true"); i >= 0 {
				*unsafex.As[bool](to) = true
			}
			return i
		case 'f':
			if i = d.word(i, "false"); i >= 0 {
				*unsafex.As[bool](to) = false
			}
			return i
		}
	case opAny:
		return d.anyInto(p, to, i)
	case opMap:
		if d.peek(i) == '{' {
			return d.mapping(p, to, i)
		}
	case opArray:
		if d.peek(i) == '[' {
			return d.array(p, to, i)
		}
	default:
		return d.other(p, to, i)
	}
	return d.mismatch(p, to, i)
}

// other is value for rare types.
func (d *decoder) other(p *plan, to pointer, i int) int {
	switch p.op {
	case opFloat32:
		if n := d.decimal(i); n.next >= 0 && !n.more && n.digits < 1<<24 && -10 <= n.exp && n.exp <= 10 {
			*unsafex.As[float32](to) = n.exact32()
			return n.next
		}
	case opBytes:
		switch c := d.peek(i); {
		case c == '"':
			return d.base64(p, to, i)
		case c == '[' && p.rules&looseBytes != 0:
			return d.slice(p, to, i)
		}
	case opQuoted:
		return d.quoted(p, to, i)
	case opNumber:
		return d.jsonNumber(p, to, i)
	case opRaw:
		next := d.skip(i)
		if next >= 0 {
			*unsafex.As[json.RawMessage](to) = json.RawMessage(d.data[i:next:next])
		}
		return next
	case opTime:
		return d.time(p, to, i)
	case opValue:
		v, next := d.strictTree(i)
		if next >= 0 {
			*unsafex.As[Value](to) = v
		}
		return next
	case opArenaMap:
		if d.peek(i) == '{' {
			return d.mapping(p, to, i)
		}
	case opInterface:
		return d.anyInto(p, to, i)
	case opUnmarshaler, opText, opFrom:
		return d.method(p, to, i)
	case opNever:
		return d.unfit(p, i, p.never)
	}
	return d.mismatch(p, to, i)
}

// putInt stores an integer if it is in the type's range.
func putInt(o op, to pointer, v uint64, neg bool) bool {
	n := int64(v)
	if neg {
		n = -n
	}
	switch o {
	case opInt64:
		return putAs(to, n, n)
	case opInt32:
		return putAs(to, n, int32(n))
	case opInt16:
		return putAs(to, n, int16(n))
	}
	return putAs(to, n, int8(n))
}

// putUint is putInt for types without a sign.
func putUint(o op, to pointer, v uint64) bool {
	switch o {
	case opUint64:
		return putAs(to, v, v)
	case opUint32:
		return putAs(to, v, uint32(v))
	case opUint16:
		return putAs(to, v, uint16(v))
	}
	return putAs(to, v, uint8(v))
}

// putAs stores a number in a variable of type T, if as a T it is still the number.
func putAs[N int64 | uint64, T int64 | int32 | int16 | int8 | uint64 | uint32 | uint16 | uint8](to pointer, n N, t T) bool {
	if N(t) != n {
		return false
	}
	*unsafex.As[T](to) = t
	return true
}

// pointer decodes into what a pointer leads to.
func (d *decoder) pointer(p *plan, to pointer, i int) int {
	at := unsafex.As[pointer](to)
	if d.peek(i) == 'n' {
		if i = d.word(i, "null"); i >= 0 {
			*at = nil
		}
		return i
	}
	if *at == nil {
		v := d.new(p.elem.mem)
		if v == nil {
			return -1
		}
		*at = v
	}
	if p.rules&stringTag != 0 {
		return d.quotedPointer(p, to, i)
	}
	return d.value(p.elem, *at, i)
}
