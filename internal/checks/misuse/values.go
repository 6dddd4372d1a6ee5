// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/offheap"
)

// A point is a value without pointers.
type point struct{ x, y, z int64 }

func (p *point) fill(*home)  { p.x, p.y, p.z = 1, 2, 3 }
func (p *point) read() int64 { return p.y }
func (p *point) write()      { p.y = 5 }

// An other is as large as a point.
type other struct{ a, b, c float64 }

// A node is a value with pointers. Reading and writing follow them: what it holds beside them no
// page can guard, because the collector scans it.
type node struct {
	value int64
	next  *node
	name  string
}

func (n *node) fill(h *home) {
	n.next, n.name = arena.New[node](h.a), arena.String(h.a, "the name of a node")
}

func (n *node) read() int64 {
	if n.next == nil { // Freed memory may have been cleared.
		return 0
	}
	return n.next.value
}

func (n *node) write() {
	if n.next != nil {
		n.next.value = 5
	}
}

// A value is a *point or a *node.
type value[T any] interface {
	*T
	fill(*home)
	user
}

// A user does what programs do with a value.
type user interface {
	read() int64
	write()
}

// A way is the function that frees memory.
type way string

const (
	byFree   way = "Free"
	byReset  way = "Reset"
	byRewind way = "Rewind"
	byPut    way = "Put"
)

// A home is where the values of a program live.
type home struct {
	how   way
	a     *arena.Arena // nil for blocks of offheap.
	since arena.Checkpoint
	pool  arena.Pool
	frees []func() // One for each block.
}

// open makes a home: of offheap's blocks, or in an arena where the way or the variant needs one.
func open(v Variant, how way) *home {
	if v == OffHeap && how == byFree {
		return &home{how: how}
	}
	return openArena(v, how)
}

// openArena makes a home in an arena.
func openArena(v Variant, how way) *home {
	h := &home{how: how}
	switch {
	case v == OffHeap:
		h.a = arena.NewOffHeap(arena.Options{})
	case how == byPut:
		h.a = h.pool.Get()
	default:
		h.a = arena.NewArena()
	}
	arena.New[point](h.a) // What Rewind leaves.
	h.since = h.a.Checkpoint()
	return h
}

// giveUp frees all values of h.
//
//go:noinline
func giveUp(h *home) {
	defer churn()
	for _, free := range h.frees {
		free()
	}
	h.frees = nil
	if h.a == nil {
		return
	}
	switch h.how {
	case byFree:
		h.a.Free()
	case byReset:
		h.a.Reset(arena.Keep)
	case byRewind:
		h.a.Rewind(h.since)
	case byPut:
		h.pool.Put(h.a)
	default:
		panic(fmt.Sprintf("no way %q", h.how))
	}
}

// allocate makes a value.
//
//go:noinline
func allocate[T any, P value[T]](h *home) P {
	var p *T
	if h.a == nil {
		p = offheap.New[T]()
		h.frees = append(h.frees, func() { offheap.Delete(p) })
	} else {
		p = arena.New[T](h.a)
	}
	P(p).fill(h)
	return p
}

// allocateSlice makes a slice of n values.
//
//go:noinline
func allocateSlice[T any, P value[T]](h *home, n int) []T {
	var s []T
	if h.a == nil {
		s = offheap.MakeSlice[T](n, n)
		h.frees = append(h.frees, func() { offheap.FreeSlice(s) })
	} else {
		s = arena.MakeSlice[T](h.a, n, n)
	}
	for i := range s {
		P(&s[i]).fill(h)
	}
	return s
}

// allocateBytes makes n bytes.
//
//go:noinline
func allocateBytes(h *home, n int) []byte {
	if h.a != nil {
		return arena.MakeSlice[byte](h.a, n, n)
	}
	b := offheap.Alloc(n)
	h.frees = append(h.frees, func() { offheap.Free(b) })
	return b
}

// allocateString copies s to an arena.
//
//go:noinline
func allocateString(h *home, s string) string { return arena.String(h.a, s) }

// sum keeps what programs read, so that no read is left out.
var sum int64

//go:noinline
func accessRead(p user) { sum += p.read() }

//go:noinline
func accessWrite(p user) { p.write() }

//go:noinline
func accessByte(p *byte) { sum += int64(*p) }

//go:noinline
func accessByteWrite(p *byte) { *p = 0x5a }

// churning says that memory is allocated and freed between the free and the use.
var churning bool

// churn makes and frees arenas and memory of the Go heap, so that freed memory soon holds other
// data if it can.
func churn() {
	if !churning {
		return
	}
	foreign := strings.Repeat("#", 64)
	for range 2 {
		for _, o := range []arena.Options{{}, {NoReuse: true}} {
			a := arena.NewWith(o)
			for range 30 {
				n, p := arena.New[node](a), arena.New[point](a)
				n.value, n.name, n.next = -1000, arena.String(a, foreign), arena.New[node](a)
				n.next.value = -2000
				*p = point{-3000, -3000, -3000}
				arena.Bytes(a, foreign)
			}
			large := arena.MakeSlice[byte](a, 1<<20, 1<<20)
			for i := range large {
				large[i] = '#'
			}
			a.Free()
		}
		runtime.GC()
	}
}
