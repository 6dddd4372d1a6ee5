// SPDX-License-Identifier: Apache-2.0

package alloctest

import (
	"slices"
	"testing"
)

// intervals is the set of address ranges that live blocks cover, in order of address. A sorted
// slice is enough: it is the model, so it must be plain rather than fast.
type intervals []interval

type interval struct{ from, to uintptr } // from <= address < to

// find returns where the range that starts at p is, or belongs.
func (s intervals) find(p uintptr) (int, bool) {
	return slices.BinarySearchFunc(s, p, func(v interval, p uintptr) int {
		switch {
		case v.from < p:
			return -1
		case v.from > p:
			return 1
		}
		return 0
	})
}

// add puts in the range of b, up to its capacity, and fails the test if it meets another.
func (s *intervals) add(t testing.TB, b []byte) {
	t.Helper()
	s.addRange(t, addr(b), uintptr(cap(b)))
}

// addRange puts in the range of size bytes at from, and fails the test if it meets another.
func (s *intervals) addRange(t testing.TB, from, size uintptr) {
	t.Helper()
	if size == 0 {
		return
	}
	v := interval{from, from + size}
	if v.to < v.from {
		t.Fatalf("alloctest: block of %d bytes at %#x runs over the end of the address space", size, v.from)
	}
	i, found := s.find(v.from)
	if found || i > 0 && (*s)[i-1].to > v.from || i < len(*s) && (*s)[i].from < v.to {
		o := (*s)[min(i, len(*s)-1)]
		if !found && i > 0 && (*s)[i-1].to > v.from {
			o = (*s)[i-1]
		}
		t.Fatalf("alloctest: block %#x..%#x overlaps the live block %#x..%#x", v.from, v.to, o.from, o.to)
	}
	*s = slices.Insert(*s, i, v)
}

// remove takes out the range that starts where b does. There is none for a block of no bytes.
func (s *intervals) remove(b []byte) { s.removeAt(addr(b)) }

// removeAt takes out the range that starts at from.
func (s *intervals) removeAt(from uintptr) {
	if i, found := s.find(from); found {
		*s = slices.Delete(*s, i, i+1)
	}
}
