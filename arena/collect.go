// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"iter"
	"slices"
)

// Collect makes a slice in a of the values of seq, as [slices.Collect] does on the Go heap. It is nil
// if there are none. seq may make values in a; then the slice is copied when it grows, as [Append]
// says. In a shared arena the values are gathered on the Go heap first, so that no other goroutine
// frees the slice while seq runs. Collect panics if seq frees, resets or rewinds the memory of the
// slice, and as [New] does.
func Collect[T any](a *Arena, seq iter.Seq[T]) []T {
	s, err := collect(a, seq)
	must(err)
	return s
}

func collect[T any](a *Arena, seq iter.Seq[T]) (s []T, err error) {
	const op = "Collect"
	if seq == nil {
		panic(fmt.Errorf("arena: %s of a nil sequence", op))
	}
	if a == nil {
		return slices.Collect(seq), nil
	}
	if a.check(op).shared != nil {
		return sliceFrom(op, a, slices.Collect(seq))
	}
	life := a.rec             // Of the arena that s lies in. seq may write another over a.
	seen := life.round.Load() // At the last look.
	grown := seen             // When s got its memory.
	look := func() {
		if a.rec == life && life.round.Load() == seen {
			return
		}
		a.check(op)
		var how string
		if how, seen = life.since(grown); how != "" && s != nil {
			panic(misuse(op, useAfterReset, "on %s, which was %s while the sequence ran, so that the elements before are gone; it was made by %s: free no memory of an arena in a sequence that is collected there", a.name(), how, a.place()))
		}
	}
	for v := range seq {
		look()
		if room := cap(s); len(s) < room {
			s = append(s, v)
		} else if s, err = appendTo(op, a, s, []T{v}); err != nil {
			return nil, err
		} else if cap(s) != room {
			grown = life.round.Load()
			seen = grown
		}
	}
	look()
	return s, nil
}
