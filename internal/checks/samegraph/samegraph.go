// SPDX-License-Identifier: Apache-2.0

// Package samegraph compares a graph of Go values with its copy.
//
// It is an oracle for tests of deep copies: it walks both graphs side by side, by package reflect
// alone, and is slow and simple.
//
// A piece is the memory of a variable, of an array behind a slice, or of a string. The copy is right
// if each piece of the graph that the rule does not share has a piece in the copy with the same
// content, and each part of it that several pointers, slices or strings lead to is one part in the
// copy. So cycles, equal pointers, interior pointers and overlapping slices are compared. No byte
// belongs to both graph and copy. The rule (rule.go) says which memory is shared.
//
// Map keys are paired by what they lead to, so numbers behind pointers that are keys must differ.
package samegraph

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// Compare compares the graph that x leads to with its copy y, which shares nothing with it.
func Compare[T any](x, y T) error { return CompareBy(Rule{}, x, y) }

// CompareBy compares the graph that x leads to with its copy y, which shares with it what the rule
// says.
func CompareBy[T any](r Rule, x, y T) error {
	m := &matcher{Rule: r, seen: map[cell]bool{}, maps: map[uintptr]uintptr{}}
	v, w := reflect.ValueOf(&x).Elem(), reflect.ValueOf(&y).Elem()
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		m.root = Span{v.Pointer(), v.Pointer() + v.Type().Elem().Size()}
	}
	m.value(v, w)
	if m.err != nil {
		return m.err
	}
	return m.pieces.check()
}

type matcher struct {
	Rule
	root   Span // The variable that the root points to.
	pieces pieces
	seen   map[cell]bool // What was compared.
	maps   map[uintptr]uintptr
	held   int // How many structs around keep the bits of their fields.
	trail  trail
	err    error
}

// A cell is a value of the graph.
type cell struct {
	at  uintptr
	typ reflect.Type
}

func (m *matcher) fail(format string, args ...any) {
	if m.err == nil {
		m.err = fmt.Errorf("%s: %s", m.trail, fmt.Sprintf(format, args...))
	}
}

// part compares two values that are parts of others: a field, an element, an entry of a map.
func (m *matcher) part(step any, x, y reflect.Value) {
	m.trail = append(m.trail, step)
	m.value(x, y)
	m.trail = m.trail[:len(m.trail)-1]
}

// value compares two values. Their memory, if they have any, belongs to a piece already.
func (m *matcher) value(x, y reflect.Value) {
	switch {
	case m.err != nil || !x.IsValid() && !y.IsValid():
		return
	case !x.IsValid() || !y.IsValid() || x.Type() != y.Type():
		m.fail("%v became %v", x, y)
		return
	case x.Type().Size() == 0:
		return
	}
	if x.CanAddr() {
		c := cell{x.UnsafeAddr(), x.Type()}
		if m.held == 0 {
			if m.seen[c] {
				return
			}
			m.seen[c] = true
		}
	}
	switch x.Kind() {
	case reflect.Struct:
		m.fields(x, y)
	case reflect.Array:
		for i := range x.Len() {
			m.part(i, x.Index(i), y.Index(i))
		}
	default:
		m.leaf(x, y)
	}
}

func (m *matcher) fields(x, y reflect.Value) {
	t := x.Type()
	if t.PkgPath() == "sync/atomic" && strings.HasPrefix(t.Name(), "Pointer[") {
		m.atomic(x, y)
		return
	}
	holds := m.Holds != nil && m.Holds(t)
	for i := range t.NumField() {
		f := t.Field(i)
		if holds && !f.IsExported() {
			m.held++
		}
		m.part("."+f.Name, x.Field(i), y.Field(i))
		if holds && !f.IsExported() {
			m.held--
		}
	}
}

// atomic compares what two atomic.Pointers lead to, if they are addressable.
func (m *matcher) atomic(x, y reflect.Value) {
	if !x.CanAddr() {
		return
	}
	load := func(v reflect.Value) reflect.Value {
		return reflect.NewAt(v.Type(), v.Addr().UnsafePointer()).MethodByName("Load").Call(nil)[0]
	}
	m.value(load(x), load(y))
}

func (m *matcher) leaf(x, y reflect.Value) {
	switch x.Kind() {
	case reflect.Pointer:
		m.pointer(x, y)
	case reflect.Interface:
		m.iface(x, y)
	case reflect.Slice:
		m.slice(x, y)
	case reflect.String:
		m.text(x.String(), y.String())
	case reflect.Map:
		m.table(x, y)
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		if !x.IsNil() || !y.IsNil() {
			m.fail("a %s is not nil", x.Type())
		}
	default:
		if !x.Equal(y) {
			m.fail("%v became %v", x, y)
		}
	}
}

