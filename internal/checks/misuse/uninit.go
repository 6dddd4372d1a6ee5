// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/freehold-go/freehold/offheap"

// uninitialised are reads of memory that the program has not written yet.
func uninitialised() []Case {
	seen := []Sight{
		{By: []Mode{MSan}, Says: []string{"MemorySanitizer", "use-of-uninitialized-value"}},
		{By: []Mode{Valgrind}, Says: []string{"uninitialised"}},
	}
	return []Case{
		{Name: "uninit-bytes", Text: "reads bytes of AllocUninit before it writes them", Run: only(OffHeap, uninitBytes), Seen: seen},
		{Name: "uninit-local", Text: "reads bytes of Local.AllocUninit before it writes them", Run: only(OffHeap, uninitLocal), Seen: seen},
	}
}

// branch makes a decision by the value read: Valgrind does not report a mere read.
//
//go:noinline
func branch(n int64) {
	if n > 1000 {
		sum++
	}
}

func uninitBytes(Variant) {
	b := offheap.AllocUninit(64)
	accessUninit(&b[5])
	offheap.Free(b)
}

//go:noinline
func accessUninit(p *byte) { branch(int64(*p) << 8) }

func uninitLocal(Variant) {
	l := offheap.NewLocal()
	defer l.Close()
	b := l.AllocUninit(64)
	accessUninit(&b[5])
	l.Free(b)
}
