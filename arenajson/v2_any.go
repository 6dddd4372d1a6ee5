// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// anyV2 decodes the value at i into an interface. If that holds a value, it decodes into a copy, which the interface holds then.
func (d *decoder) anyV2(p *plan, to pointer, i int) int {
	c := d.peek(i)
	if c == 'n' && !d.opts.ValuesForAny {
		if i = d.word(i, "null"); i >= 0 {
			p.zero(to)
		}
		return i
	}
	// SAFETY: the first word of every interface is nil if it is.
	if *unsafex.As[pointer](to) != nil {
		return d.heldV2(p, to, i)
	}
	if p.op == opInterface || p.rules.quoted && p.typ != anyType && (c == '-' || c-'0' <= 9) {
		return d.mismatchV2(p, to, i)
	}
	var v any
	next := i
	if !d.opts.ValuesForAny {
		v, next = d.freshV2(i)
	} else if next = d.skipV2(i); next >= 0 {
		v, next = d.fresh(i)
	}
	if v != nil {
		*unsafex.As[any](to) = v
	}
	return next
}

// heldV2 decodes the value at i into a copy of what an interface holds.
func (d *decoder) heldV2(p *plan, to pointer, i int) int {
	if len(d.frames) >= maxDepth {
		return d.stop(fmt.Errorf("arenajson: the any at offset %d holds a pointer to itself", i))
	}
	holder := reflect.NewAt(p.typ, to).Elem()
	if d.opts.ValuesForAny && (holder.Elem().Kind() != reflect.Pointer || d.peek(i) == 'n') {
		holder.SetZero()
		return d.anyV2(p, to, i)
	}
	held := reflect.New(holder.Elem().Type())
	held.Elem().Set(holder.Elem())
	inner := planV2(keyV2{typ: held.Type().Elem(), quoted: p.rules.quoted})
	d.frames = append(d.frames, frame{plan: inner, at: i})
	next := d.valueV2(inner, held.UnsafePointer(), i)
	d.frames = d.frames[:len(d.frames)-1]
	holder.Set(held.Elem())
	return next
}

// freshV2 is the value at i. After an error it is what was decoded before.
func (d *decoder) freshV2(i int) (any, int) {
	switch c := d.peek(i); c {
	case '"':
		s, next := d.textV2(i + 1)
		if next < 0 {
			return nil, next
		}
		return d.boxText(stringMem, stringWord, s, next)
	case '{':
		return d.objectForAny(i)
	case '[':
		return d.arrayForAny(i)
	case 't', 'f', 'n':
		if v, next := d.any(i); next >= 0 {
			return v, next
		}
		return nil, -1
	}
	if d.opts.UseNumber {
		return d.anyNumber(i)
	}
	f, next, ok := d.float(i)
	if next < 0 {
		return nil, d.syntax()
	}
	if !ok {
		text := string(d.input[i:next])
		f = math.MaxFloat64
		if text[0] == '-' {
			f = -f
		}
		d.stop(d.explained(&json.UnmarshalTypeError{Value: "number " + text, Type: floatType, Offset: int64(next)}, i))
		return f, -1
	}
	return d.boxFloat(f, next)
}

// arrayForAny is the array at i. Its values are collected on a stack, as in anyArray.
func (d *decoder) arrayForAny(i int) (any, int) {
	if i = d.enter(i); i < 0 {
		return nil, i
	}
	from := len(d.stack.items)
	for d.peek(i) != ']' || len(d.stack.items) > from {
		var v any
		v, i = d.freshV2(i)
		d.stack.items = append(d.stack.items, v)
		if i < 0 {
			break
		}
		if i = d.after(i); d.peek(i) != ',' {
			break
		}
		i = d.space(i + 1)
	}
	if i >= 0 {
		i = d.close(i, ']')
	}
	return d.boxStack(from, i)
}

// objectForAny is the object at i.
func (d *decoder) objectForAny(i int) (any, int) {
	if i = d.enter(i); i < 0 {
		return nil, i
	}
	m := d.newObject()
	if m == nil {
		return nil, -1
	}
	if d.peek(i) == '}' {
		return m, d.leave(i)
	}
	for {
		if d.peek(i) != '"' {
			return m, d.syntax()
		}
		name, next := d.textV2(i + 1)
		if next < 0 {
			return m, next
		}
		if next = d.colon(next); next < 0 {
			return m, next
		}
		if _, ok := m[name]; ok {
			return m, d.duplicate(name, i)
		}
		v, next := d.freshV2(next)
		m[name] = v
		if next < 0 {
			return m, next
		}
		if i = d.after(next); d.peek(i) != ',' {
			return m, d.close(i, '}')
		}
		i = d.space(i + 1)
	}
}
