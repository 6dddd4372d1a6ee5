// SPDX-License-Identifier: Apache-2.0

package main

import "iter"

// A Family is programs that are wrong in the same way.
type Family struct {
	Title string
	Cases []Case
}

// Families are all programs, the correct ones last. No two programs have the same name.
func Families() []Family {
	return []Family{
		{"Uses of freed values", stale()},
		{"Uses of decoded values after their arena freed them", decoded()},
		{"Uses of freed or copied arenas, Maps, Pools, Locals and Purposes", handles()},
		{"Misuses of pools, buffers and handles", pools()},
		{"Accesses beside a block, by unsafe code", bounds()},
		{"Wrong frees", frees()},
		{"Leaks", leaks()},
		{"Go pointers off the heap", heapPointers()},
		{"Reads of uninitialised memory", uninitialised()},
		{"Goroutines", races()},
		{"Mistakes that no mode finds", blind()},
		{"Correct, though it looks wrong", correct()},
	}
}

// Corpus is the programs of all families.
func Corpus() iter.Seq[*Case] {
	return func(yield func(*Case) bool) {
		for _, f := range Families() {
			for i := range f.Cases {
				if !yield(&f.Cases[i]) {
					return
				}
			}
		}
	}
}

// Find returns the program of that name, or nil.
func Find(name string) *Case {
	for c := range Corpus() {
		if c.Name == name {
			return c
		}
	}
	return nil
}
