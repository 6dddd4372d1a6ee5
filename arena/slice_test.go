// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"errors"
	"math"
	"testing"

	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/offheap"
)

// TestAppendKeepsWords: a slice that begins within a word may grow where it is, but whatever is
// made behind it lies where its type may.
func TestAppendKeepsWords(t *testing.T) {
	for _, k := range kinds {
		a := k.make()
		look := func(whom string, from int) {
			t.Helper()
			for range 3 {
				for what, at := range map[string]uintptr{
					"New[point]":         unsafex.Addr(New[point](a)),
					"New[[2]uint32]":     unsafex.Addr(New[[2]uint32](a)),
					"MakeSlice[float64]": unsafex.PtrAddr(unsafex.DataOf(MakeSlice[float64](a, 1, 1))),
				} {
					if at%8 != 0 {
						t.Fatalf("%s: %s at %#x, after an Append to %s from element %d on", k.name, what, at, whom, from)
					}
				}
			}
		}
		look("nothing", 0)
		for from := range 8 {
			for _, n := range []int{1, 2, 3, 7, 8, 9, 30} {
				grownFrom[byte](t, a, from, n)
				look("bytes", from)
				grownFrom[[2]byte](t, a, from, n)
				look("pairs of bytes", from)
				grownFrom[odd](t, a, from, n)
				look("triples of bytes", from)
				grownFrom[uint32](t, a, from, n)
				look("numbers of 32 bits", from)
			}
		}
		a.Free()
	}
}

// grownFrom appends n elements to the end of a slice that was made just now, in several steps.
func grownFrom[T comparable](t *testing.T, a *Arena, from, n int) {
	t.Helper()
	s := MakeSlice[T](a, 8, 8)[from:]
	var zero T
	for range 3 {
		s = Append(a, s, make([]T, n)...)
		for i, v := range s[:cap(s)] {
			if v != zero {
				t.Fatalf("element %d of %d is not zero", i, cap(s))
			}
		}
	}
	if len(s) != 8-from+3*n {
		t.Fatalf("%d elements, want %d", len(s), 8-from+3*n)
	}
}

// TestAppendGrowsInPlace: in a fixed arena, too, a slice of bytes that was made last grows where it
// is, whole or in part.
func TestAppendGrowsInPlace(t *testing.T) {
	chunked(t)
	a := NewFixed(1 << 12)
	defer a.Free()
	for _, from := range []int{0, 1, 5} {
		s := MakeSlice[byte](a, 8, 8)[from:]
		first := &s[0]
		for i := range 100 {
			if s = Append(a, s, byte(i)); &s[0] != first {
				t.Fatalf("from %d: copied after %d bytes", from, i)
			}
		}
	}
}

// TestAppendOverflow appends more than an int can count, as values without a size allow.
func TestAppendOverflow(t *testing.T) {
	arenas := map[string]*Arena{"nil": nil}
	for _, k := range kinds {
		arenas[k.name] = k.make()
	}
	for name, a := range arenas {
		all := make([]struct{}, math.MaxInt)
		appendTooMuch(t, name, a, all, make([]struct{}, 1))
		appendTooMuch(t, name, a, all[:1], all)
		appendTooMuch(t, name, a, all[:5:5], all[:math.MaxInt-4])
		if s, err := tryAppend(a, all[:5:5], all[:math.MaxInt-5]...); err != nil || len(s) != math.MaxInt {
			t.Errorf("%s: %d elements, %v", name, len(s), err)
		}
		a.Free()
	}
}

func appendTooMuch[T any](t *testing.T, name string, a *Arena, s, more []T) {
	t.Helper()
	if g, err := tryAppend(a, s, more...); !errors.Is(err, offheap.ErrOutOfMemory) || len(g) != len(s) || cap(g) != cap(s) {
		t.Errorf("%s: Append to %d elements of %d more: %d elements, %v", name, len(s), len(more), len(g), err)
	}
	if err, ok := caught(func() { Append(a, s, more...) }).(error); !ok || !errors.Is(err, offheap.ErrOutOfMemory) {
		t.Errorf("%s: Append to %d elements of %d more: %v", name, len(s), len(more), err)
	}
}
