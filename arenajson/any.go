// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"encoding/json"
	"fmt"
	"math/bits"
	"reflect"
	"strconv"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// What any can hold, as the arena knows it.
var (
	anyMem    = arena.UnsafeTypeOf(reflect.TypeFor[any]())
	stringMem = arena.UnsafeTypeOf(reflect.TypeFor[string]())
	numberMem = arena.UnsafeTypeOf(numberType)
	floatMem  = arena.UnsafeTypeOf(reflect.TypeFor[float64]())
	sliceMem  = arena.UnsafeTypeOf(reflect.TypeFor[[]any]())
	mapMem    = arena.UnsafeTypeOf(reflect.TypeFor[map[string]any]())

	valueWord  = typeWord(Value{})
	stringWord = typeWord("")
	numberWord = typeWord(json.Number(""))
	floatWord  = typeWord(0.0)
	sliceWord  = typeWord([]any(nil))
)

// An eface is a value of type any: the address of its type, and that of the value (GC-1).
type eface struct{ typ, data pointer }

// typeWord is the address of the type of v.
func typeWord(v any) pointer {
	// SAFETY: v is an interface without methods.
	return unsafex.As[eface](unsafex.PtrOf(&v)).typ
}

// boxed is the variable at an address as a value of type any, without a copy. typ is the address of its type.
func boxed(typ, data pointer) any {
	e := eface{typ, data}
	// SAFETY: data leads to a variable of the type, which nothing changes afterwards.
	return *unsafex.As[any](unsafex.PtrOf(&e))
}

// anyInto decodes the value at i into an interface.
func (d *decoder) anyInto(p *plan, to pointer, i int) int {
	// SAFETY: the first word of every interface is nil if it is.
	if *unsafex.As[pointer](to) != nil {
		if next, ok := d.held(p, to, i); ok {
			return next
		}
	}
	null := d.peek(i) == 'n'
	if p.op == opInterface {
		if null {
			return d.mismatch(p, to, i)
		}
		return d.unfit(p, i, errNoInterface)
	}
	v, next := d.fresh(p, i)
	if v != nil || null && next >= 0 {
		*unsafex.As[any](to) = v
	}
	return next
}

// held decodes the value at i into what an interface holds: by version 2 into a copy, which the interface holds then, by version 1 only
// if that is a pointer. It reports false if the interface shall hold a new value.
func (d *decoder) held(p *plan, to pointer, i int) (int, bool) {
	holder := reflect.NewAt(p.typ, to).Elem()
	e := holder.Elem()
	aPointer, null := e.Kind() == reflect.Pointer && !e.IsNil(), d.peek(i) == 'n'
	switch legacy := p.rules&merges != 0; {
	case legacy && aPointer && null && e.Elem().Kind() == reflect.Pointer:
		if i = d.word(i, "null"); i >= 0 {
			e.Elem().SetZero()
		}
		return i, true
	case null:
		return 0, false
	case legacy && !aPointer, d.opts.ValuesForAny && e.Kind() != reflect.Pointer:
		holder.SetZero()
		return 0, false
	}
	f := frame{plan: planFor(planKey{e.Type(), p.rules.within()}), at: i}
	if aPointer {
		if f.to = e.UnsafePointer(); d.returns(f) {
			return d.stop(fmt.Errorf("arenajson: a pointer in an interface, of type %v, leads to itself, and to no variable for a value", e.Type())), true
		}
		d.frames = append(d.frames, f)
	}
	held := reflect.New(e.Type())
	held.Elem().Set(e)
	next := d.value(f.plan, held.UnsafePointer(), i)
	if aPointer {
		d.frames = d.frames[:len(d.frames)-1]
	}
	holder.Set(held.Elem())
	return next, true
}

// fresh is the value at i as what an interface holds that held nothing. After an error it is what was decoded before. The key of a map
// is no Value: Values are equal only if they are the same.
func (d *decoder) fresh(p *plan, i int) (any, int) {
	if !d.opts.ValuesForAny || p.rules&memberName != 0 {
		return d.any(i)
	}
	v, next := d.strictTree(i)
	if next < 0 {
		return nil, next
	}
	to := d.new(valueMem)
	if to == nil {
		return nil, -1
	}
	*unsafex.As[Value](to) = v
	return boxed(valueWord, to), next
}

