// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"reflect"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/internal/unsafex"
)

var (
	valueMem  = arena.UnsafeTypeOf(reflect.TypeFor[Value]())
	memberMem = arena.UnsafeTypeOf(reflect.TypeFor[member]())
)

// Parse reads a document of any shape into a tree of Values in a. It costs a little more than to check the document. The
// input is copied to a once, and strings and numbers are parts of the copy; with [Options.AliasInput] they are parts of
// the input itself. With a nil a the tree lies on the Go heap, in memory that belongs to this document alone.
//
// If the input is no JSON, the error is the *json.SyntaxError of encoding/json, and nothing refers to what was
// allocated. If a limit of a refuses memory, the error wraps [offheap.ErrLimit].
func Parse(a *arena.Arena, data []byte, o ...Options) (Value, error) {
	d, err := newDecoder(a, data, o)
	if err != nil {
		return Value{}, err
	}
	var v Value
	if d.copyInput() {
		var i int
		v, i = d.strictTree(d.space(0))
		if i >= 0 && !d.stopped && !d.ends(i) {
			d.syntax()
		}
	}
	err, _, stopped := d.end()
	if stopped {
		return Value{}, err
	}
	return v, err
}

// strictTree is tree for a value that version 2 may refuse.
func (d *decoder) strictTree(i int) (Value, int) {
	if d.strict && d.skip(i) < 0 {
		return Value{}, -1
	}
	return d.tree(i)
}

// tree is the value at i, and the index behind it.
func (d *decoder) tree(i int) (Value, int) {
	switch d.peek(i) {
	case '"':
		s, next := d.text(i + 1)
		return made(String, unsafex.StringData(s), len(s)), next
	case '{':
		return d.treeObject(i)
	case '[':
		return d.treeArray(i)
	case 't':
		return Value{meta: uint64(True)}, d.word(i, "true")
	case 'f':
		return Value{meta: uint64(False)}, d.word(i, "false")
	case 'n':
		return Value{meta: uint64(Null)}, d.word(i, "null")
	}
	next := d.skipNumber(i)
	if next < 0 {
		return Value{}, next
	}
	return made(Number, unsafex.Add(unsafex.DataOf(d.data), uintptr(i)), next-i), next
}

// mostTaken is how many items are cut from a cursor at a time: no more bytes than it takes.
const mostTaken = 1 << 15

// unstack moves what lies on a stack from an index on to memory of its size. The address is nil if there is none.
func unstack[T any](d *decoder, t *arena.UnsafeType, s *stack[T], from int) (pointer, int) {
	top := s.items[from:]
	n := len(top)
	if n == 0 {
		return unsafex.PtrOf(&emptySlice), 0
	}
	s.used = max(s.used, from+n)
	var p pointer
	if s.cursor != nil && n <= mostTaken {
		p = s.cursor.Take(uintptr(n) * unsafex.Size[T]())
	}
	if p == nil {
		if p = d.makeSlice(t, n); p == nil {
			return nil, 0
		}
		s.cursor = d.cursor(t)
	}
	to := unsafex.SliceOf[T](p, n, n)
	if n <= 4 { // A copy of pointers is a call of the runtime's.
		for i := range to {
			to[i] = top[i]
		}
	} else {
		copy(to, top)
	}
	s.items = s.items[:from]
	return p, n
}

// cursor is where values are cut from until the document ends.
func (d *decoder) cursor(t *arena.UnsafeType) *arena.UnsafeCursor {
	if d.a == nil {
		return d.slabs.Cursor(t)
	}
	return d.a.UnsafeCursor(t)
}

// treeArray is the array at i.
func (d *decoder) treeArray(i int) (Value, int) {
	if i = d.enter(i); i < 0 {
		return Value{}, i
	}
	from := len(d.values.items)
	for d.peek(i) != ']' || len(d.values.items) > from {
		v, next := d.tree(i)
		if next < 0 {
			return Value{}, next
		}
		d.values.items = append(d.values.items, v)
		if d.peek(next) == ',' && d.peek(next+1) > ' ' {
			i = next + 1
			continue
		}
		if i = d.after(next); d.peek(i) != ',' {
			break
		}
		i = d.space(i + 1)
	}
	if i = d.close(i, ']'); i < 0 {
		return Value{}, i
	}
	p, n := unstack(d, valueMem, &d.values, from)
	if p == nil {
		return Value{}, -1
	}
	return made(Array, p, n), i
}

// treeObject is the object at i.
func (d *decoder) treeObject(i int) (Value, int) {
	if i = d.enter(i); i < 0 {
		return Value{}, i
	}
	from := len(d.members.items)
	for d.peek(i) != '}' || len(d.members.items) > from {
		name, at := d.member(i)
		if at < 0 {
			return Value{}, at
		}
		v, next := d.tree(at)
		if next < 0 {
			return Value{}, next
		}
		d.members.items = append(d.members.items, member{name, v})
		if d.peek(next) == ',' && d.peek(next+1) == '"' {
			i = next + 1
			continue
		}
		if i = d.after(next); d.peek(i) != ',' {
			break
		}
		i = d.space(i + 1)
	}
	if i = d.close(i, '}'); i < 0 {
		return Value{}, i
	}
	p, n := unstack(d, memberMem, &d.members, from)
	if p == nil {
		return Value{}, -1
	}
	return made(Object, p, n), i
}

// UnmarshalJSON makes *v the value that text stands for, on the Go heap, so that encoding/json can decode into a Value. The functions of
// this package decode into their arena instead, and call it only where a type has it from an embedded Value.
func (v *Value) UnmarshalJSON(text []byte) error {
	parsed, err := Parse(nil, text)
	if err == nil {
		*v = parsed
	}
	return err
}

// As decodes v into a new T in a, as [Unmarshal] decodes the document that v stands for. It is an error if arrays and
// objects are nested more than 10000 deep.
func As[T any](a *arena.Arena, v Value, o ...Options) (*T, error) {
	text, err := v.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return Unmarshal[T](a, text, o...)
}
