// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/offheap"
)

// withNil are all kinds of arenas, the nil arena among them.
func withNil() map[string]*Arena {
	list := map[string]*Arena{"nil": nil}
	for _, k := range kinds {
		list[k.name] = k.make()
	}
	return list
}

// checkFroms makes many values in a, after values of another size, and checks that each has its
// contents and lies in the arena.
func checkFroms[T comparable](t *testing.T, kind string, a *Arena, value func(i int) T) {
	t.Helper()
	var list []*T
	for i := range 60 {
		New[odd](a)
		p := NewFrom(a, value(i))
		if unsafex.Addr(p)%unsafex.Align[T]() != 0 {
			t.Fatalf("%s: NewFrom of %s at %p", kind, reflect.TypeFor[T](), p)
		}
		list = append(list, p)
	}
	for i, p := range list {
		if *p != value(i) {
			t.Fatalf("%s: NewFrom of %s: value %d is %v", kind, reflect.TypeFor[T](), i, *p)
		}
		if a != nil && !freehold.HeapMode() && unsafex.Size[T]() != 0 && !a.Owns(p) {
			t.Fatalf("%s: NewFrom of %s: value %d is not in the arena", kind, reflect.TypeFor[T](), i)
		}
	}

}

// TestNewFrom: a value has its contents, whatever was at its place before.
func TestNewFrom(t *testing.T) {
	for name, a := range withNil() {
		for range 2 {
			checkFroms(t, name, a, func(i int) point { return point{int64(i), -int64(i)} })
			checkFroms(t, name, a, func(i int) odd { return odd{byte(i), 1, byte(^i)} })
			checkFroms(t, name, a, func(i int) [300]uint64 { return [300]uint64{0: uint64(i), 299: 7} })
			checkFroms(t, name, a, func(i int) [1500]byte { return [1500]byte{0: byte(i), 1499: 7} })
			checkFroms(t, name, a, func(int) struct{} { return struct{}{} })
			if name != "NewFixed" {
				checkFroms(t, name, a, func(i int) flag { return flag{i%3 == 0} })
			}
			if a == nil || !a.from.outside {
				checkFroms(t, name, a, func(i int) string { return strings.Repeat("x", i) })
				checkFroms(t, name, a, func(i int) any { return i })
			}
			a.Reset(Keep)
		}
		a.Free()
	}
}

func checkSliceFroms[T comparable](t *testing.T, kind string, a *Arena, value func(i int) T) {
	t.Helper()
	for _, n := range []int{0, 1, 2, 7, 100, 5000} {
		s := make([]T, n)
		for i := range s {
			s[i] = value(i)
		}
		want := slices.Clone(s)
		c := SliceFrom(a, s)
		clear(s)
		if !slices.Equal(c, want) || cap(c) != n || c == nil {
			t.Fatalf("%s: SliceFrom of %d %s: %d of capacity %d", kind, n, reflect.TypeFor[T](), len(c), cap(c))
		}
	}
	if c := SliceFrom[T](a, nil); c != nil {
		t.Errorf("%s: SliceFrom of a nil slice is %v", kind, c)
	}

}

// TestSliceFrom: the result is a copy, without room behind it.
func TestSliceFrom(t *testing.T) {
	for name, a := range withNil() {
		for range 2 {
			checkSliceFroms(t, name, a, func(i int) point { return point{int64(i), -int64(i)} })
			checkSliceFroms(t, name, a, func(i int) byte { return byte(i) })
			checkSliceFroms(t, name, a, func(i int) odd { return odd{byte(i), 1, byte(^i)} })
			checkSliceFroms(t, name, a, func(int) struct{} { return struct{}{} })
			if a == nil || !a.from.outside {
				checkSliceFroms(t, name, a, func(i int) string { return strings.Repeat("x", i%10) })
			}
			a.Reset(Keep)
		}
		a.Free()
	}
}

// TestManyOfNoSize: slices of elements without a size may have as many as an int can count.
func TestManyOfNoSize(t *testing.T) {
	for name, a := range withNil() {
		const most = math.MaxInt
		check := func(way string, s []struct{}, err error, want int) {
			if err != nil || len(s) != want {
				t.Errorf("%s: %s of %d elements: %d, %v", name, way, want, len(s), err)
			}
		}
		s, err := trySliceFrom(a, make([]struct{}, most))
		check("SliceFrom", s, err, most)
		s, err = tryAppend(a, make([]struct{}, most-1), struct{}{})
		check("Append", s, err, most)
		if s, err = tryGrow(a, make([]struct{}, 1), most-1); err != nil || cap(s) != most {
			t.Errorf("%s: Grow to %d elements: %d, %v", name, most, cap(s), err)
		}
		if a == nil { // Package slices and append panic then.
			continue
		}
		for way, f := range map[string]func() ([]struct{}, error){
			"Append": func() ([]struct{}, error) { return tryAppend(a, make([]struct{}, most), struct{}{}) },
			"Grow":   func() ([]struct{}, error) { return tryGrow(a, make([]struct{}, most), 1) },
		} {
			if s, err := f(); !errors.Is(err, offheap.ErrOutOfMemory) || len(s) != most {
				t.Errorf("%s: %s beyond the largest int: %d, %v", name, way, len(s), err)
			}
		}
		a.Free()
	}
}
