// SPDX-License-Identifier: Apache-2.0

package sortbuf

import (
	"bytes"
	"iter"
)

// Groups makes a Group of the records with equal keys that follow each other in seq: that of a
// Sorter, a Run or a Merge. cmp says whether keys are equal; nil compares bytes. It holds one key,
// however many values a group has. An error of seq is yielded as one of the values if it comes within
// a group, and ends the iteration of groups.
func Groups(seq iter.Seq2[Record, error], cmp func(a, b []byte) int) iter.Seq2[Group, error] {
	if cmp == nil {
		cmp = bytes.Compare
	}
	return func(yield func(Group, error) bool) {
		next, stop := iter.Pull2(seq)
		defer stop()
		var key []byte
		r, err, ok := next()
		for ok && err == nil {
			key = append(key[:0], r.Key...)
			begun, open := false, true // open: r is a record of this group.
			step := func() {
				r, err, ok = next()
				open = ok && err == nil && cmp(key, r.Key) == 0
			}
			values := func(yield func([]byte, error) bool) {
				if begun {
					return
				}
				begun = true
				for open {
					more := yield(r.Value, nil)
					step()
					if !more {
						return
					}
				}
				if err != nil {
					yield(nil, err)
				}
			}
			if !yield(Group{key, values}, nil) {
				return
			}
			begun = true
			for open {
				step()
			}
		}
		if err != nil {
			yield(Group{}, err)
		}
	}
}
