// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/offheap"
)

// leaked is what the report at the end of the process says.
func leaked(says ...string) []Sight {
	return []Sight{{By: []Mode{Leaks}, Says: append([]string{"leak"}, says...), Stacks: Allocated}}
}

// leaks are programs that end before they have freed everything.
func leaks() []Case {
	return []Case{
		{Name: "leak-block", Text: "ends without freeing a block", Run: only(OffHeap, leakBlock), Seen: leaked("1 block", "100 bytes")},
		{Name: "leak-many", Text: "ends without freeing a hundred blocks that one place allocated", Run: only(OffHeap, leakMany), Seen: leaked("100 blocks", "10000 bytes")},
		{Name: "leak-value", Text: "drops the only pointer to a value", Run: only(OffHeap, leakValue), Seen: leaked("1 block", "24 bytes")},
		{Name: "leak-purpose", Text: "ends without freeing a block of a Purpose", Run: only(OffHeap, leakPurpose), Seen: leaked("1 block", "100 bytes")},
		{Name: "leak-overwritten", Text: "overwrites a slice with the result of Go's append", Run: only(OffHeap, leakOverwritten), Seen: leaked("1 block", "100 bytes")},
		{Name: "leak-local", Text: "closes a Local and forgets a value from it", Run: only(OffHeap, leakLocal), Seen: leaked("1 block", "100 bytes")},
		{Name: "leak-local-open", Text: "drops a Local without Close", Run: only(OffHeap, leakLocalOpen), Seen: leaked("1 Local")},
		{Name: "leak-ref", Text: "frees the head of a list and forgets the rest", Run: only(OffHeap, leakRest), Seen: leaked("9 blocks", "144 bytes")},
		{Name: "leak-arena", Text: "drops an off-heap arena without Free", Run: only(OffHeap, leakArena), Seen: leaked("1 off-heap arena")},
		{Name: "leak-fixed", Text: "drops a fixed arena without Free", Run: only(OffHeap, leakFixed), Seen: leaked("1 off-heap arena")},
	}
}

func leakBlock(Variant) { allocateBlock(100) }

func leakMany(Variant) {
	for range 100 {
		allocateBlock(100)
	}
}

func leakValue(Variant) {
	p := allocate[point](open(OffHeap, byFree))
	accessRead(p)
}

func leakPurpose(Variant) { allocateFor(offheap.NewPurpose("messages")) }

//go:noinline
func allocateFor(p *offheap.Purpose) []byte { return p.Alloc(100) }

func leakOverwritten(Variant) {
	b := allocateBlock(100)
	b = append(b, text...)
	accessByte(&b[0])
}

func leakLocal(Variant) {
	l := offheap.NewLocal()
	allocateLocal(l)
	l.Close()
}

func leakLocalOpen(Variant) {
	l := allocateNewLocal()
	l.Free(l.Alloc(100))
}

//go:noinline
func allocateNewLocal() *offheap.Local { return offheap.NewLocal() }

// A link is an element of a list off the heap.
type link struct {
	key  int64
	next offheap.Ref[link]
}

//go:noinline
func allocateList(n int64) (head offheap.Ref[link]) {
	for key := range n {
		r := offheap.RefOf(offheap.New[link]())
		*r.Ptr() = link{key, head}
		head = r
	}
	return head
}

func leakRest(Variant) { offheap.DeleteRef(allocateList(10)) }

func leakArena(Variant) { allocate[point](&home{a: allocateArena()}) }

//go:noinline
func allocateArena() *arena.Arena { return arena.NewOffHeap(arena.Options{}) }

func leakFixed(Variant) { allocate[point](&home{a: allocateFixed()}) }

//go:noinline
func allocateFixed() *arena.Arena { return arena.NewFixed(1 << 16) }
