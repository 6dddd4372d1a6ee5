// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// A modeller makes random values of random types, with shared parts, cycles, overlapping slices and
// pointers into other values.
type modeller struct {
	rng   *rand.Rand
	types []reflect.Type
	vars  map[reflect.Type][]reflect.Value // Pointers to variables, by the variables' types.
	rows  map[reflect.Type][]reflect.Value // Slices, by type.
	tabs  map[reflect.Type][]reflect.Value // Maps, by type.
	inner bool                             // Also make pointers into variables.
	left  int
}

var plainTypes = []reflect.Type{reflect.TypeFor[int](), reflect.TypeFor[byte](), reflect.TypeFor[bool](), reflect.TypeFor[float32](), reflect.TypeFor[string](),
	reflect.TypeFor[string](), reflect.TypeFor[any](), reflect.TypeFor[any](), reflect.TypeFor[*member](), reflect.TypeFor[member](), reflect.TypeFor[[3]uint16](), reflect.TypeFor[struct{}]()}

func newModeller(seed uint64, inner bool) *modeller {
	m := &modeller{rng: rand.New(rand.NewPCG(seed, 1)), inner: inner, left: 300,
		vars: map[reflect.Type][]reflect.Value{}, rows: map[reflect.Type][]reflect.Value{}, tabs: map[reflect.Type][]reflect.Value{}}
	m.types = append(m.types, plainTypes...)
	for range 8 {
		m.types = append(m.types, m.newType())
	}
	return m
}

func (m *modeller) typ() reflect.Type { return m.types[m.rng.IntN(len(m.types))] }

func (m *modeller) newType() reflect.Type {
	switch m.rng.IntN(6) {
	case 0:
		return reflect.PointerTo(m.typ())
	case 1:
		return reflect.SliceOf(m.typ())
	case 2:
		return reflect.MapOf([]reflect.Type{reflect.TypeFor[string](), reflect.TypeFor[int]()}[m.rng.IntN(2)], m.typ())
	case 3:
		return reflect.ArrayOf(m.rng.IntN(7), m.typ())
	}
	fields := make([]reflect.StructField, 1+m.rng.IntN(5))
	for i := range fields {
		fields[i] = reflect.StructField{Name: fmt.Sprint("F", i), Type: m.typ()}
	}
	return reflect.StructOf(fields)
}

// fill gives v, which is addressable, a random value.
func (m *modeller) fill(v reflect.Value) {
	if m.left--; m.left < 0 {
		return
	}
	v = reflect.NewAt(v.Type(), v.Addr().UnsafePointer()).Elem() // Unexported fields, too.
	t := v.Type()
	switch t.Kind() {
	case reflect.Int:
		v.SetInt(m.rng.Int64())
	case reflect.Uint8, reflect.Uint16:
		v.SetUint(m.rng.Uint64() & 0xFF)
	case reflect.Bool:
		v.SetBool(m.rng.IntN(2) == 0)
	case reflect.Float32:
		v.SetFloat(float64(m.rng.IntN(100)))
	case reflect.String:
		v.SetString(strings.Repeat(string(rune('a'+m.rng.IntN(26))), m.rng.IntN(4)*m.rng.IntN(40)))
	case reflect.Pointer:
		m.fillPointer(v)
	case reflect.Slice:
		m.fillSlice(v)
	case reflect.Map:
		m.fillMap(v)
	case reflect.Interface:
		if m.rng.IntN(4) > 0 {
			e := reflect.New(m.typ()).Elem()
			m.fill(e)
			v.Set(e)
		}
	case reflect.Array:
		for i := range v.Len() {
			m.fill(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			m.fill(v.Field(i))
		}
	}
}

func (m *modeller) fillPointer(v reflect.Value) {
	e := v.Type().Elem()
	old := m.vars[e]
	switch n := m.rng.IntN(8); {
	case n == 0:
	case n < 4 && len(old) > 0:
		v.Set(old[m.rng.IntN(len(old))])
	default:
		p := reflect.New(e)
		v.Set(p)
		m.vars[e] = append(m.vars[e], p)
		m.fill(p.Elem())
		if m.inner {
			m.offer(p.Elem())
		}
	}
}

// offer makes pointers to the fields and elements of v known, so that others may lead there.
func (m *modeller) offer(v reflect.Value) {
	if m.rng.IntN(4) > 0 {
		return
	}
	part := func(f reflect.Value) {
		p := reflect.NewAt(f.Type(), f.Addr().UnsafePointer())
		m.vars[f.Type()] = append(m.vars[f.Type()], p)
		m.offer(f)
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			part(v.Field(i))
		}
	case reflect.Array, reflect.Slice:
		if v.Len() > 0 {
			part(v.Index(m.rng.IntN(v.Len())))
		}
	}
}

func (m *modeller) fillSlice(v reflect.Value) {
	old := m.rows[v.Type()]
	switch n := m.rng.IntN(8); {
	case n == 0:
	case n < 4 && len(old) > 0:
		s := old[m.rng.IntN(len(old))]
		if k := s.Len(); m.rng.IntN(2) == 0 && k > 0 {
			from := m.rng.IntN(k)
			s = s.Slice(from, from+m.rng.IntN(k-from+1))
		}
		v.Set(s)
	default:
		k := m.rng.IntN(5)
		v.Set(reflect.MakeSlice(v.Type(), k, k+m.rng.IntN(3)))
		m.rows[v.Type()] = append(m.rows[v.Type()], v.Slice(0, k))
		for i := range k {
			m.fill(v.Index(i))
		}
		if m.inner {
			m.offer(v)
		}
	}
}

