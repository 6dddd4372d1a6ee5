// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/offheap"
)

// doubleFree lists the modes that catch a second free of a block that was not allocated again.
func doubleFree() []Sight {
	return []Sight{
		{By: []Mode{Guard, Leaks, HeapPointers, Sample}, Says: []string{"freehold: double free:"}, Stacks: everything},
		{By: []Mode{Always}, Says: []string{"double free"}},
	}
}

// foreign lists the modes that catch the free of an address that is no block.
func foreign() []Sight { return always("foreign pointer") }

// interior is who catches the free of a part of a block.
func interior() []Sight {
	return []Sight{
		{By: []Mode{Guard, Leaks, HeapPointers, Sample}, Says: []string{"freehold: interior pointer:"}, Stacks: Accessed | Allocated},
		{By: []Mode{Always}, Says: []string{"interior pointer"}},
	}
}

// reusedFree lists the modes that catch a second free of a block with a new owner: those that do
// not reuse memory soon.
func reusedFree() []Sight {
	return []Sight{{By: []Mode{Guard, Sample, ASan, MSan, Valgrind}, Says: []string{"freehold: double free:"}, Stacks: everything}}
}

// wrongType is who catches the free of a block as another type: each mode that knows what blocks
// hold.
func wrongType() []Sight {
	return []Sight{
		{By: []Mode{Guard, Leaks, HeapPointers, Sample, ASan, MSan, Valgrind}, Says: []string{"freehold: wrong type:"}, Stacks: Accessed | Allocated},
		{By: []Mode{Race}, Says: []string{"wrong type"}},
	}
}

// frees are frees of what must not be freed.
func frees() []Case {
	list := []Case{
		{Name: "double-free", Text: "frees a block twice", Run: nil, Seen: doubleFree()},
		{Name: "double-free-alias", Text: "frees a block through two slices of it", Seen: doubleFree()},
		{Name: "double-free-deferred", Text: "frees a block, and again by a deferred call", Seen: doubleFree()},
		{Name: "double-free-goroutines", Text: "frees a block in two goroutines", Seen: doubleFree()},
		{Name: "double-free-reused", Text: "frees a block again after its address has a new block", Seen: reusedFree(), Loose: true},
		{Name: "double-free-large", Text: "frees a block of a mebibyte twice", Seen: doubleFree()},
		{Name: "double-delete", Text: "deletes a value twice", Seen: doubleFree()},
		{Name: "double-free-local", Text: "frees a block twice through a Local", Seen: doubleFree()},
		{Name: "realloc-freed", Text: "reallocates a block that is free", Seen: doubleFree()},
		{Name: "free-moved", Text: "frees the old slice after Realloc moved the block", Seen: doubleFree()},
		{Name: "free-go-heap", Text: "frees memory of the Go heap", Seen: foreign()},
		{Name: "free-go-append", Text: "frees a slice that Go's append moved to the Go heap", Seen: foreign()},
		{Name: "free-stack", Text: "frees an array on the stack", Seen: foreign()},
		{Name: "free-global", Text: "frees a package-level variable", Seen: foreign()},
		{Name: "free-arena-value", Text: "deletes a value that an arena on Go memory made", Seen: foreign()},
		{Name: "free-offheap-arena-value", Text: "deletes the first value of an off-heap arena", Seen: always("foreign pointer", "it belongs to arena")},
		{Name: "free-interior", Text: "frees a slice without its first bytes", Seen: interior()},
		{Name: "free-subslice", Text: "frees a slice of values without its first one", Seen: interior()},
		{Name: "delete-field", Text: "deletes a field of a value", Seen: interior()},
		{Name: "delete-element", Text: "deletes an element of a slice", Seen: interior()},
		{Name: "free-consumed", Text: "frees a slice that was cut to its end", Seen: []Sight{
			{By: []Mode{Guard, Leaks, HeapPointers}, Says: []string{"freehold: consumed slice:"}, Stacks: Accessed | Allocated},
			{By: []Mode{Always}, Says: []string{"consumed slice"}},
		}},
		{Name: "delete-first-field", Text: "deletes the first field of a value, which has the value's address", Seen: wrongType()},
		{Name: "delete-other-type", Text: "deletes a value as one of another type", Seen: wrongType()},
		{Name: "delete-first-element", Text: "deletes the first element of a slice", Seen: wrongType()},
		{Name: "realloc-interior", Text: "reallocates a part of a block", Seen: interior()},
	}
	for i := range list {
		run, ok := freePrograms[list[i].Name]
		if !ok {
			panic("no program " + list[i].Name)
		}
		list[i].Run = only(OffHeap, func(Variant) { run() })
	}
	return list
}

