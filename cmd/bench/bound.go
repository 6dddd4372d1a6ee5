package bench

import (
	"math/bits"
	"unsafe"
)

// This file holds the physical bound: allocators written by hand for one task, over one mapping, without any check.
// A wrong free would corrupt them at once. They are what a general allocator is held against, not one to use, and all
// unsafe code of the command is here.

// A boundNode is a list node, and while it is free a link of the free list.
type boundNode struct {
	val  int64
	next *boundNode
}

// A boundList is an intrusive free list of nodes: one load and one store to allocate, two stores to free.
type boundList struct {
	free *boundNode
	mem  []byte
}

// newBoundList maps room for n nodes and links them in the order of their addresses.
func newBoundList(n int) *boundList {
	mem := mapMemory(n * int(unsafe.Sizeof(boundNode{})))
	// SAFETY: mem is zeroed, page-aligned, holds n nodes and is never unmapped; it lies outside the Go heap and its
	// nodes only ever point into it, so the collector does not need to see them.
	nodes := unsafe.Slice((*boundNode)(unsafe.Pointer(unsafe.SliceData(mem))), n)
	l := &boundList{mem: mem}
	for i := range nodes {
		node := &nodes[n-1-i]
		node.next = l.free
		l.free = node
	}
	return l
}

func (l *boundList) alloc() *boundNode {
	n := l.free
	l.free = n.next
	return n
}

func (l *boundList) release(n *boundNode) {
	n.next = l.free
	l.free = n
}

// boundNodes maps n nodes for the workload scan, zeroed.
func boundNodes(n int) []plainNode {
	mem := mapMemory(n * int(unsafe.Sizeof(plainNode{})))
	// SAFETY: mem is zeroed, page-aligned, large enough and never unmapped, and the nodes hold no pointers.
	return unsafe.Slice((*plainNode)(unsafe.Pointer(unsafe.SliceData(mem))), n)
}

// A boundStack is an intrusive free list of blocks of one size of 16 bytes or more, for []byte and for *T alike.
type boundStack struct {
	free unsafe.Pointer
	_    [56]byte // keeps the stacks of two goroutines on different cache lines
}

// newBoundStack maps room for n blocks of size bytes.
func newBoundStack(n, size int) *boundStack {
	s := &boundStack{}
	s.grow(mapMemory(n*size), n, size)
	return s
}

func (s *boundStack) grow(mem []byte, n, size int) {
	for i := n - 1; i >= 0; i-- {
		// SAFETY: block i lies within mem, which is never unmapped.
		s.push(unsafe.Pointer(&mem[i*size]))
	}
}

func (s *boundStack) push(p unsafe.Pointer) {
	// SAFETY: p is a block of this stack that nobody uses, of 8 bytes or more, aligned to 8, outside the Go heap.
	*(*unsafe.Pointer)(p) = s.free
	s.free = p
}

func (s *boundStack) pop() unsafe.Pointer {
	p := s.free
	// SAFETY: every block on the stack starts with the link that push wrote; the callers never pop an empty stack.
	s.free = *(*unsafe.Pointer)(p)
	return p
}

// boundPop takes a block off s as a *T.
func boundPop[T any](s *boundStack) *T {
	// SAFETY: the stack of this T was made with blocks of its size, and T holds no pointers.
	return (*T)(s.pop())
}

func boundPush[T any](s *boundStack, p *T) {
	// SAFETY: p came from boundPop of the same stack.
	s.push(unsafe.Pointer(p))
}

// A boundClasses keeps a free list for each class of sizes, four classes to a doubling, and maps more memory when one
// is empty. It gives nothing back. One goroutine uses it.
type boundClasses struct {
	stacks [boundClassCount]boundStack
	room   []byte
}

const (
	boundClassCount = 160
	boundChunk      = 64 << 20
)

// boundClass returns the class of n bytes, 1 <= n, and the size of its blocks.
func boundClass(n int) (class, size int) {
	if n <= 64 {
		return (n - 1) >> 4, (n + 15) &^ 15
	}
	shift := bits.Len(uint(n-1)) - 3
	quarters := (n - 1) >> shift
	return 4 + (shift-4)*4 + quarters - 4, (quarters + 1) << shift
}

func (c *boundClasses) alloc(n int) []byte {
	class, size := boundClass(n)
	s := &c.stacks[class]
	if s.free == nil {
		return c.carve(size)[:n]
	}
	// SAFETY: a block of this class has size bytes, and n is at most that.
	return unsafe.Slice((*byte)(s.pop()), size)[:n]
}

// carve cuts a new block off the mapped room.
func (c *boundClasses) carve(size int) []byte {
	if len(c.room) < size {
		c.room = mapMemory(max(boundChunk, size))
	}
	b := c.room[:size:size]
	c.room = c.room[size:]
	return b
}

func (c *boundClasses) release(b []byte) {
	class, _ := boundClass(len(b))
	// SAFETY: b came from alloc, so it is a block of the class of its length that nobody uses any more.
	c.stacks[class].push(unsafe.Pointer(unsafe.SliceData(b)))
}

// A boundPile serves blocks that are freed last in, first out: a bump pointer that goes both ways over one mapping.
type boundPile struct {
	mem []byte
	top int
}

func (p *boundPile) alloc(n int) []byte {
	b := p.mem[p.top : p.top+n : p.top+n]
	p.top += n
	return b
}

func (p *boundPile) release(b []byte) { p.top -= len(b) }

// pooledBytes turns the pointer that a sync.Pool keeps back into its block. Pools keep pointers, because a slice in
// an interface value would be an allocation of its own.
func pooledBytes(p *byte, size int) []byte {
	// SAFETY: p is the first byte of a block of size bytes on the Go heap; the result keeps it alive.
	return unsafe.Slice(p, size)
}

// hugePage is the size of a transparent huge page where they have one size. A wrong guess costs the bound some
// nanoseconds and nothing else.
const hugePage = 2 << 20

// A hugeMapping is memory that begins at a multiple of a huge page, within a larger mapping.
type hugeMapping struct {
	whole, mem []byte
}

func addressOf(b []byte) uintptr {
	// SAFETY: the address is only calculated with.
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))
}

// sizeOf is the size of n values.
func sizeOf[T any](n int) int {
	var zero T
	return n * int(unsafe.Sizeof(zero))
}

// mappedSlice lays a slice of n values over the beginning of a mapping.
func mappedSlice[T any](mem []byte, n int) []T {
	_ = mem[:sizeOf[T](n)]
	// SAFETY: mem is mapped, zeroed when T needs it, begins at a page and is large enough. What T's pointers lead to is
	// the caller's promise: nothing on the Go heap that nobody else holds.
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(mem))), n)
}

// textOf is b as a string that shares its bytes.
func textOf(b []byte) string {
	// SAFETY: nobody writes to b while the string is in use: a slab is filled again after its round only.
	return unsafe.String(unsafe.SliceData(b), len(b))
}
