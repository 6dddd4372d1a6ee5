// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"syscall"
	"testing"

	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/offheap"
)

func init() {
	const size = 1 << 16
	if m, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE); err == nil {
		outsideMemory = m
	}
}

// TestDeepCloneOutside has pointers to memory that is neither Go's nor freehold's, as C code
// allocates it. What lies there may be larger than its Go type, and C knows it by its address.
func TestDeepCloneOutside(t *testing.T) {
	memory, err := syscall.Mmap(-1, 0, 1<<16, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(memory)
	type header struct {
		length int64
		rest   [0]byte
	}
	type owner struct {
		first, second *header
		text          string
		bytes         []byte
		any           any
		ours          *int64
	}
	at := unsafex.DataOf(memory)
	memory[64] = 'x'
	v := &owner{first: unsafex.As[header](at), second: unsafex.As[header](unsafex.Add(at, 8)), bytes: memory[64:66],
		text: unsafex.StringOf(unsafex.Add(at, 64), 1), ours: offheap.New[int64]()}
	defer offheap.Delete(v.ours)
	v.any = v.first
	cloners(t, func(t *testing.T, clone func(*owner, ...CloneOptions) *owner) {
		c := clone(v)
		if c.first != v.first || c.second != v.second || c.any != v.any {
			t.Error("a pointer to memory of others leads elsewhere")
		}
		if &c.bytes[0] == &v.bytes[0] || c.bytes[0] != 'x' || unsafex.StringData(c.text) != unsafex.PtrOf(&c.bytes[0]) {
			t.Error("bytes were shared")
		}
		if c.ours == v.ours {
			t.Error("a block of package offheap was shared")
		}
	})
	if c := Heap(v.first); c == v.first {
		t.Error("what the root points to was shared")
	}
	type ring struct {
		n    int64
		self *ring
		in   *int64
		at   **ring
	}
	r := unsafex.As[ring](unsafex.Add(at, 128))
	*r = ring{self: r, in: &r.n, at: &r.self}
	cloners(t, func(t *testing.T, clone func(*ring, ...CloneOptions) *ring) {
		if c := clone(r); c == r || c.self != c || c.in != &c.n || c.at != &c.self {
			t.Errorf("%+v at %p became %+v at %p", *r, r, *c, c)
		}
	})
}

// TestDeepCloneOutsideSlices has slices of memory of others, with pointers to their elements. The
// slices are copied and the pointers are shared, whichever comes first.
func TestDeepCloneOutsideSlices(t *testing.T) {
	memory, err := syscall.Mmap(-1, 0, 1<<16, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(memory)
	type node struct {
		next *node
		n    int
	}
	type value struct {
		before *node
		nodes  []node
		after  *node
	}
	const count = 4
	nodes := unsafex.SliceOf[node](unsafex.DataOf(memory), count, count)
	for i := range nodes {
		nodes[i] = node{&nodes[(i+1)%count], i}
	}
	first := &nodes[0]
	cloners(t, func(t *testing.T, clone func(*value, ...CloneOptions) *value) {
		for name, v := range map[string]*value{
			"pointer before": {before: first, nodes: nodes},
			"pointer behind": {nodes: nodes, after: first},
			"slice":          {nodes: nodes},
		} {
			c := clone(v)
			if c.before != v.before || c.after != v.after {
				t.Errorf("%s: a pointer to memory of others leads elsewhere", name)
			}
			if &c.nodes[0] == first || len(c.nodes) != count || cap(c.nodes) != count {
				t.Fatalf("%s: the slice is shared, or has another length", name)
			}
			for i, n := range c.nodes {
				if n != nodes[i] {
					t.Errorf("%s: element %d is %v and not %v", name, i, n, nodes[i])
				}
			}
		}
	})
}

// TestDeepCloneLowAddresses has pointers that C uses as signs: no memory is there. The first one that a clone meets is shared as others.
func TestDeepCloneLowAddresses(t *testing.T) {
	type target struct{ n int }
	for _, addr := range []uintptr{0x2000, 0xff00, 0x12340} {
		p := unsafex.At[target](addr)
		if v := Heap([2]*target{p, p}); v[0] != p || v[1] != p {
			t.Errorf("%#x became %p and %p", addr, v[0], v[1])
		}
	}
}
