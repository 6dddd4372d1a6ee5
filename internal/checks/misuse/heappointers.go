// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/offheap"
)

// hidden is the report of an address of the Go heap in memory that the collector does not scan.
func hidden(says ...string) []Sight {
	return []Sight{{By: []Mode{HeapPointers}, Says: append([]string{"freehold: heap pointer in off-heap memory:"}, says...), Stacks: Allocated}}
}

// heapPointers are programs that keep pointers to the Go heap where the collector does not see
// them.
func heapPointers() []Case {
	return []Case{
		{Name: "pointer-in-bytes", Text: "stores the address of a value on the Go heap in a block", Run: only(OffHeap, pointerInBytes), Seen: hidden()},
		{Name: "pointer-self-contained", Text: "stores a Go pointer in a self-contained type", Run: only(OffHeap, pointerSelfContained), Seen: hidden("main.selfContained.next")},
		{Name: "string-self-contained", Text: "stores a string of the Go heap in a self-contained type", Run: only(OffHeap, stringSelfContained), Seen: hidden("main.selfContained.name")},
		{Name: "pointer-in-arena", Text: "stores a Go pointer in a self-contained type in an off-heap arena", Run: only(OffHeap, pointerInArena), Seen: hidden("main.selfContained.next")},
		{Name: "pointer-as-uintptr", Text: "keeps a Go object as a uintptr in an off-heap value", Run: only(OffHeap, pointerAsNumber), Seen: hidden("main.numbered.object")},
		{Name: "pointer-at-free", Text: "frees a self-contained value that holds a Go pointer", Run: only(OffHeap, pointerAtFree), Seen: hidden("main.selfContained.next")},
	}
}

// A selfContained promises that its pointers lead to off-heap memory only.
type selfContained struct {
	_    offheap.UnsafeSelfContained
	next *selfContained
	name string
}

// A numbered has a Go object in the guise of a number.
type numbered struct {
	id     uint64
	object uintptr
}

// kept keeps what the programs hide from the collector, so that the programs themselves do no harm.
var kept struct {
	bytes []byte
	value *selfContained
	name  string
	num   *numbered
	other *point
}

func pointerInBytes(Variant) {
	kept.other = new(point)
	kept.bytes = allocateBlock(64)
	hide(kept.other, (*[8]byte)(kept.bytes[16:]))
	check()
}

//go:noinline
func allocateSelfContained() *selfContained { return offheap.New[selfContained]() }

func pointerSelfContained(Variant) {
	kept.value = &selfContained{}
	p := allocateSelfContained()
	p.next = kept.value
	check()
}

func stringSelfContained(Variant) {
	kept.name = text + string(make([]byte, 100))
	p := allocateSelfContained()
	p.name = kept.name
	check()
}

func pointerInArena(Variant) {
	a := arena.NewOffHeap(arena.Options{})
	kept.value = &selfContained{}
	p := allocateIn(a)
	p.next = kept.value
	check()
	a.Free()
}

//go:noinline
func allocateIn(a *arena.Arena) *selfContained { return arena.New[selfContained](a) }

func pointerAsNumber(Variant) {
	kept.other = new(point)
	kept.num = allocateNumbered()
	kept.num.object = address(kept.other)
	check()
}

//go:noinline
func allocateNumbered() *numbered { return offheap.New[numbered]() }

func pointerAtFree(Variant) {
	kept.value = &selfContained{}
	p := allocateSelfContained()
	p.next = kept.value
	offheap.Delete(p)
}
