// SPDX-License-Identifier: Apache-2.0

package main

import "slices"

// A Variant is a way of allocating what a program then misuses.
type Variant string

// The variants.
const (
	Pointers Variant = "pointers" // Values that hold Go pointers, in an arena on Go memory.
	Plain    Variant = "plain"    // Values without pointers, in an arena on Go memory.
	OffHeap  Variant = "offheap"  // Blocks of offheap, or values in an off-heap arena.
)

// Variants are all variants.
var Variants = []Variant{Pointers, Plain, OffHeap}

// A Mode is a way of catching mistakes.
type Mode string

// The modes. The first is no mode at all: a check that is always on.
const (
	Always Mode = "always"

	Guard        Mode = "guard"
	Leaks        Mode = "leaks"
	HeapPointers Mode = "pointers"

	Sample Mode = "sample"

	ASan     Mode = "asan"
	MSan     Mode = "msan"
	Valgrind Mode = "valgrind"
	Race     Mode = "race"
)

// RunTime are the modes that FREEHOLD turns on, by their words, but for Sample, which is guard for
// some allocations.
var RunTime = []Mode{Guard, Leaks, HeapPointers}

// Builds are the modes that a program must be built for.
var Builds = []Mode{ASan, MSan, Valgrind, Race}

// All are all modes, in the order of tables.
var All = slices.Concat([]Mode{Always}, RunTime, []Mode{Sample}, Builds)

// Stacks are parts of a report.
type Stacks uint8

// The stacks that a report can have.
const (
	Accessed  Stacks = 1 << iota // Where the memory was used: a function access….
	Allocated                    // Where it was allocated: a function allocate….
	Freed                        // Where it was freed: a function giveUp….
)

// A Sight says that modes catch a program, and what they say.
type Sight struct {
	By     []Mode
	In     []Variant // nil for all that the program has.
	Says   []string  // Parts of the report's first line.
	Stacks Stacks    // What the report has besides.
}

// A Case is one program.
type Case struct {
	Name string // Words with hyphens between them.
	Text string // What it does, as the end of a sentence that begins with "The program".

	// Run is the program, by the variants that there are of it.
	Run map[Variant]func(Variant)

	// Seen are the modes that catch it. Without any it is correct, or Blind.
	Seen []Sight

	// Blind says why nothing catches a program that is wrong.
	Blind string

	// Wild programs write where none of their blocks lies. Under -race, where blocks lie on the Go
	// heap, that may end them in any way.
	Wild bool

	// Loose programs may end in any way where no mode catches them: what they do depends on chance.
	Loose bool
}

// Correct reports whether nothing is wrong with the program.
func (c *Case) Correct() bool { return len(c.Seen) == 0 && c.Blind == "" }

// By returns what the mode must say about the variant, or nil if it says nothing.
func (c *Case) By(m Mode, v Variant) *Sight {
	for i := range c.Seen {
		s := &c.Seen[i]
		if slices.Contains(s.By, m) && (s.In == nil || slices.Contains(s.In, v)) {
			return s
		}
	}
	return nil
}

// three is a program that is the same in all variants: with values that hold pointers, and with
// plain ones.
func three(pointers, plain func(Variant)) map[Variant]func(Variant) {
	return map[Variant]func(Variant){Pointers: pointers, Plain: plain, OffHeap: plain}
}

// two is a program that is the same in an arena on Go memory and off the heap.
func two(run func(Variant)) map[Variant]func(Variant) {
	return map[Variant]func(Variant){Plain: run, OffHeap: run}
}

// only is a program that there is in one variant.
func only(v Variant, run func(Variant)) map[Variant]func(Variant) {
	return map[Variant]func(Variant){v: run}
}

// always is what a check that is always on says, in every mode.
func always(says ...string) []Sight {
	return []Sight{{By: []Mode{Always}, Says: says}}
}
