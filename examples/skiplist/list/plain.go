// SPDX-License-Identifier: Apache-2.0

package list

import (
	"bytes"
	"cmp"
	"iter"
	"sync/atomic"
)

// A Plain is a skiplist on the Go heap. The zero value is an empty list.
type Plain struct {
	head [maxHeight]atomic.Pointer[plainNode]
}

// A plainNode is an entry. Three quarters of the nodes are on the lowest level alone, so the link of
// that level lies in the node and the others in a slice.
type plainNode struct {
	prefix uint64 // Of key. Searches read the first three fields: they lie together.
	next   atomic.Pointer[plainNode]
	upper  []atomic.Pointer[plainNode] // The links of the levels from 1 on.
	key    []byte
	value  atomic.Pointer[[]byte]
}

// compare orders the node's key and another key, whose prefix is given.
func (n *plainNode) compare(key []byte, prefix uint64) int {
	if n.prefix != prefix {
		return cmp.Compare(n.prefix, prefix)
	}
	return bytes.Compare(n.key, key)
}

func (n *plainNode) link(level int) *atomic.Pointer[plainNode] {
	if level == 0 {
		return &n.next
	}
	return &n.upper[level-1]
}

// A plainPlace is the place of a key on each level: the link that leads there, and the node that
// the link led to.
type plainPlace struct {
	links [maxHeight]*atomic.Pointer[plainNode]
	after [maxHeight]*plainNode
}

// find looks for the place of key, and returns the node of key, or nil.
func (l *Plain) find(key []byte, at *plainPlace) *plainNode {
	var before, n *plainNode
	prefix, order := prefixOf(key), -1
	for level := maxHeight - 1; level >= 0; level-- {
		link := &l.head[level]
		if before != nil {
			link = before.link(level)
		}
		for {
			if n = link.Load(); n == nil {
				break
			}
			if order = n.compare(key, prefix); order >= 0 {
				break
			}
			before, link = n, n.link(level)
		}
		at.links[level], at.after[level] = link, n
	}
	if n != nil && order == 0 {
		return n
	}
	return nil
}

// Set makes a copy of value the value of key.
func (l *Plain) Set(key, value []byte) {
	v := bytes.Clone(value)
	var at plainPlace
	if n := l.find(key, &at); n != nil {
		n.value.Store(&v)
		return
	}
	height := randomHeight()
	n := &plainNode{prefix: prefixOf(key), key: bytes.Clone(key)}
	if height > 1 {
		n.upper = make([]atomic.Pointer[plainNode], height-1)
	}
	n.value.Store(&v)
	for level := range height {
		for {
			n.link(level).Store(at.after[level])
			if at.links[level].CompareAndSwap(at.after[level], n) {
				break
			}
			// Another goroutine has linked a node here. If it is a node of key, that node gets the value.
			if other := l.find(key, &at); other != nil && level == 0 {
				other.value.Store(&v)
				return
			}
		}
	}
}

// Get appends the value of key to dst, and reports whether there is one.
func (l *Plain) Get(dst, key []byte) ([]byte, bool) {
	var at plainPlace
	n := l.find(key, &at)
	if n == nil {
		return dst, false
	}
	return append(dst, *n.value.Load()...), true
}

// All iterates over the entries in the order of their keys. The program must not change the bytes.
func (l *Plain) All() iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		for n := l.head[0].Load(); n != nil; n = n.next.Load() {
			if !yield(n.key, *n.value.Load()) {
				return
			}
		}
	}
}
