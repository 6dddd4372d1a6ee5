// SPDX-License-Identifier: Apache-2.0

package arenasuite

import (
	"fmt"
	"math"
	"reflect"

	"github.com/freehold-go/freehold/internal/checks/trial"
)

// A value is one value, slice or string in an arena, and what it must be.
type value struct {
	kind  Type // nil for a string
	value any  // *T, []T or string
	inner bool // What it points to lies in the arena, too.
	room  bool // It is a slice whose spare capacity belongs to no other value.

	check   func() error   // Is it what it must be?
	stale   func() error   // After it was freed: is it a value that it may be?
	rewrite func(seed int) // Make it another value; nil if others may see the same memory.
}

// appendOf is an Append to the slice of a value or, if that is nil, to one of the Go heap.
type appendOf struct {
	to       *value
	from, at int // s[from:at], and s[from:at:at] if clip is set.
	clip     bool
	n, seed  int // So many elements, of this series.
	inner    bool
}

func (f Funcs[T]) name() string      { return f.typ().String() }
func (f Funcs[T]) typ() reflect.Type { return reflect.TypeFor[T]() }

// fill returns the value that is to be stored: that of the series, with its parts in the arena if
// inner is set and they fit.
func (f Funcs[T]) fill(seed int, inner bool) (v T, err error) {
	v = f.Value(seed)
	if !inner || f.Inner == nil {
		return v, nil
	}
	var moved T
	err = tryOnly(func() (err error) { moved, err = f.Inner(v); return err })
	if err != nil {
		return v, err
	}
	return moved, nil
}

// tryOnly is try for a function whose panic is as good as an error.
func tryOnly(f func() error) error {
	err, _ := trial.Try(f)
	return err
}

// allocate makes a value and leaves it.
func (f Funcs[T]) allocate() error {
	return tryOnly(func() error { _, err := f.New(); return err })
}

// make makes one value.
func (f Funcs[T]) make(seed int, inner bool) (*value, error) {
	var p *T
	if err := tryOnly(func() (err error) { p, err = f.New(); return err }); err != nil {
		return nil, err
	}
	return f.take(p, seed, inner)
}

// adopt takes a value that NewOf made.
func (f Funcs[T]) adopt(p any, seed int) (*value, error) {
	t, ok := p.(*T)
	if !ok {
		return nil, brokenf("NewOf(%s) returned a %T", f.name(), p)
	}
	return f.take(t, seed, false)
}

// take checks that a value is zero and fills it. If its parts do not fit it is filled without.
func (f Funcs[T]) take(p *T, seed int, inner bool) (*value, error) {
	if p == nil {
		return nil, brokenf("New of %s returned nil and no error", f.name())
	}
	if err := f.aligned("a new value", p); err != nil {
		return nil, err
	}
	var zero T
	if !reflect.DeepEqual(*p, zero) {
		return nil, brokenf("a new %s at %p is %+v, want the zero value", f.name(), p, *p)
	}
	v, err := f.fill(seed, inner)
	*p = v
	g := f.detached()
	if reflect.TypeFor[T]().Size() == 0 {
		return &value{kind: f, value: p, check: func() error { return nil }, stale: func() error { return nil }}, err
	}
	return &value{
		kind: f, value: p, inner: inner,
		check: func() error { return g.same(p, seed, p) },
		stale: func() error { return g.lookStale(p) },
		rewrite: func(to int) {
			seed, *p = to, g.Value(to)
		},
	}, err
}

// aligned says whether a value lies where one of its type may.
func (f Funcs[T]) aligned(what string, p *T) error {
	if align := f.typ().Align(); reflect.ValueOf(p).Pointer()%uintptr(align) != 0 {
		return brokenf("%s of %s lies at %p, want a multiple of %d: it is misaligned", what, f.name(), p, align)
	}
	return nil
}

// readStale checks a freed value. A fault passes, too: an arena may make the memory of freed values
// inaccessible.
func (v *value) readStale() error { return unlessItFaults(v.stale) }

// detached is what checks need. It does not keep the arena alive.
func (f Funcs[T]) detached() Funcs[T] {
	return Funcs[T]{Value: f.Value, Stale: f.Stale}
}

// same compares a value with that of a series.
func (f Funcs[T]) same(p *T, seed int, at any) error {
	if want := f.Value(seed); !reflect.DeepEqual(*p, want) {
		return fmt.Errorf("a live %s at %p is %+v, the model has %+v", f.name(), at, *p, want)
	}
	return nil
}

func (f Funcs[T]) lookStale(p *T) error {
	if f.Stale == nil {
		_ = *p
		return nil
	}
	if err := f.Stale(p); err != nil {
		return fmt.Errorf("a stale %s at %p: %w", f.name(), p, err)
	}
	return nil
}

