// SPDX-License-Identifier: Apache-2.0

//go:build goexperiment.arenas

package arena_test

import (
	"arena"
	"testing"
)

func experimentBefore(xs []int) *location {
	a := arena.NewArena()
	defer a.Free()
	list := arena.MakeSlice[*location](a, 0, len(xs))
	for _, x := range xs {
		p := arena.New[location](a)
		p.x, p.y = x, x*x
		list = append(list, p)
	}
	return arena.Clone(list[len(list)-1])
}

func TestExperimentBefore(t *testing.T) {
	xs := []int{1, 2, 3}
	if before, after := experimentBefore(xs), experimentAfter(xs); *before != *after {
		t.Errorf("the experiment says %v, we say %v", *before, *after)
	}
}
