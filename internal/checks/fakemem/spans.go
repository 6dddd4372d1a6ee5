// SPDX-License-Identifier: Apache-2.0

package fakemem

import "slices"

// span is the range [lo, hi).
type span struct{ lo, hi uintptr }

// spanSet is a set of addresses, as sorted spans that neither touch nor overlap. The zero value is
// empty.
type spanSet []span

// from returns the index of the first span that ends at or behind addr.
func (s spanSet) from(addr uintptr) int {
	i, _ := slices.BinarySearchFunc(s, addr, func(x span, a uintptr) int {
		if x.hi < a {
			return -1
		}
		return 1
	})
	return i
}

// add puts [lo, hi) into the set.
func (s *spanSet) add(lo, hi uintptr) {
	i := s.from(lo)
	j := i
	for ; j < len(*s) && (*s)[j].lo <= hi; j++ {
		lo, hi = min(lo, (*s)[j].lo), max(hi, (*s)[j].hi)
	}
	*s = slices.Replace(*s, i, j, span{lo, hi})
}

// remove takes [lo, hi) out of the set.
func (s *spanSet) remove(lo, hi uintptr) {
	i := s.from(lo)
	var rest []span
	j := i
	for ; j < len(*s) && (*s)[j].lo < hi; j++ {
		x := (*s)[j]
		if x.lo < lo {
			rest = append(rest, span{x.lo, min(x.hi, lo)})
		}
		if x.hi > hi {
			rest = append(rest, span{hi, x.hi})
		}
	}
	*s = slices.Replace(*s, i, j, rest...)
}

// holds reports whether all of [lo, hi) is in the set.
func (s spanSet) holds(lo, hi uintptr) bool {
	i := s.from(lo)
	if i < len(s) && s[i].hi == lo {
		i++ // it ends where the range starts
	}
	return i < len(s) && s[i].lo <= lo && hi <= s[i].hi
}

// meets reports whether any of [lo, hi) is in the set.
func (s spanSet) meets(lo, hi uintptr) bool {
	for i := s.from(lo); i < len(s) && s[i].lo < hi; i++ {
		if s[i].hi > lo {
			return true
		}
	}
	return false
}

// size returns the number of addresses in the set.
func (s spanSet) size() uintptr {
	var n uintptr
	for _, x := range s {
		n += x.hi - x.lo
	}
	return n
}
