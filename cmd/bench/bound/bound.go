// SPDX-License-Identifier: Apache-2.0

package bound

import (
	"math/bits"
	"unsafe"
)

// A Node is a list node. While it is free, it is a link of the free list.
type Node struct {
	Val  int64
	Next *Node
}

// A List is an intrusive free list of nodes: one load and one store to allocate, two stores to free.
type List struct{ free *Node }

// NewList maps room for n nodes and links them in the order of their addresses. The nodes lie outside the Go heap and
// only ever point to each other, so the collector does not need to see them.
func NewList(n int) *List {
	nodes := Slice[Node](n)
	l := new(List)
	for i := range nodes {
		l.Release(&nodes[n-1-i])
	}
	return l
}

// Alloc takes a node off the list. The list must not be empty.
func (l *List) Alloc() *Node {
	n := l.free
	l.free = n.Next
	return n
}

// Release puts a node onto the list.
func (l *List) Release(n *Node) {
	n.Next = l.free
	l.free = n
}

// A Stack is an intrusive free list of blocks of one size of 16 bytes or more, for []byte and for *T alike.
type Stack struct {
	free unsafe.Pointer
	_    [56]byte // keeps the stacks of two goroutines on different cache lines
}

// NewStack maps room for n blocks of size bytes.
func NewStack(n, size int) *Stack {
	s := &Stack{}
	s.grow(Map(n*size), n, size)
	return s
}

func (s *Stack) grow(mem []byte, n, size int) {
	for i := n - 1; i >= 0; i-- {
		// SAFETY: block i lies within mem, which is never unmapped.
		s.push(unsafe.Pointer(&mem[i*size]))
	}
}

func (s *Stack) push(p unsafe.Pointer) {
	// SAFETY: p is a block of this stack that is not in use, of 8 bytes or more, aligned to 8, outside the Go heap.
	*(*unsafe.Pointer)(p) = s.free
	s.free = p
}

func (s *Stack) pop() unsafe.Pointer {
	p := s.free
	// SAFETY: every block on the stack starts with the link that push wrote; the callers never pop
	// an empty stack.
	s.free = *(*unsafe.Pointer)(p)
	return p
}

// Pop takes a block off s, as a *T. The stack must not be empty, and T must have the size of its blocks and no pointers.
func Pop[T any](s *Stack) *T {
	// SAFETY: the stack of this T was made with blocks of its size, and T holds no pointers.
	return (*T)(s.pop())
}

// Push puts a block onto s that came from Pop.
func Push[T any](s *Stack, p *T) {
	// SAFETY: p came from Pop of the same stack.
	s.push(unsafe.Pointer(p))
}

// Classes keep a free list for each class of sizes, four classes to a doubling, and map more memory
// when one is empty. They never unmap memory. One goroutine uses them.
type Classes struct {
	stacks [classCount]Stack
	room   []byte
}

const (
	classCount = 160
	chunk      = 64 << 20
)

// classOf returns the class of n bytes, 1 <= n, and the size of its blocks.
func classOf(n int) (class, size int) {
	if n <= 64 {
		return (n - 1) >> 4, (n + 15) &^ 15
	}
	shift := bits.Len(uint(n-1)) - 3
	quarters := (n - 1) >> shift
	return 4 + (shift-4)*4 + quarters - 4, (quarters + 1) << shift
}

// Alloc returns a block of n bytes, n > 0. The bytes can have any value.
func (c *Classes) Alloc(n int) []byte {
	class, size := classOf(n)
	s := &c.stacks[class]
	if s.free == nil {
		return c.carve(size)[:n]
	}
	// SAFETY: a block of this class has size bytes, and n is at most that.
	return unsafe.Slice((*byte)(s.pop()), size)[:n]
}

// carve cuts a new block off the mapped room.
func (c *Classes) carve(size int) []byte {
	if len(c.room) < size {
		c.room = Map(max(chunk, size))
	}
	b := c.room[:size:size]
	c.room = c.room[size:]
	return b
}

// Release takes back a block that Alloc returned.
func (c *Classes) Release(b []byte) {
	class, _ := classOf(len(b))
	// SAFETY: b came from Alloc, so it is a block of the class of its length that is no longer in use.
	c.stacks[class].push(unsafe.Pointer(unsafe.SliceData(b)))
}

// A Pile serves blocks that are freed last in, first out: a bump pointer that goes both ways over one mapping.
type Pile struct {
	mem []byte
	top int
}

// NewPile maps n bytes for a pile.
func NewPile(n int) *Pile { return &Pile{mem: Map(n)} }

// Alloc returns the n bytes above the newest block.
func (p *Pile) Alloc(n int) []byte {
	b := p.mem[p.top : p.top+n : p.top+n]
	p.top += n
	return b
}

// Release takes back the newest block.
func (p *Pile) Release(b []byte) { p.top -= len(b) }

// PooledBytes turns the pointer that a sync.Pool keeps back into its block. Pools keep pointers, because a slice in
// an interface value would be an allocation of its own.
func PooledBytes(p *byte, size int) []byte {
	// SAFETY: p is the first byte of a block of size bytes on the Go heap; the result keeps it alive.
	return unsafe.Slice(p, size)
}

// HugePage is the size of a transparent huge page on systems where they have one size. A wrong
// guess costs the bound only some nanoseconds.
const HugePage = 2 << 20

// A Huge is memory that begins at a multiple of a huge page, within a larger mapping.
type Huge struct {
	whole []byte
	Mem   []byte // the part to use
}

func addressOf(b []byte) uintptr {
	// SAFETY: the address is only calculated with.
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))
}

// SizeOf is the size of n values.
func SizeOf[T any](n int) int {
	var zero T
	return n * int(unsafe.Sizeof(zero))
}

// Slice maps n values, zeroed. The targets of their pointers must be reachable in another way.
func Slice[T any](n int) []T { return Over[T](Map(SizeOf[T](n)), n) }

// Over lays a slice of n values over the beginning of a mapping.
func Over[T any](mem []byte, n int) []T {
	_ = mem[:SizeOf[T](n)]
	// SAFETY: mem is mapped, zeroed when T needs it, begins at a page and is large enough. The
	// caller promises about T's pointers that all their targets on the Go heap are reachable in
	// another way.
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(mem))), n)
}

// Text is b as a string that shares its bytes.
func Text(b []byte) string {
	// SAFETY: no code writes to b while the string is in use: a slab is filled again only after its
	// round.
	return unsafe.String(unsafe.SliceData(b), len(b))
}