func (m *matcher) pointer(x, y reflect.Value) {
	if x.IsNil() != y.IsNil() {
		m.fail("%v became %v", x, y)
	}
	if x.IsNil() || y.IsNil() {
		return
	}
	p, q, size := x.Pointer(), y.Pointer(), x.Type().Elem().Size()
	if m.held > 0 || size != 0 && isIn(m.Globals, p) && !m.root.has(p) {
		m.shared(p, q)
		return
	}
	if size != 0 {
		m.add(p, q, size, size)
		m.value(x.Elem(), y.Elem())
	}
}

// shared checks that the copy leads to the same memory.
func (m *matcher) shared(p, q uintptr) {
	if p != q {
		m.fail("leads to %#x, which is shared, and to %#x in the copy", p, q)
	}
}

func (m *matcher) iface(x, y reflect.Value) {
	if x.IsNil() != y.IsNil() {
		m.fail("%v became %v", x, y)
		return
	}
	if m.err == nil && !x.IsNil() && y.CanAddr() && m.held == 0 && isBoxed(y.Elem().Type()) {
		box := *unsafex.As[[2]uintptr](y.Addr().UnsafePointer())
		m.checkInside(Span{box[1], box[1] + y.Elem().Type().Size()})
	}
	m.value(x.Elem(), y.Elem())
}

// isBoxed says whether an interface certainly has the address of a value of type t, and not the
// value itself.
func isBoxed(t reflect.Type) bool {
	return t.Size() > 0 && t.Size() != reflect.TypeFor[uintptr]().Size()
}

func (m *matcher) slice(x, y reflect.Value) {
	if x.Len() != y.Len() || x.Cap() != y.Cap() || x.IsNil() != y.IsNil() {
		m.fail("a slice of %d of %d became one of %d of %d", x.Len(), x.Cap(), y.Len(), y.Cap())
		return
	}
	p, q, size := x.Pointer(), y.Pointer(), x.Type().Elem().Size()
	if m.held > 0 {
		m.shared(p, q)
		return
	}
	if x.Cap() == 0 || size == 0 {
		return
	}
	m.add(p, q, uintptr(x.Len())*size, uintptr(x.Cap())*size)
	for i := range x.Len() {
		m.part(i, x.Index(i), y.Index(i))
	}
}

func (m *matcher) text(x, y string) {
	if x != y {
		m.fail("%q became %q", x, y)
		return
	}
	if len(x) == 0 {
		return
	}
	p, q, n := unsafex.PtrAddr(unsafex.StringData(x)), unsafex.PtrAddr(unsafex.StringData(y)), uintptr(len(x))
	if m.held > 0 {
		m.shared(p, q)
		return
	}
	m.add(p, q, n, n)
}

// add notes that the graph's memory at p has its copy at q: n bytes, of which the first are live.
func (m *matcher) add(p, q, live, n uintptr) {
	m.pieces = append(m.pieces, piece{p, q, live, n, slices.Clone(m.trail)})
	m.checkInside(Span{q, q + n})
}

func (m *matcher) checkInside(s Span) {
	if m.Inside != nil && !m.Inside(s) {
		m.fail("the copy, at %#x to %#x, is not in the destination's memory", s.From, s.End)
	}
}

// table compares two maps. The keys of both are paired by what they lead to.
func (m *matcher) table(x, y reflect.Value) {
	if x.Len() != y.Len() || x.IsNil() != y.IsNil() {
		m.fail("a map of %d became one of %d", x.Len(), y.Len())
		return
	}
	if known, ok := m.maps[x.Pointer()]; ok || x.IsNil() {
		if known != y.Pointer() {
			m.fail("one map became two")
		}
		return
	}
	if x.Pointer() == y.Pointer() {
		m.fail("the map was not copied")
	}
	m.maps[x.Pointer()] = y.Pointer()
	keys := map[string]reflect.Value{}
	for _, k := range y.MapKeys() {
		keys[keyText(k)] = k
	}
	if len(keys) != y.Len() {
		m.fail("two keys are alike")
	}
	for _, k := range x.MapKeys() {
		other, ok := keys[keyText(k)]
		if !ok || !y.MapIndex(other).IsValid() {
			m.fail("the key %s is lost", keyText(k))
			return
		}
		m.part(" key "+keyText(k), k, other)
		m.part("["+keyText(k)+"]", x.MapIndex(k), y.MapIndex(other))
	}
}