// returns reports whether pointers in interfaces go in a circle that f is in, sooner or later: a frame is compared with the
// one whose number is the next smaller power of two (Brent, "An improved Monte Carlo factorization algorithm", 1980).
func (d *decoder) returns(f frame) bool {
	n := len(d.frames)
	return n > 0 && d.frames[1<<(bits.Len(uint(n))-1)-1] == f
}

// any is the value at i.
func (d *decoder) any(i int) (any, int) {
	switch c := d.peek(i); c {
	case '"':
		s, next := d.text(i + 1)
		if next < 0 {
			return nil, next
		}
		return d.boxText(stringMem, stringWord, s, next)
	case '{':
		return d.anyObject(i)
	case '[':
		return d.anyArray(i)
	case 't', 'f', 'n':
		next := d.scanner.skip(i)
		if next < 0 || c == 'n' {
			return nil, next
		}
		return c == 't', next
	}
	return d.anyNumber(i)
}

// boxText is a string, or json.Number, as any.
func (d *decoder) boxText(t *arena.UnsafeType, typ pointer, s string, next int) (any, int) {
	v := d.new(t)
	if v == nil {
		return nil, -1
	}
	*unsafex.As[string](v) = s
	return boxed(typ, v), next
}

// boxStack is what lies on the stack from an index on as a []any in an any.
func (d *decoder) boxStack(from, next int) (any, int) {
	h := d.new(sliceMem)
	if h == nil {
		return nil, -1
	}
	data, n := unstack(d, anyMem, &d.stack, from)
	if data == nil {
		return nil, -1
	}
	*headerAt(h) = sliceHeader{data, n, n}
	return boxed(sliceWord, h), next
}

// newObject is an empty map for an any, or nil if decoding ended.
func (d *decoder) newObject() map[string]any {
	m := d.newMap(mapMem)
	// SAFETY: a map is the address of its memory.
	return *unsafex.As[map[string]any](unsafex.PtrOf(&m))
}

func (d *decoder) anyNumber(i int) (any, int) {
	if d.opts.UseNumber {
		next := d.skipNumber(i)
		if next < 0 {
			return nil, next
		}
		return d.boxText(numberMem, numberWord, view(d.data[i:next]), next)
	}
	f, next, ok := d.float(i)
	if next < 0 {
		return nil, d.syntax()
	}
	if !ok {
		f, next = 0, d.misfit(floatType, i, next, withText, strconv.ErrRange)
	}
	v := d.new(floatMem)
	if v == nil {
		return nil, -1
	}
	*unsafex.As[float64](v) = f
	return boxed(floatWord, v), next
}

// anyArray is the array at i. Its values are collected on a stack, because arrays within it need memory of the same
// type in the arena before it is complete.
func (d *decoder) anyArray(i int) (any, int) {
	if i = d.enter(i); i < 0 {
		return nil, i
	}
	from := len(d.stack.items)
	for d.peek(i) != ']' || len(d.stack.items) > from {
		v, next := d.any(i)
		d.stack.items = append(d.stack.items, v)
		if i = next; i < 0 {
			break
		}
		i = d.after(i)
		if d.peek(i) != ',' {
			break
		}
		i = d.space(i + 1)
	}
	if i >= 0 {
		i = d.close(i, ']')
	}
	return d.boxStack(from, i)
}

// anyObject is the object at i.
func (d *decoder) anyObject(i int) (any, int) {
	if i = d.enter(i); i < 0 {
		return nil, i
	}
	m := d.newObject()
	if m == nil {
		return nil, -1
	}
	return m, d.anyMembers(m, i)
}

// anyMembers decodes the rest of an object into a map, from what stands behind its bracket. By version 2 the map is empty.
func (d *decoder) anyMembers(m map[string]any, i int) int {
	if d.peek(i) == '}' {
		return d.leave(i)
	}
	for {
		begin := i
		name, at := d.member(i)
		if at < 0 {
			return at
		}
		if d.strict {
			if _, ok := m[name]; ok {
				return d.repeated(begin)
			}
		}
		v, next := d.any(at)
		m[name] = v
		if next < 0 {
			return next
		}
		i = d.after(next)
		if d.peek(i) != ',' {
			return d.close(i, '}')
		}
		i = d.space(i + 1)
	}
}
