// Package samegraph compares a graph of Go values with its copy.
//
// It is an oracle for tests of deep copies: it walks both graphs side by side, by package reflect
// alone, and is slow and simple.
//
// A cell is a place in memory with a number, a bool, a pointer, a header of a string, a slice, a
// map or an interface, or one byte of a string. The copy is right if each cell of the graph has one
// cell in the copy, whichever way leads there, each cell of the copy has one in the graph, both
// hold the same, and no cell belongs to both. So cycles, equal pointers, interior pointers and
// overlapping slices are compared.
//
// Map keys are paired by what they lead to, so numbers behind pointers that are keys must differ.
package samegraph

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// Compare compares the graph that x leads to with its copy y.
func Compare(x, y any) error {
	m := &matcher{to: map[uintptr]uintptr{}, from: map[uintptr]uintptr{}, seen: map[uintptr]bool{}, maps: map[uintptr]uintptr{}}
	m.value("v", reflect.ValueOf(x), reflect.ValueOf(y))
	for a := range m.to {
		if _, both := m.from[a]; both {
			m.fail("v", "a cell at %#x is in the graph and in the copy", a)
		}
	}
	return m.err
}

type matcher struct {
	to, from map[uintptr]uintptr // Cells of the graph to cells of the copy, and back.
	seen     map[uintptr]bool    // Cells of the graph that were compared.
	maps     map[uintptr]uintptr
	err      error
}

func (m *matcher) fail(path, format string, args ...any) {
	if m.err == nil {
		m.err = fmt.Errorf("%s: %s", path, fmt.Sprintf(format, args...))
	}
}

// pair notes that the cell a has the cell b in the copy.
func (m *matcher) pair(path string, a, b uintptr) {
	to, known := m.to[a]
	from, back := m.from[b]
	if known != back || known && (to != b || from != a) {
		m.fail(path, "the cell at %#x is %#x in the copy, and was %#x; that was %#x", a, b, to, from)
	}
	m.to[a], m.from[b] = b, a
}

// value compares two values. x and y are addressable or neither is.
func (m *matcher) value(path string, x, y reflect.Value) {
	switch {
	case m.err != nil || !x.IsValid() && !y.IsValid():
		return
	case !x.IsValid() || !y.IsValid() || x.Type() != y.Type():
		m.fail(path, "%v became %v", x, y)
		return
	case x.Type().Size() == 0:
		return
	}
	switch x.Kind() {
	case reflect.Struct:
		if t := x.Type(); t.PkgPath() == "sync/atomic" && strings.HasPrefix(t.Name(), "Pointer[") {
			m.atomic(path, x, y)
			return
		}
		for i := range x.NumField() {
			m.value(path+"."+x.Type().Field(i).Name, x.Field(i), y.Field(i))
		}
		return
	case reflect.Array:
		for i := range x.Len() {
			m.value(path+"["+strconv.Itoa(i)+"]", x.Index(i), y.Index(i))
		}
		return
	}
	if x.CanAddr() {
		a := x.UnsafeAddr()
		m.pair(path, a, y.UnsafeAddr())
		if m.seen[a] {
			return
		}
		m.seen[a] = true
	}
	m.leaf(path, x, y)
}

// atomic compares what two atomic.Pointers lead to, if they are addressable.
func (m *matcher) atomic(path string, x, y reflect.Value) {
	if !x.CanAddr() {
		return
	}
	m.pair(path, x.UnsafeAddr(), y.UnsafeAddr())
	if a := x.UnsafeAddr(); !m.seen[a] {
		m.seen[a] = true
		load := func(v reflect.Value) reflect.Value {
			return reflect.NewAt(v.Type(), v.Addr().UnsafePointer()).MethodByName("Load").Call(nil)[0]
		}
		m.value(path, load(x), load(y))
	}
}

func (m *matcher) leaf(path string, x, y reflect.Value) {
	switch x.Kind() {
	case reflect.Pointer, reflect.Interface:
		if x.IsNil() != y.IsNil() {
			m.fail(path, "%v became %v", x, y)
		} else {
			m.value(path, x.Elem(), y.Elem())
		}
	case reflect.Slice:
		m.slice(path, x, y)
	case reflect.String:
		m.text(path, x.String(), y.String())
	case reflect.Map:
		m.table(path, x, y)
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		if !x.IsNil() || !y.IsNil() {
			m.fail(path, "a %s is not nil", x.Type())
		}
	default:
		if !x.Equal(y) {
			m.fail(path, "%v became %v", x, y)
		}
	}
}

func (m *matcher) slice(path string, x, y reflect.Value) {
	if x.Len() != y.Len() || x.Cap() != y.Cap() || x.IsNil() != y.IsNil() {
		m.fail(path, "a slice of %d of %d became one of %d of %d", x.Len(), x.Cap(), y.Len(), y.Cap())
		return
	}
	for i := range x.Len() {
		m.value(path+"["+strconv.Itoa(i)+"]", x.Index(i), y.Index(i))
	}
	size := x.Type().Elem().Size()
	for i := x.Len(); i < x.Cap() && size != 0; i++ { // What lies there is not compared, but where.
		m.pair(path, x.Pointer()+uintptr(i)*size, y.Pointer()+uintptr(i)*size)
	}
}

func (m *matcher) text(path string, x, y string) {
	if x != y {
		m.fail(path, "%q became %q", x, y)
		return
	}
	a, b := unsafex.PtrAddr(unsafex.StringData(x)), unsafex.PtrAddr(unsafex.StringData(y))
	for i := range uintptr(len(x)) {
		m.pair(path, a+i, b+i)
	}
}

func (m *matcher) table(path string, x, y reflect.Value) {
	if x.Len() != y.Len() || x.IsNil() != y.IsNil() {
		m.fail(path, "a map of %d became one of %d", x.Len(), y.Len())
		return
	}
	if known, ok := m.maps[x.Pointer()]; ok || x.IsNil() {
		if known != y.Pointer() {
			m.fail(path, "one map became two")
		}
		return
	}
	if x.Pointer() == y.Pointer() {
		m.fail(path, "the map was not copied")
	}
	m.maps[x.Pointer()] = y.Pointer()
	keys := map[string]reflect.Value{}
	for _, k := range y.MapKeys() {
		keys[keyText(k)] = k
	}
	if len(keys) != y.Len() {
		m.fail(path, "two keys are alike")
	}
	for _, k := range x.MapKeys() {
		other, ok := keys[keyText(k)]
		if !ok || !y.MapIndex(other).IsValid() {
			m.fail(path, "the key %s is lost", keyText(k))
			return
		}
		m.value(path+" key "+keyText(k), k, other)
		m.value(path+"["+keyText(k)+"]", x.MapIndex(k), y.MapIndex(other))
	}
}

// keyText names a map key by what it leads to.
func keyText(k reflect.Value) string {
	switch k.Kind() {
	case reflect.Pointer:
		if k.IsNil() {
			return "nil"
		}
		return "&" + keyText(k.Elem())
	case reflect.Interface:
		if k.IsNil() {
			return "nil"
		}
		return k.Elem().Type().String() + "(" + keyText(k.Elem()) + ")"
	case reflect.Struct:
		if k.NumField() > 0 {
			return "{" + keyText(k.Field(0)) + "}" // The first field tells values apart.
		}
	case reflect.Array:
		text := "["
		for i := range k.Len() {
			text += keyText(k.Index(i)) + " "
		}
		return text + "]"
	case reflect.String:
		return strconv.Quote(k.String())
	}
	return fmt.Sprint(k)
}
