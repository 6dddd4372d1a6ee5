// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"reflect"
	"strings"

	"github.com/freehold-go/freehold/internal/graph"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// Maps, and values that copy themselves. The walk copies the keys and the values of a map as two
// slices. At the end, when all that the keys lead to is complete, it fills the new map.

// A mapCopy is a map with its contents on the way.
type mapCopy struct {
	plan             *plan
	keys, values     reflect.Value // Slices.
	keysTo, valuesTo reflect.Value
	to               reflect.Value // A Go map,
	own              ownMap        // or a *Map.
}

// ownMap is what *Map implements.
type ownMap interface {
	// cloneTypes returns the types of keys and values. It is called with nil.
	cloneTypes() (key, value reflect.Type)
	// cloneStart returns an empty Map in a, its address, and slices of the keys and values.
	cloneStart(op string, a *Arena) (to ownMap, at unsafex.Ptr, keys, values reflect.Value, err error)
	// cloneFill puts entries into the Map.
	cloneFill(op string, keys, values reflect.Value) error
}

var ownMapType = reflect.TypeFor[ownMap]()

// copiesItself says whether values of t are copied by copyOwn.
func copiesItself(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && graph.CopierOf(t) != nil || t.Kind() == reflect.Pointer && isOwnMap(t.Elem()) && t.Implements(ownMapType)
}

// isOwnMap says whether t is a Map. A struct in which a Map is embedded has its methods, and is none.
func isOwnMap(t reflect.Type) bool {
	return t.PkgPath() == reflect.TypeFor[Arena]().PkgPath() && strings.HasPrefix(t.Name(), "Map[")
}

// copyOwn copies a *Map, or a value with a Copier.
func (w *walker) copyOwn(o *op, from, to unsafex.Ptr) {
	if o.typ.Kind() == reflect.Pointer {
		q := load(from)
		if q != nil {
			q = w.mapOf(o.to, q, from)
		}
		put(to, q)
		return
	}
	err := graph.CopierOf(o.typ)(func(t reflect.Type, n int) (unsafex.Ptr, error) {
		p := w.take(describeType(t), uintptr(n))
		return p, w.err
	}, from, to)
	if err != nil && w.err == nil {
		w.err = w.located(err, from)
	}
}

// mapOf returns the copy of the map at q, of which the pointer stands at from.
func (w *walker) mapOf(p *plan, q, from unsafex.Ptr) unsafex.Ptr {
	h := hashOf(p, q, 1)
	slot, b := w.find(h, p, q, 1, isMap)
	if b != nil {
		return b.dst
	}
	x := mapCopy{plan: p}
	var dst unsafex.Ptr
	if m := reflect.NewAt(p.typ, from).Elem(); p.typ.Kind() == reflect.Map {
		n := m.Len()
		x.to = reflect.MakeMapWithSize(p.typ, n)
		dst = x.to.UnsafePointer()
		x.keys, x.values = reflect.MakeSlice(p.key.desc.slice, n, n), reflect.MakeSlice(p.elem.desc.slice, n, n)
		it := m.MapRange()
		for k := 0; k < n && it.Next(); k++ {
			x.keys.Index(k).SetIterKey(it)
			x.values.Index(k).SetIterValue(it)
		}
	} else {
		if w.shared {
			w.fail("a Map cannot be copied to an arena made by NewShared; make a new Map there", from)
			return nil
		}
		if x.own, dst, x.keys, x.values, w.err = m.Interface().(ownMap).cloneStart(w.op, w.a); w.err != nil {
			return nil
		}
	}
	i := w.note(slot, h, p, q, dst, 1, isMap, from)
	x.keysTo, x.valuesTo = w.scratch(i, p.key, x.keys, isKeys), w.scratch(i, p.elem, x.values, isValues)
	w.maps = append(w.maps, x)
	return dst
}

// scratch returns where the copies of the keys or values s of the map in block i go. A Map copies
// strings of keys itself.
func (w *walker) scratch(i uint32, p *plan, s reflect.Value, kind blockKind) reflect.Value {
	if n := s.Len(); n != 0 && !p.flat() && !(kind == isKeys && p.texts && w.blocks[i].plan.typ.Kind() != reflect.Map) {
		to := reflect.MakeSlice(s.Type(), n, n)
		w.push(block{s.UnsafePointer(), to.UnsafePointer(), p, uintptr(n), uintptr(len(w.maps)), i, kind})
		return to
	}
	return s
}

// fill puts the copied entries into the map.
func (x *mapCopy) fill(op string) error {
	if x.own != nil {
		return x.own.cloneFill(op, x.keysTo, x.valuesTo)
	}
	for k := range x.keysTo.Len() {
		x.to.SetMapIndex(x.keysTo.Index(k), x.valuesTo.Index(k))
	}
	return nil
}

func (*Map[K, V]) cloneTypes() (key, value reflect.Type) {
	return reflect.TypeFor[K](), reflect.TypeFor[V]()
}

func (m *Map[K, V]) cloneStart(op string, a *Arena) (to ownMap, at unsafex.Ptr, keys, values reflect.Value, err error) {
	m.check(op)
	out := new(Map[K, V])
	out.self = out
	k, v := make([]K, 0, m.Len()), make([]V, 0, m.Len())
	for key, value := range m.All() {
		k, v = append(k, key), append(v, value)
	}
	return out, unsafex.PtrOf(out), reflect.ValueOf(k), reflect.ValueOf(v), out.start(op, a, m.Len())
}

func (m *Map[K, V]) cloneFill(op string, keys, values reflect.Value) error {
	k, v := keys.Interface().([]K), values.Interface().([]V)
	for i := range k {
		if err := m.set(op, k[i], v[i]); err != nil {
			return err
		}
	}
	return nil
}
