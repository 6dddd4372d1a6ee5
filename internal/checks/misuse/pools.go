// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"slices"

	"github.com/freehold-go/freehold/offheap"
	"github.com/freehold-go/freehold/pool"
)

// pools are misuses of package pool. The objects of a Pool have pointers, or lie off the heap.
func pools() []Case {
	tracked := []Mode{Guard, Leaks}
	blocks := []Mode{Guard, Leaks, HeapPointers, Sample, ASan, MSan, Valgrind, Race}
	released, shared := always("Frame.", "use after the last Release"), always("Buffer.", "use after Share")
	return []Case{
		{Name: "object-put-twice", Text: "puts an object into a Pool twice", Run: objects(putObjectTwice[visit], putObjectTwice[ticket]), Seen: []Sight{
			{By: tracked, In: []Variant{Pointers}, Says: []string{"second Put"}, Stacks: everything},
			{By: blocks, In: []Variant{OffHeap}, Says: []string{"double free"}},
		}},
		{Name: "object-stranger", Text: "puts an object into a Pool that another Pool made", Run: objects(putStranger, nil), Seen: []Sight{{By: tracked, Says: []string{"foreign pointer"}, Stacks: Accessed}}},
		{Name: "object-write", Text: "writes an object after Put", Run: objects(writeObject[visit], writeObject[ticket]), Seen: append(goneOffHeap(writes),
			Sight{By: []Mode{Guard}, In: []Variant{Pointers}, Says: []string{"write after Put"}, Stacks: Allocated | Freed})},
		{Name: "object-read", Text: "reads an object off the heap after Put", Run: objects(nil, readObject), Seen: goneOffHeap(reads)},
		{Name: "object-goroutine", Text: "writes an object in another goroutine after Put", Run: objects(shareObject, nil), Seen: append(raced(),
			Sight{By: []Mode{Guard}, Says: []string{"write after Put"}, Stacks: Allocated | Freed})},
		{Name: "object-leak", Text: "never puts an object back", Run: objects(leakObject[visit], leakObject[ticket]), Seen: leaked("1 block", "bytes")},
		{Name: "frame-release", Text: "releases a Frame too often", Run: only(OffHeap, releaseTwice), Seen: released},
		{Name: "frame-read", Text: "reads a Frame after the last Release", Run: only(OffHeap, readReleased), Seen: released},
		{Name: "buffer-shared", Text: "writes to a Buffer after Share", Run: only(OffHeap, writeShared), Seen: shared},
		{Name: "buffer-leak", Text: "drops a Buffer without Free", Run: only(OffHeap, leakBuffer), Seen: leaked("1 block", "512 bytes")},
		{Name: "slab-stale", Text: "uses what a stale handle leads to", Run: only(OffHeap, followStale), Seen: always("nil pointer dereference")},
	}
}

// goneOffHeap lists the modes that catch a use of an object off the heap after Put, which deletes it.
func goneOffHeap(u use) (seen []Sight) {
	for _, s := range gone(byFree, "Delete", u) {
		if s.In == nil || slices.Contains(s.In, OffHeap) {
			s.In = []Variant{OffHeap}
			seen = append(seen, s)
		}
	}
	return seen
}

// A visit is an object with pointers.
type visit struct {
	number int
	name   string
	next   *visit
}

// A ticket is one without.
type ticket struct{ number, seat int }

// tickets is the account of objects off the heap.
var tickets = offheap.NewPurpose("tickets")

// objects is a program on a Pool of objects with pointers, and on one of objects off the heap.
func objects(pointers, off func(Variant)) map[Variant]func(Variant) {
	m := map[Variant]func(Variant){}
	if pointers != nil {
		m[Pointers] = pointers
	}
	if off != nil {
		m[OffHeap] = off
	}
	return m
}

func poolOf[T any](v Variant) *pool.Pool[T] {
	if v == OffHeap {
		return &pool.Pool[T]{OffHeap: tickets}
	}
	return &pool.Pool[T]{}
}

//go:noinline
func allocateObject[T any](p *pool.Pool[T]) *T { return p.Get() }

//go:noinline
func giveUpObject[T any](p *pool.Pool[T], x *T) { p.Put(x) }

//go:noinline
func accessPut[T any](p *pool.Pool[T], x *T) { p.Put(x) }

func putObjectTwice[T any](v Variant) {
	p := poolOf[T](v)
	x := allocateObject(p)
	giveUpObject(p, x)
	accessPut(p, x)
}

func putStranger(v Variant) {
	p, q := poolOf[visit](v), poolOf[visit](v)
	giveUpObject(p, allocateObject(p))
	accessPut(p, allocateObject(q))
}

func writeObject[T any](v Variant) {
	p := poolOf[T](v)
	x := allocateObject(p)
	giveUpObject(p, x)
	accessByteOf(x)
	allocateObject(p)
}

// accessByteOf writes the number of a visit or a ticket.
//
//go:noinline
func accessByteOf(x any) {
	switch x := x.(type) {
	case *visit:
		x.number = 7
	case *ticket:
		x.number = 7
	}
}

func readObject(v Variant) {
	p := poolOf[ticket](v)
	x := allocateObject(p)
	giveUpObject(p, x)
	accessTicket(x)
}

//go:noinline
func accessTicket(x *ticket) int { return x.number + x.seat }

// shareObject is a handler that a goroutine of its own outlives.
func shareObject(v Variant) {
	p := poolOf[visit](v)
	x := allocateObject(p)
	atOnce(func() { giveUpObject(p, x) }, func() { accessByteOf(x) })
}

func leakObject[T any](v Variant) {
	p := poolOf[T](v)
	giveUpObject(p, p.Get())
	accessByteOf(allocateObject(p))
}

func allocateFrame() *pool.Frame {
	var b pool.Buffer
	_, _ = b.WriteString("a message")
	return b.Share()
}

func releaseTwice(Variant) {
	f := allocateFrame()
	f.Release()
	f.Release()
}

func readReleased(Variant) {
	f := allocateFrame()
	f.Release()
	_, _ = f.WriteTo(io.Discard)
}

func writeShared(Variant) {
	var b pool.Buffer
	_, _ = b.WriteString("a message")
	f := b.Share()
	defer f.Release()
	_, _ = b.WriteString("more")
}

func leakBuffer(Variant) { allocateBuffer() }

//go:noinline
func allocateBuffer() {
	var b pool.Buffer
	_, _ = b.WriteString("a message")
}

func followStale(Variant) {
	s := pool.NewSlab[ticket](pool.SlabOptions{Purpose: tickets})
	defer s.Free()
	h, _ := s.New()
	s.Delete(h)
	s.New() // It takes the slot.
	accessTicket(s.Get(h))
}
