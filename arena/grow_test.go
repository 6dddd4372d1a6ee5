// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/offheap"
)

// checkGrow grows slices of a in a, in memory that was used before, and compares them with what they
// were.
func checkGrow[T comparable](t *testing.T, kind string, a *Arena, value func(i int) T) {
	t.Helper()
	var zero T
	for _, n := range []int{0, 1, 3, 10, 1000} {
		for _, more := range []int{0, 1, 5, 2000} {
			for _, between := range []bool{false, true} {
				s := MakeSlice[T](a, n, n+2)
				all := s[:cap(s)]
				for i := range all {
					all[i] = value(i)
				}
				if between {
					Append(a, MakeSlice[T](a, 0, 4), value(1), value(2), value(3), value(4)) // s is not the last slice.
				}
				what := fmt.Sprintf("%s: Grow of %d of %s by %d", kind, n, reflect.TypeFor[T](), more)
				g := Grow(a, s, more)
				if len(g) != n || cap(g) < n+more || !slices.Equal(g, all[:n]) {
					t.Fatalf("%s: length %d, capacity %d", what, len(g), cap(g))
				}
				if more <= 2 && cap(g) != cap(s) {
					t.Fatalf("%s: capacity %d, although %d suffice", what, cap(g), cap(s))
				}
				for i, v := range g[:cap(g)] {
					if i >= cap(s) && v != zero {
						t.Fatalf("%s: element %d is %v", what, i, v)
					}
				}
				for i, v := range all { // Growing writes to nothing that s has.
					if v != value(i) {
						t.Fatalf("%s: the old element %d is %v", what, i, v)
					}
				}
			}
		}
	}

}

// TestGrow: there is room behind a grown slice, which is zero, and the elements stay as they were.
func TestGrow(t *testing.T) {
	for name, a := range withNil() {
		for range 2 { // The second time in memory that is not zero.
			checkGrow(t, name, a, func(i int) point { return point{int64(i) + 1, ^int64(i)} })
			a.Reset(Keep)
			checkGrow(t, name, a, func(i int) byte { return byte(1 + i%200) })
			a.Reset(Keep)
			checkGrow(t, name, a, func(i int) odd { return odd{byte(i), 1, byte(^i)} })
			a.Reset(Keep)
			if a == nil || !a.from.outside {
				checkGrow(t, name, a, func(i int) any { return i })
				a.Reset(Keep)
			}
		}
		for what, f := range map[string]func(){
			"Grow": func() { Grow(a, []int{1}, -1) },
		} {
			wantPanic(t, name+": "+what, f, "arena: ", "negative number of elements")
		}
		if name == "nil" {
			continue
		}
		for _, n := range []int{math.MaxInt, math.MaxInt/2 + 1, math.MaxInt/16 + 1} {
			s := []point{{1, 2}}
			g, err := tryGrow(a, s, n)
			if !errors.Is(err, offheap.ErrOutOfMemory) || len(g) != 1 || cap(g) != 1 {
				t.Errorf("%s: a slice that grows by %d: capacity %d, %v", name, n, cap(g), err)
			}
		}
		a.Free()
	}
}

// TestGrowInPlace: the last slice grows where it is.
func TestGrowInPlace(t *testing.T) {
	chunked(t)
	for _, k := range kinds {
		a := k.make()
		if a.shared != nil { // The next value may lie in another part.
			a.Free()
			continue
		}
		MakeSlice[int64](a, 10, 10)
		s := MakeSlice[int64](a, 4, 4)
		g := Grow(a, s, 3)
		if unsafex.DataOf(g) != unsafex.DataOf(s) {
			t.Errorf("%s: the last slice is copied", k.name)
		}
		MakeSlice[int64](a, 1, 1)
		if h := Grow(a, g, 1000); unsafex.DataOf(h) == unsafex.DataOf(g) {
			t.Errorf("%s: a slice grows over a later value", k.name)
		}
		a.Free()
	}
}

// TestGrowRefused: a slice for which there is no memory stays as it is.
func TestGrowRefused(t *testing.T) {
	a := NewWith(Options{Limit: 64 << 10})
	defer a.Free()
	s := Append(a, nil, 1, 2, 3)
	for name, f := range map[string]func() ([]int, error){
		"Grow": func() ([]int, error) { return tryGrow(a, s, 1<<20) },
	} {
		if g, err := f(); !errors.Is(err, offheap.ErrLimit) || unsafex.DataOf(g) != unsafex.DataOf(s) || !slices.Equal(g, []int{1, 2, 3}) {
			t.Errorf("%s beyond the limit: %v, %v", name, g, err)
		}
	}
}