// makeSlice makes a slice. If full is set its spare capacity is written to as well.
func (f Funcs[T]) makeSlice(seed, length, capacity int, full, inner bool) (*value, error) {
	if f.MakeSlice == nil {
		return f.make(seed, inner)
	}
	var s []T
	if err := tryOnly(func() (err error) { s, err = f.MakeSlice(length, capacity); return err }); err != nil {
		return nil, err
	}
	if len(s) != length || cap(s) != capacity {
		return nil, brokenf("MakeSlice of %s: length %d and capacity %d, want %d and %d", f.name(), len(s), cap(s), length, capacity)
	}
	if capacity > 0 {
		if err := f.aligned("the first element of a new slice", &s[:1][0]); err != nil {
			return nil, err
		}
	}
	for i := range s[:capacity] {
		var zero T
		if e := s[:capacity][i]; !reflect.DeepEqual(e, zero) {
			return nil, brokenf("element %d of a new slice of %s is %+v, want the zero value", i, f.name(), e)
		}
	}
	if full {
		s = s[:capacity]
	}
	seeds := make([]int, len(s))
	var failed error
	for i := range s {
		seeds[i] = seed + i
		v, err := f.fill(seeds[i], inner && failed == nil)
		if err != nil {
			failed = err
		}
		s[i] = v
	}
	return f.slice(s, seeds, inner, capacity > len(s)), failed
}

// slice is the value of a slice whose elements are of the series.
func (f Funcs[T]) slice(s []T, seeds []int, inner, room bool) *value {
	g := f.detached()
	return &value{
		kind: f, value: s, inner: inner, room: room,
		check: func() error {
			for i := range s {
				if err := g.same(&s[i], seeds[i], &s[0]); err != nil {
					return fmt.Errorf("element %d of %d: %w", i, len(s), err)
				}
			}
			return nil
		},
		stale: func() error {
			for i := range s[:cap(s)] {
				if err := g.lookStale(&s[:cap(s)][i]); err != nil {
					return fmt.Errorf("element %d of %d: %w", i, len(s), err)
				}
			}
			return nil
		},
	}
}

// grow appends. The old slice keeps its elements, but loses its room if the new one took it.
func (f Funcs[T]) grow(m appendOf) (*value, error) {
	if f.Append == nil || reflect.TypeFor[T]().Size() == 0 {
		return f.make(m.seed, m.inner)
	}
	var s []T
	if m.to == nil {
		s = make([]T, m.at)
		for i := range s {
			s[i] = f.Value(m.seed + i)
		}
	} else {
		s = m.to.value.([]T)[m.from:m.at]
	}
	if m.clip {
		s = s[:len(s):len(s)]
	}
	old := append([]T(nil), s...) // The bits, which may lead into the arena.
	elems := make([]T, m.n)
	for i := range elems {
		elems[i] = f.Value(m.seed + m.at + i)
	}
	var g []T
	if err := tryOnly(func() (err error) { g, err = f.Append(s, elems...); return err }); err != nil {
		return nil, err
	}
	if len(g) != len(s)+m.n || cap(g) < len(g) {
		return nil, brokenf("Append of %d to %d %s: length %d, capacity %d", m.n, len(s), f.name(), len(g), cap(g))
	}
	if len(g) > 0 {
		if err := f.aligned("the first element of an appended slice", &g[0]); err != nil {
			return nil, err
		}
	}
	want := append(old, elems...)
	if !reflect.DeepEqual(g, want) && len(g) > 0 {
		return nil, brokenf("Append of %d to %d %s gave other elements", m.n, len(s), f.name())
	}
	stayed := len(g) > 0 && cap(s) >= len(g) && &g[0] == &s[:1][0]
	if m.to != nil && (stayed || cap(s) > 0 && len(g) > 0 && &g[0] == &s[:1][0]) {
		m.to.room = false
	}
	v := f.slice(g, nil, true, cap(g) > len(g) && m.n > 0)
	v.check = func() error {
		if len(g) > 0 && !reflect.DeepEqual(g, want) {
			return fmt.Errorf("%d appended %s at %p changed", len(g), f.name(), &g[0])
		}
		return nil
	}
	return v, nil
}

// limits returns the function that asks for a slice and takes panics for errors.
func (f Funcs[T]) limits() func(length, capacity int) error {
	if f.MakeSlice == nil || reflect.TypeFor[T]().Size() == 0 {
		return nil
	}
	if math.MaxInt == math.MaxInt32 && reflect.TypeFor[T]().Size() == 1 {
		return nil // Half of the address space may be there.
	}
	return func(length, capacity int) error {
		_, err := f.MakeSlice(length, capacity)
		return err
	}
}

// A broken promise that is no error of the arena.
type broken struct{ error }

func brokenf(format string, args ...any) error { return broken{fmt.Errorf(format, args...)} }
