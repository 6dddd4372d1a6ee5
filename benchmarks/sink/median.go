package main

import (
	"cmp"
	"slices"
)

// median sorts the figures of some runs or samples, and returns that in the middle; 0 of none.
func median[T cmp.Ordered](all []T) (middle T) {
	if len(all) == 0 {
		return middle
	}
	slices.Sort(all)
	return all[len(all)/2]
}
