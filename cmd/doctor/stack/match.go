// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"slices"
	"strings"
)

// Outermost returns the index of the outermost frame that matches, -1 if none does.
func Outermost(frames []*Frame, match func(*Frame) bool) int {
	for i := len(frames) - 1; i >= 0; i-- {
		if match(frames[i]) {
			return i
		}
	}
	return -1
}

// Matching returns match with a cache of its answers by function, because a profile has each
// function many times. The frames must be of one [Table].
func Matching(match func(*Frame) bool) func(*Frame) bool {
	const unknown, yes, no = 0, 1, 2
	var known []uint8
	return func(f *Frame) bool {
		if f.ID >= len(known) {
			known = append(known, make([]uint8, max(f.ID+1-len(known), 1024))...)
		}
		if known[f.ID] == unknown {
			known[f.ID] = no
			if match(f) {
				known[f.ID] = yes
			}
		}
		return known[f.ID] == yes
	}
}

// Prefixed returns a function that matches frames by the beginnings of their functions' names. The
// frames must be of one [Table].
func Prefixed(prefixes ...string) func(*Frame) bool {
	return Matching(func(f *Frame) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(f.Func, p) })
	})
}

// Owner returns the innermost frame of the main module, else the innermost that is not the standard
// library's, else the innermost of all.
func Owner(frames []*Frame) *Frame {
	for _, f := range frames {
		if f.User {
			return f
		}
	}
	for _, f := range frames {
		if !f.Runtime && !f.Std {
			return f
		}
	}
	return frames[0]
}

// Caller returns the [Owner] of the frames from index i outwards, or the outermost frame if there
// is none at i.
func Caller(frames []*Frame, i int) *Frame {
	if i >= len(frames) {
		i = len(frames) - 1
	}
	if i < 0 {
		return nil
	}
	return Owner(frames[i:])
}
