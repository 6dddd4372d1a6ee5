// SPDX-License-Identifier: Apache-2.0

package alloctest

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/freehold-go/freehold/internal/checks/trial"
)

// Typed holds functions that return values of one type, for [TestTyped]. An interface cannot have
// generic functions, so each is a field. A nil field is not checked.
type Typed[T any] struct {
	// New returns a zero value, NewUninit one of any contents. Delete frees either; it ignores nil.
	New, NewUninit func() *T
	Delete         func(p *T)

	// MakeSlice returns a slice whose elements are zero up to its capacity, MakeSliceUninit one of
	// any contents. A negative length, a length above the capacity, and an impossible slice panic.
	// FreeSlice frees s or s[:k].
	MakeSlice, MakeSliceUninit func(length, capacity int) []T
	FreeSlice                  func(s []T)

	// Append is append for a slice that MakeSlice made, or nil. The program must not use the old
	// slice afterwards.
	Append func(s []T, elems ...T) []T

	// Value returns the i-th of a series of values. Each differs from its neighbours by == or
	// reflect.DeepEqual. If Value is nil, only zero values are checked.
	Value func(i int) T

	// InUse, if not nil, is compared at the start and the end of each check.
	InUse func() int64

	// Misuse says that a second Delete or FreeSlice panics, as with [Config.Misuse].
	Misuse bool
}

// TestTyped checks the functions of v: zero values, alignment, overlap, values that keep their
// contents, impossible lengths, and, with Misuse, values freed twice.
func TestTyped[T any](t *testing.T, v Typed[T]) {
	t.Helper()
	for _, c := range v.checks() {
		t.Run(c.name, func(t *testing.T) { c.run(t) })
	}
}

// typedCheck is one subtest of TestTyped.
type typedCheck struct {
	name string
	run  func(t testing.TB)
}

// checks returns the checks for which v has the functions.
func (v Typed[T]) checks() (list []typedCheck) {
	if v.New != nil && v.Delete != nil {
		list = append(list, typedCheck{"New", func(t testing.TB) { v.checkNew(t, v.New, true) }})
	}
	if v.NewUninit != nil && v.Delete != nil {
		list = append(list, typedCheck{"NewUninit", func(t testing.TB) { v.checkNew(t, v.NewUninit, false) }})
	}
	if v.FreeSlice == nil {
		return list
	}
	if v.MakeSlice != nil {
		list = append(list,
			typedCheck{"MakeSlice", func(t testing.TB) { v.checkSlice(t, v.MakeSlice, true) }},
			typedCheck{"SliceBounds", func(t testing.TB) { v.checkBounds(t, v.MakeSlice) }})
	}
	if v.MakeSliceUninit != nil {
		list = append(list,
			typedCheck{"MakeSliceUninit", func(t testing.TB) { v.checkSlice(t, v.MakeSliceUninit, false) }},
			typedCheck{"SliceUninitBounds", func(t testing.TB) { v.checkBounds(t, v.MakeSliceUninit) }})
	}
	if v.Append != nil {
		list = append(list, typedCheck{"Append", v.checkAppend})
	}
	return list
}

// leaks puts the leak check in place.
func (v Typed[T]) leaks(t testing.TB) {
	if v.InUse != nil {
		CheckLeaks(t, inUseFunc(v.InUse))
	}
}

// inUseFunc is a function as the argument of CheckLeaks.
type inUseFunc func() int64

// InUse calls f.
func (f inUseFunc) InUse() int64 { return f() }

// value returns the i-th value to write.
func (v Typed[T]) value(i int) (x T) {
	if v.Value != nil {
		x = v.Value(i)
	}
	return x
}

// same fails the test unless got is the i-th value.
func (v Typed[T]) same(t testing.TB, what string, got T, i int) {
	t.Helper()
	if want := v.value(i); !equal(got, want) {
		t.Fatalf("alloctest: %s of type %T: got %v, want %v", what, got, got, want)
	}
}

// equal compares two values, with == where the type has it: reflect.DeepEqual takes seconds for
// what has a hundred thousand elements.
func equal[T any](x, y T) bool {
	if reflect.ValueOf(&x).Elem().Comparable() && reflect.ValueOf(&y).Elem().Comparable() {
		return any(x) == any(y)
	}
	return reflect.DeepEqual(x, y)
}

// zero fails the test unless got is the zero value.
func zero[T any](t testing.TB, what string, got *T) {
	t.Helper()
	var want T
	if !equal(*got, want) {
		t.Fatalf("alloctest: %s of type %T: got %v, want the zero value", what, *got, *got)
	}
}

// place returns the address of a value.
func place[T any](p *T) uintptr { return reflect.ValueOf(p).Pointer() }

// placed checks the alignment of n values at p and that no live ones overlap them.
func placed[T any](t testing.TB, live *intervals, p *T, n int) {
	t.Helper()
	typ := reflect.TypeFor[T]()
	if align := typ.Align(); place(p)%uintptr(align) != 0 {
		t.Fatalf("alloctest: value of type %v at %p, want a multiple of %d", typ, p, align)
	}
	live.addRange(t, place(p), uintptr(n)*typ.Size())
}

// typedCount returns how many values to hold at once: fewer if they are large.
func typedCount[T any]() int {
	return max(3, min(1000, 4<<20/(1+int(reflect.TypeFor[T]().Size()))))
}