// freePrograms are the programs of frees, which take blocks of offheap.
var freePrograms = map[string]func(){
	"double-free": func() {
		b := allocateBlock(100)
		giveUpBlock(b)
		accessFree(b)
	},
	"double-free-alias": func() {
		b := allocateBlock(100)
		giveUpBlock(b[:10])
		accessFree(b[:0])
	},
	"double-free-deferred": func() {
		b := allocateBlock(100)
		defer accessFree(b)
		giveUpBlock(b)
	},
	"double-free-goroutines": func() {
		b := allocateBlock(100)
		spawn(func() { giveUpBlock(b) })()
		spawn(func() { accessFree(b) })()
	},
	"double-free-reused": func() {
		b := allocateBlock(100)
		giveUpBlock(b)
		for range 100 {
			allocateBlock(100)
		}
		accessFree(b)
	},
	"double-free-large": func() {
		b := allocateBlock(1 << 20)
		giveUpBlock(b)
		accessFree(b)
	},
	"double-delete": func() {
		h := open(OffHeap, byFree)
		p := allocate[point](h)
		giveUp(h)
		accessDelete(p)
	},
	"double-free-local": func() {
		l := offheap.NewLocal()
		b := allocateLocal(l)
		giveUpLocal(l, b)
		accessFreeLocal(l, b)
	},
	"realloc-freed": func() {
		b := allocateBlock(100)
		giveUpBlock(b)
		accessRealloc(b)
	},
	"free-moved": func() {
		b := allocateBlock(64)
		giveUpRealloc(b)
		accessFree(b)
	},
	"free-go-heap": func() { accessFree(make([]byte, 100)) },
	"free-go-append": func() {
		b := append(allocateBlock(100), text...)
		accessFree(b)
	},
	"free-stack": func() {
		var array [100]byte
		accessFree(array[:])
	},
	"free-global": func() { accessFree(global[:]) },
	"free-arena-value": func() {
		a := arena.NewArena()
		accessDelete(arena.New[point](a))
	},
	"free-offheap-arena-value": func() {
		a := arena.NewOffHeap(arena.Options{})
		accessDelete(arena.New[point](a))
	},
	"free-interior":  func() { accessFree(allocateBlock(100)[8:]) },
	"free-subslice":  func() { accessFreeSlice(allocateSlice[point](open(OffHeap, byFree), 10)[1:]) },
	"delete-field":   func() { accessDeleteField(&allocate[point](open(OffHeap, byFree)).z) },
	"delete-element": func() { accessDelete(&allocateSlice[point](open(OffHeap, byFree), 10)[3]) },
	"free-consumed": func() {
		b := allocateBlock(100)
		for len(b) > 0 {
			b = b[10:]
		}
		accessFree(b)
	},
	"delete-first-field":   func() { accessDeleteField(&allocate[point](open(OffHeap, byFree)).x) },
	"delete-other-type":    func() { accessDelete(asPoint(allocateOther())) },
	"delete-first-element": func() { accessDelete(&allocateSlice[point](open(OffHeap, byFree), 10)[0]) },
	"realloc-interior":     func() { accessRealloc(allocateBlock(100)[8:]) },
}

//go:noinline
func allocateOther() *other { return offheap.New[other]() }

var global [100]byte

//go:noinline
func allocateBlock(n int) []byte { return offheap.Alloc(n) }

//go:noinline
func giveUpBlock(b []byte) { offheap.Free(b) }

//go:noinline
func accessFree(b []byte) { offheap.Free(b) }

//go:noinline
func accessDelete(p *point) { offheap.Delete(p) }

//go:noinline
func accessDeleteField(p *int64) { offheap.Delete(p) }

//go:noinline
func accessFreeSlice(s []point) { offheap.FreeSlice(s) }

//go:noinline
func accessRealloc(b []byte) { offheap.Realloc(b, 100_000) }

//go:noinline
func allocateLocal(l *offheap.Local) []byte { return l.Alloc(100) }

//go:noinline
func giveUpLocal(l *offheap.Local, b []byte) { l.Free(b) }

//go:noinline
func accessFreeLocal(l *offheap.Local, b []byte) { l.Free(b) }
