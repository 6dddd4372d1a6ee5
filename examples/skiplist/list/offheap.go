// SPDX-License-Identifier: Apache-2.0

package list

import (
	"bytes"
	"cmp"
	"iter"

	"github.com/freehold-go/freehold/offheap"
)

// An OffHeap is a skiplist outside the Go heap. The zero value is an empty list. Its memory must be
// freed by Free, because the collector neither sees nor frees it.
//
// The head lies in the OffHeap itself: an AtomicRef is a number to the collector, so the OffHeap may
// lie on the Go heap and holds no pointer that the collector would follow.
type OffHeap struct {
	head [maxHeight]offheap.AtomicRef[node]
}

// A node is an entry. Off-heap memory holds no Go pointers, so each pointer of a plainNode is a
// reference here: a SliceRef for a slice, an AtomicRef for a link that several goroutines change.
type node struct {
	prefix uint64 // Of key. Searches read the first three fields: they lie together.
	next   offheap.AtomicRef[node]
	upper  offheap.Ref[tower] // Nil if the node is on the lowest level alone.
	key    offheap.SliceRef[byte]
	value  offheap.AtomicRef[version]
}

// A tower has the links of the levels from 1 on. It has a fixed size, because a Ref to a value is
// followed faster than a SliceRef, which checks that all of its elements lie in one block. Only a
// quarter of the nodes has one.
type tower [maxHeight - 1]offheap.AtomicRef[node]

// compare orders the node's key and another key, whose prefix is given.
func (n *node) compare(key []byte, prefix uint64) int {
	if n.prefix != prefix {
		return cmp.Compare(n.prefix, prefix)
	}
	return bytes.Compare(n.key.Slice(), key)
}

// A version is a value of a node and leads to the version that it has replaced. Another goroutine may
// still be reading the old one, so it is not freed before the list is.
type version struct {
	bytes offheap.SliceRef[byte]
	old   offheap.Ref[version]
}

func (n *node) link(level int) *offheap.AtomicRef[node] {
	if level == 0 {
		return &n.next
	}
	return &n.upper.Ptr()[level-1]
}

// A place is the place of a key on each level: the link that leads there, and the node that the
// link led to. It lies on the stack, where the addresses of off-heap memory cost the collector
// nothing.
type place struct {
	links [maxHeight]*offheap.AtomicRef[node]
	after [maxHeight]offheap.Ref[node]
}

// find looks for the place of key, and returns the node of key, or nil.
func (l *OffHeap) find(key []byte, at *place) *node {
	var before, n *node
	prefix, order := prefixOf(key), -1
	for level := maxHeight - 1; level >= 0; level-- {
		link := &l.head[level]
		if before != nil {
			link = before.link(level)
		}
		var r offheap.Ref[node]
		for {
			// Ptr checks that the Ref leads to memory of offheap. The pointer is good for as long
			// as the node is, which is until Free.
			r = link.Load()
			if n = r.Ptr(); n == nil {
				break
			}
			if order = n.compare(key, prefix); order >= 0 {
				break
			}
			before, link = n, n.link(level)
		}
		at.links[level], at.after[level] = link, r
	}
	if n != nil && order == 0 {
		return n
	}
	return nil
}

// Set makes a copy of value the value of key. It panics with a value that errors.Is
// offheap.ErrOutOfMemory or offheap.ErrLimit if there is no memory.
func (l *OffHeap) Set(key, value []byte) {
	v := newVersion(value)
	var at place
	if n := l.find(key, &at); n != nil {
		n.replace(v)
		return
	}
	height := randomHeight()
	n := newNode(key, height)
	n.value.Store(v)
	for level := range height {
		for {
			n.link(level).Store(at.after[level])
			if at.links[level].CompareAndSwap(at.after[level], offheap.RefOf(n)) {
				break
			}
			// Another goroutine has linked a node here. If it is a node of key, that node gets the
			// value. No other goroutine has seen n, so it can be freed at once; the collector would
			// do that for a plainNode.
			if other := l.find(key, &at); other != nil && level == 0 {
				n.value.Store(offheap.Ref[version]{})
				n.free()
				other.replace(v)
				return
			}
		}
	}
}

// Get appends the value of key to dst, and reports whether there is one. It copies the value,
// because the memory of the list ends with Free and dst may live longer.
func (l *OffHeap) Get(dst, key []byte) ([]byte, bool) {
	var at place
	n := l.find(key, &at)
	if n == nil {
		return dst, false
	}
	return append(dst, n.value.Load().Ptr().bytes.Slice()...), true
}

// All iterates over the entries in the order of their keys. The bytes are those of the list: the
// program must not change them, and must not use them after Free.
func (l *OffHeap) All() iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		for n := l.head[0].Load().Ptr(); n != nil; n = n.next.Load().Ptr() {
			if !yield(n.key.Slice(), n.value.Load().Ptr().bytes.Slice()) {
				return
			}
		}
	}
}

// Free frees all entries. No other goroutine may use the list meanwhile, nor bytes that All has
// yielded afterwards. The list is empty then and can be used again.
func (l *OffHeap) Free() {
	n := l.head[0].Load().Ptr()
	for level := range l.head {
		l.head[level].Store(offheap.Ref[node]{})
	}
	for n != nil {
		next := n.next.Load().Ptr() // n is no longer readable after its free.
		n.free()
		n = next
	}
}

// newNode makes a node off the heap, with a copy of key.
func newNode(key []byte, height int) *node {
	n := offheap.New[node]()
	n.prefix, n.key = prefixOf(key), copyOf(key)
	if height > 1 {
		n.upper = offheap.RefOf(offheap.New[tower]())
	}
	return n
}

// free frees n and all memory that belongs to it. Freeing off the heap is not recursive: each block
// is freed by its own call.
func (n *node) free() {
	for v := n.value.Load().Ptr(); v != nil; {
		old := v.old.Ptr()
		offheap.FreeSlice(v.bytes.Slice())
		offheap.Delete(v)
		v = old
	}
	offheap.FreeSlice(n.key.Slice())
	offheap.DeleteRef(n.upper)
	offheap.Delete(n)
}

// newVersion makes a version off the heap, with a copy of b.
func newVersion(b []byte) offheap.Ref[version] {
	v := offheap.New[version]()
	v.bytes = copyOf(b)
	return offheap.RefOf(v)
}

// replace makes v the value of n. It keeps the old value, to which another goroutine may still have
// a pointer.
func (n *node) replace(v offheap.Ref[version]) {
	for {
		old := n.value.Load()
		v.Ptr().old = old // No other goroutine sees v before the next line.
		if n.value.CompareAndSwap(old, v) {
			return
		}
	}
}

// copyOf copies b to a block of its own. The nil SliceRef of an empty b takes no memory.
func copyOf(b []byte) offheap.SliceRef[byte] {
	return offheap.SliceRefOf(offheap.Append([]byte(nil), b...))
}