// checkNew holds many values at once, frees every second, and refills the holes.
func (v Typed[T]) checkNew(t testing.TB, create func() *T, zeroed bool) {
	v.leaks(t)
	v.Delete(nil)
	var live intervals
	all := make([]*T, typedCount[T]())
	renew := func(i int) {
		all[i] = create()
		if zeroed {
			zero(t, "new value", all[i])
		}
		placed(t, &live, all[i], 1)
		*all[i] = v.value(i)
	}
	for i := range all {
		renew(i)
	}
	for round := range 3 {
		for i := round % 2; i < len(all); i += 2 {
			v.same(t, "value", *all[i], i)
			live.removeAt(place(all[i]))
			v.Delete(all[i])
		}
		for i := round % 2; i < len(all); i += 2 {
			renew(i)
		}
	}
	for i, p := range all {
		v.same(t, "value", *p, i)
		v.Delete(p)
	}
	if v.Misuse && reflect.TypeFor[T]().Size() > 0 {
		p := create()
		v.Delete(p)
		mustRefuse(t, "second Delete", func() { v.Delete(p) }, double)
		mustRefuse(t, "Delete of the Go heap", func() { v.Delete(new(T)) }, foreign)
	}
}

// checkSlice holds slices of several lengths at once and frees them whole and cut short.
func (v Typed[T]) checkSlice(t testing.TB, create func(length, capacity int) []T, zeroed bool) {
	v.leaks(t)
	v.FreeSlice(nil)
	v.FreeSlice([]T{})
	var live intervals
	var all [][]T
	for _, n := range []int{0, 1, 2, 3, 7, 8, 100, 1000} {
		if n > 8 && n > 4*typedCount[T]() {
			continue
		}
		for _, length := range slices.Compact([]int{0, n / 2, n}) {
			s := create(length, n)
			if len(s) != length || cap(s) < n {
				t.Fatalf("alloctest: MakeSlice(%d, %d): got length %d and capacity %d", length, n, len(s), cap(s))
			}
			s = s[:cap(s)]
			for i := range s {
				if zeroed {
					zero(t, "element", &s[i])
				}
				s[i] = v.value(len(all) + i)
			}
			if len(s) > 0 {
				placed(t, &live, &s[0], len(s))
			}
			all = append(all, s)
		}
	}
	for k, s := range all {
		for i := range s {
			v.same(t, "element", s[i], k+i)
		}
		v.FreeSlice(s[:len(s)*(k%3)/2])
	}
	if v.Misuse && reflect.TypeFor[T]().Size() > 0 {
		s := create(4, 4)
		mustRefuse(t, "FreeSlice(s[1:])", func() { v.FreeSlice(s[1:]) }, interior)
		v.FreeSlice(s)
		mustRefuse(t, "second FreeSlice", func() { v.FreeSlice(s) }, double)
		mustRefuse(t, "FreeSlice of the Go heap", func() { v.FreeSlice(make([]T, 4)) }, foreign)
	}
}

// checkBounds asks for lengths and capacities that there are not.
func (v Typed[T]) checkBounds(t testing.TB, create func(length, capacity int) []T) {
	v.leaks(t)
	bad := [][2]int{{-1, 0}, {-1, -1}, {0, -1}, {2, 1}, {math.MinInt, 4}, {math.MinInt, math.MinInt}}
	if size := reflect.TypeFor[T]().Size(); size > 0 {
		bad = append(bad, [2]int{0, math.MaxInt}, [2]int{math.MaxInt, math.MaxInt})
		if size > 1 { // The bytes overflow to a small number.
			n := math.MaxInt/int(size) + 1
			bad = append(bad, [2]int{0, n}, [2]int{1, 2*n + 1})
		}
	}
	for _, b := range bad {
		err, panicked := trial.Try(func() error {
			v.FreeSlice(create(b[0], b[1]))
			return nil
		})
		if !panicked || err == nil {
			t.Errorf("alloctest: MakeSlice(%d, %d) of type %v: no panic", b[0], b[1], reflect.TypeFor[T]())
		}
	}
	v.FreeSlice(create(1, 2))
}

// checkAppend grows slices by one, by many and by none, beside append.
func (v Typed[T]) checkAppend(t testing.TB) {
	v.leaks(t)
	var s, want []T
	var more []T
	for i := range min(300, 4*typedCount[T]()) {
		more = append(more[:0], v.value(3*i))
		for k := 1; k < i%4; k++ {
			more = append(more, v.value(3*i+k))
		}
		if i%7 == 3 {
			more = more[:0]
		}
		s, want = v.Append(s, more...), append(want, more...)
		if len(s) != len(want) {
			t.Fatalf("alloctest: Append of %d elements: got length %d, want %d", len(more), len(s), len(want))
		}
	}
	if !slices.EqualFunc(s, want, equal) {
		t.Fatalf("alloctest: Append of type %v changed elements", reflect.TypeFor[T]())
	}
	// A part of the slice itself as the argument: it must be read before its memory is free.
	half := min(10, len(s))
	s, want = v.Append(s, s[:half]...), append(want, want[:half]...)
	if !slices.EqualFunc(s, want, equal) {
		t.Fatalf("alloctest: Append of a slice's own elements, type %v, changed them", reflect.TypeFor[T]())
	}
	v.FreeSlice(s)
}
