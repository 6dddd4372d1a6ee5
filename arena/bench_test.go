// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"testing"
)

var sinkPoints []*point

// ways are those of making n points and a slice that leads to them, all of which die then.
var ways = []struct {
	name  string
	round func(n int) func()
}{
	{"Heap", func(n int) func() {
		return func() {
			list := make([]*point, n)
			for i := range list {
				p := new(point)
				p.x, p.y = int64(i), 1
				list[i] = p
			}
			sinkPoints = list
		}
	}},
	{"Slab", func(n int) func() {
		slab, list := make([]point, n), make([]*point, n)
		return func() {
			clear(slab)
			clear(list)
			for i := range list {
				p := &slab[i]
				p.x, p.y = int64(i), 1
				list[i] = p
			}
		}
	}},
	{"Reset", func(n int) func() {
		a := NewArena()
		return func() {
			list := MakeSlice[*point](a, n, n)
			for i := range list {
				p := New[point](a)
				p.x, p.y = int64(i), 1
				list[i] = p
			}
			a.Reset(Keep)
		}
	}},
	{"ResetOf", func(n int) func() {
		a := NewArena()
		points := Of[point](a)
		return func() {
			list := MakeSlice[*point](a, n, n)
			for i := range list {
				p := points.New()
				p.x, p.y = int64(i), 1
				list[i] = p
			}
			a.Reset(Keep)
		}
	}},
	{"Free", func(n int) func() {
		return func() {
			a := NewArena()
			list := MakeSlice[*point](a, n, n)
			for i := range list {
				p := New[point](a)
				p.x, p.y = int64(i), 1
				list[i] = p
			}
			a.Free()
		}
	}},
	{"Pool", func(n int) func() {
		pool := new(Pool)
		return func() {
			a := pool.Get()
			list := MakeSlice[*point](a, n, n)
			for i := range list {
				p := New[point](a)
				p.x, p.y = int64(i), 1
				list[i] = p
			}
			pool.Put(a)
		}
	}},
}

func BenchmarkObjects(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000, 1_000_000} {
		for _, w := range ways {
			b.Run(fmt.Sprintf("%s/%d", w.name, n), func(b *testing.B) {
				round := w.round(n)
				round()
				for b.Loop() {
					round()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/object")
			})
		}
	}
}

func buildTree(a *Arena, depth int) *node {
	n := New[node](a)
	n.name = String(a, "a name of the node")
	n.kids = MakeSlice[*node](a, 2, 2)
	if depth > 0 {
		n.kids[0], n.kids[1] = buildTree(a, depth-1), buildTree(a, depth-1)
		n.next = n.kids[0]
	}
	return n
}

func heapTree(depth int) *node {
	n := &node{name: string([]byte("a name of the node")), kids: make([]*node, 2)}
	if depth > 0 {
		n.kids[0], n.kids[1] = heapTree(depth-1), heapTree(depth-1)
		n.next = n.kids[0]
	}
	return n
}

var sinkNode *node

func BenchmarkTree(b *testing.B) {
	const depth = 16
	b.Run("Heap", func(b *testing.B) {
		for b.Loop() {
			sinkNode = heapTree(depth)
		}
	})
	b.Run("Reset", func(b *testing.B) {
		a := NewArena()
		for b.Loop() {
			buildTree(a, depth)
			a.Reset(Keep)
		}
	})
	b.Run("Free", func(b *testing.B) {
		for b.Loop() {
			a := NewArena()
			buildTree(a, depth)
			a.Free()
		}
	})
}
