// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"testing"
)

// Leaf is a node of a tree as a document has them. gob wants its fields exported.
type Leaf struct {
	ID    int64
	Score float64
	Name  string
	Tags  []string
	Kids  []*Leaf
}

func leaves(depth int) *Leaf {
	l := &Leaf{ID: int64(depth), Score: 1.5, Name: fmt.Sprintf("leaf %d", depth), Tags: []string{"red", fmt.Sprint("tag", depth)}}
	if depth > 0 {
		for range 4 {
			l.Kids = append(l.Kids, leaves(depth-1))
		}
	}
	return l
}

// byHand is what one would write for Leaf, trees without shared parts.
func byHand(l *Leaf) *Leaf {
	c := &Leaf{ID: l.ID, Score: l.Score, Name: string([]byte(l.Name)), Tags: make([]string, len(l.Tags)), Kids: make([]*Leaf, len(l.Kids))}
	for i, s := range l.Tags {
		c.Tags[i] = string([]byte(s))
	}
	for i, k := range l.Kids {
		c.Kids[i] = byHand(k)
	}
	return c
}

func byHandIn(a *Arena, l *Leaf) *Leaf {
	c := New[Leaf](a)
	*c = Leaf{ID: l.ID, Score: l.Score, Name: String(a, l.Name), Tags: MakeSlice[string](a, len(l.Tags), len(l.Tags)), Kids: MakeSlice[*Leaf](a, len(l.Kids), len(l.Kids))}
	for i, s := range l.Tags {
		c.Tags[i] = String(a, s)
	}
	for i, k := range l.Kids {
		c.Kids[i] = byHandIn(a, k)
	}
	return c
}

// BenchmarkDeepClone copies trees of 5, 341 and 21845 leaves; figures are per leaf.
func BenchmarkDeepClone(b *testing.B) {
	for _, depth := range []int{1, 4, 7} {
		tree := leaves(depth)
		n := (1<<(2*depth+2) - 1) / 3
		a := NewArena()
		run := func(name string, f func()) {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					f()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/leaf")
			})
		}
		run("DeepClone", func() { must(second(DeepClone(a, tree))); a.Reset(Keep) })
		run("Heap", func() { must(second(Heap(tree))) })
		run("hand, arena", func() { byHandIn(a, tree); a.Reset(Keep) })
		run("hand, heap", func() { byHand(tree) })
		run("gob", func() {
			var buf bytes.Buffer
			var c Leaf
			if err := gob.NewEncoder(&buf).Encode(tree); err != nil {
				b.Fatal(err)
			}
			if err := gob.NewDecoder(&buf).Decode(&c); err != nil {
				b.Fatal(err)
			}
		})
		a.Free()
	}
}

// A branch is a node of a binary tree, the least that a copy by hand does.
type branch struct {
	left, right *branch
	value       int
}

func branches(depth int) *branch {
	b := &branch{value: depth}
	if depth > 0 {
		b.left, b.right = branches(depth-1), branches(depth-1)
	}
	return b
}

func branchByHand(b *branch) *branch {
	if b == nil {
		return nil
	}
	return &branch{branchByHand(b.left), branchByHand(b.right), b.value}
}

func branchByHandIn(a *Arena, b *branch) *branch {
	if b == nil {
		return nil
	}
	c := New[branch](a)
	c.left, c.right, c.value = branchByHandIn(a, b.left), branchByHandIn(a, b.right), b.value
	return c
}

// BenchmarkDeepCloneTree copies binary trees; figures are per node.
func BenchmarkDeepCloneTree(b *testing.B) {
	for _, depth := range []int{9, 16} {
		tree := branches(depth)
		n := 1<<(depth+1) - 1
		a := NewArena()
		run := func(name string, f func()) {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				for b.Loop() {
					f()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/node")
			})
		}
		run("DeepClone", func() { must(second(DeepClone(a, tree))); a.Reset(Keep) })
		run("hand, arena", func() { branchByHandIn(a, tree); a.Reset(Keep) })
		run("Heap", func() { must(second(Heap(tree))) })
		run("hand, heap", func() { branchByHand(tree) })
		a.Free()
	}
}