func (m *modeller) fillMap(v reflect.Value) {
	old := m.tabs[v.Type()]
	switch n := m.rng.IntN(6); {
	case n == 0:
	case n < 3 && len(old) > 0:
		v.Set(old[m.rng.IntN(len(old))])
	default:
		table := reflect.MakeMap(v.Type())
		v.Set(table)
		m.tabs[v.Type()] = append(m.tabs[v.Type()], table)
		for range m.rng.IntN(4) {
			key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			m.fill(key)
			m.fill(elem)
			table.SetMapIndex(key, elem)
		}
	}
}

// leadsInside says whether a pointer of the graph leads into another variable or slice of it, by all
// pairs: seats are those that the comparison of the graph with itself has found.
func leadsInside(seats []seat) bool {
	for _, p := range seats {
		if p.what != reflect.Pointer {
			continue
		}
		e := p.typ.Elem()
		for _, s := range seats {
			switch in := p.at - s.at; {
			case s.what == reflect.Pointer && s.at <= p.at && holdsAt(s.typ.Elem(), in, e) && s.typ != p.typ:
				return true
			case s.what == reflect.Slice && s.at <= p.at && s.typ.Elem().Size() > 0 && in/s.typ.Elem().Size() < uintptr(s.len):
				if in %= s.typ.Elem().Size(); in == 0 && s.typ.Elem() == e || holdsAt(s.typ.Elem(), in, e) {
					return true
				}
			}
		}
	}
	return false
}

// holdsAt says whether a part of t at the offset is a part.
func holdsAt(t reflect.Type, off uintptr, part reflect.Type) bool {
	inside := func(t reflect.Type, off uintptr) bool { return off == 0 && t == part || holdsAt(t, off, part) }
	switch t.Kind() {
	case reflect.Array:
		return t.Len() > 0 && off < t.Size() && inside(t.Elem(), off%t.Elem().Size())
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); off >= f.Offset && off-f.Offset < f.Type.Size() && inside(f.Type, off-f.Offset) {
				return true
			}
		}
	}
	return false
}

// try copies a random value in all ways and judges the copies.
func (m *modeller) try(t *testing.T, seed uint64) {
	root := reflect.New(m.types[len(plainTypes)+m.rng.IntN(8)])
	m.fill(root.Elem())
	v := root.Elem().Interface()
	original := comparer{copies: map[seat]uintptr{}, origins: map[seat]uintptr{}}
	original.walk(reflect.ValueOf(&v).Elem())
	inside := leadsInside(original.spans)
	a := NewArena()
	defer a.Free()
	onHeap, err := Heap(v)
	inArena, err2 := DeepClone(a, v)
	if inside {
		for _, err := range []error{err, err2} {
			if !errors.Is(err, ErrUncloneable) || !strings.Contains(err.Error(), "leads into a variable") {
				t.Fatalf("seed %d: a %T with a pointer into a copied value: %v", seed, v, err)
			}
		}
		return
	}
	if err = errors.Join(err, err2); err != nil {
		t.Fatalf("seed %d: a %T: %v", seed, v, err)
	}
	back, err := Heap(inArena)
	if err := errors.Join(err, compare(&v, &onHeap), compare(&v, &inArena), compare(&inArena, &back)); err != nil {
		t.Fatalf("seed %d: a %T: %v", seed, v, err)
	}
	a.Reset(Keep)
	if _, err := DeepClone(a, onHeap); err != nil { // It lies where inArena lay.
		t.Fatal(err)
	}
	if err := compare(&v, &back); err != nil {
		t.Fatalf("seed %d: a %T, after the arena's reset: %v", seed, v, err)
	}
}

// walk finds the seats of one value.
func (c *comparer) walk(x reflect.Value) {
	switch x.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice:
		if x.IsNil() || x.Kind() == reflect.Slice && x.Len() == 0 || x.Kind() != reflect.Map && x.Type().Elem().Size() == 0 {
			return
		}
		n := 1
		if x.Kind() == reflect.Slice {
			n = x.Len()
		}
		s := seat{uintptr(x.UnsafePointer()), x.Type(), n, x.Kind()}
		if _, ok := c.copies[s]; ok {
			return
		}
		c.copies[s] = 0
		c.spans = append(c.spans, s)
	}
	switch x.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !x.IsNil() {
			c.walk(x.Elem())
		}
	case reflect.Slice, reflect.Array:
		for i := range x.Len() {
			c.walk(x.Index(i))
		}
	case reflect.Map:
		for it := x.MapRange(); it.Next(); {
			c.walk(it.Value())
		}
	case reflect.Struct:
		for i := range x.NumField() {
			c.walk(x.Field(i))
		}
	}
}

// TestDeepCloneModels copies random values.
func TestDeepCloneModels(t *testing.T) {
	if debugging() {
		t.Skip("each value costs pages")
	}
	n := uint64(2000)
	if testing.Short() {
		n = 300
	}
	for seed := range n {
		newModeller(seed, seed%2 == 1).try(t, seed)
	}
}

func FuzzDeepClone(f *testing.F) {
	f.Add(uint64(1), true)
	f.Add(uint64(2), false)
	f.Fuzz(func(t *testing.T, seed uint64, inner bool) { newModeller(seed, inner).try(t, seed) })
}
