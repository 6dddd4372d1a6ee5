// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"slices"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/cmd/bench"
	"github.com/freehold-go/freehold/cmd/bench/bound"
)

// A tree of nodes that hold a string, a pointer and a slice, as parsers and planners build them.
// All values are made for one tree and die with it. The recursion is written out for every
// contestant.

func treeWorkloads() []bench.Workload {
	const million = 1_000_000
	reused := bench.Workload{
		Name: "tree",
		Doc: "Build a tree of n nodes, each with a name of its own, a pointer to its parent and a slice of up to eight " +
			"children, walk it, drop it; memory is used again in the next round.",
		Op:    "node",
		Size:  "nodes",
		Quick: []int{100_000},
		Full:  []int{1000, 10_000, 100_000, 256_000, million, 10_000_000},
		Ops:   func(n int) int { return n * repeats(n) },
		Bound: slabName,
		Contestants: slices.Concat([]bench.Contestant{
			{Name: heapName, Note: "new, string(b) and make; freed by the collector", Prepare: Tree(treeHeap)},
			{Name: "sync.Pool", Note: "Get and Put of nodes that keep their slice; names on the Go heap", Prepare: Tree(treePool)},
			{Name: slabName, Note: "the bound: slices of nodes, of children and of text, cleared and filled again", Prepare: Tree(treeSlab)},
		}, treeArenas(arenaReused), own(bench.Contestant{
			Name: arenaPool, Note: "Get and Put of an arena for each round, and handles", Prepare: Tree(treePooled), FullOnly: true,
		}), treeGoArena()),
		Bars: []bench.Bar{
			bench.AtMost("tree of 1M, reused, "+arenaOf+" by the Go heap", 0.25, bench.TimeRatio("tree", million, arenaOf, heapName)),
			bench.AtMost("tree of 1M, reset, "+arenaNoReuse+" by the Go heap", 0.5, bench.TimeRatio("tree", million, arenaNoReuse, heapName)),
		},
	}
	fresh := reused
	fresh.Name = "tree/fresh"
	fresh.Doc = "The same where each round makes what it allocates from, and frees it at the end."
	fresh.Contestants = slices.Concat([]bench.Contestant{
		{Name: heapName, Note: "new, string(b) and make; freed by the collector", Prepare: Tree(treeHeap)},
		{Name: slabName, Note: "the bound: slices made each round, freed by the collector", Prepare: Tree(treeSlabFresh)},
		{
			Name: hugeSlabName, Note: "mappings made and unmapped each round, on huge pages", Unavailable: bound.HugePagesMissing,
			Bound: true, Prepare: Tree(treeSlabHuge),
		},
	}, treeArenas(arenaFresh), treeGoArena())
	fresh.Bars = []bench.Bar{
		bench.AtMost("tree of 1M, made and freed, "+arenaOf+" by the Go heap", 0.3, bench.TimeRatio("tree/fresh", million, arenaOf, heapName)),
	}
	return []bench.Workload{reused, fresh}
}

// treeArenas are the ways of freehold in both workloads.
func treeArenas(life arenaLife) []bench.Contestant {
	return own(
		bench.Contestant{Name: arenaNew, Note: "New, String and MakeSlice in the default arena", Prepare: Tree(treeNew(defaultArena, life))},
		bench.Contestant{Name: arenaOf, Note: "handles that have looked the types up, and String", Prepare: Tree(treeOf(defaultArena, life))},
		bench.Contestant{Name: arenaNoReuse, Note: "handles to an arena that leaves its memory to the collector, and String", Prepare: Tree(treeOf(noReuseArena, life))},
		bench.Contestant{Name: arenaShared, Note: "New, String and MakeSlice in an arena for many goroutines", Prepare: Tree(treeNew(sharedArena, life)), FullOnly: true},
	)
}

// TreeNode is a node of the workload tree.
type TreeNode struct {
	Name     string
	Parent   *TreeNode
	Children []*TreeNode
}

// treeFan is the most children that a node has.
const treeFan = 8

// TreeWay is a way to make trees.
type TreeWay struct {
	// Build makes a tree of n nodes below parent: a node, then the trees of its Children(n) in order, of Share(n, i)
	// nodes each. Each node copies the next of the names, before its children do.
	Build func(names *TreeNames, n int, parent *TreeNode) *TreeNode
	// Put frees the nodes one by one. It is nil if the way does not free single nodes.
	Put func(root *TreeNode)
	// Free frees all memory at once. It is nil if the way does not.
	Free func()
}

// Children is how many children the root of a tree of n nodes has.
func Children(n int) int { return min(treeFan, n-1) }

// Share is how many of the n nodes of a tree stand below its child i, the child included.
func Share(n, i int) int {
	children := Children(n)
	share := (n - 1) / children
	if i < (n-1)%children {
		share++
	}
	return share
}

// TreeNames are the names of a tree's nodes, as a reader returns them: bytes that the caller must
// not keep.
type TreeNames struct {
	text []byte
	next int
}

const (
	treeShortest = 4
	treeLongest  = 20 // exclusive
	treeText     = 1 << 12
)

func newTreeNames() *TreeNames {
	names := &TreeNames{text: make([]byte, treeText)}
	for i := range names.text {
		names.text[i] = 'a' + byte(i*i%26)
	}
	return names
}

// Next is the next name, of 4 to 19 bytes.
func (t *TreeNames) Next() []byte {
	t.next++
	at := t.next * 7 % (treeText - treeLongest)
	return t.text[at : at+treeShortest+t.next%(treeLongest-treeShortest)]
}

// bytes is the length of the next n names together.
func (t *TreeNames) bytes(n int) (sum int) {
	for i := range n {
		sum += treeShortest + (t.next+1+i)%(treeLongest-treeShortest)
	}
	return sum
}

// Tree is the Prepare of a contestant of the workloads tree and tree/fresh.
func Tree(newWay func(r *bench.Run) TreeWay) func(r *bench.Run) func() uint64 {
	return func(r *bench.Run) func() uint64 {
		way := newWay(r)
		names := newTreeNames()
		k := 0
		return func() (sum uint64) {
			for i := range repeats(r.N) {
				names.next = k
				k++
				root := way.Build(names, r.N, nil)
				if i == 0 {
					r.Peak()
				}
				sum = sum*31 + treeSum(root)
				if way.Put != nil {
					way.Put(root)
				}
				if way.Free != nil {
					way.Free()
				}
			}
			return sum
		}
	}
}

func treeSum(n *TreeNode) uint64 {
	sum := uint64(len(n.Name))<<8 + uint64(n.Name[0]) + uint64(n.Name[len(n.Name)-1])
	if n.Parent != nil {
		sum += uint64(n.Parent.Name[0])
	}
	for _, child := range n.Children {
		sum = sum*31 + treeSum(child)
	}
	return sum
}

func treeHeap(*bench.Run) TreeWay { return TreeWay{Build: buildTreeHeap} }

func buildTreeHeap(names *TreeNames, n int, parent *TreeNode) *TreeNode {
	node := new(TreeNode)
	node.Name, node.Parent = string(names.Next()), parent
	if n > 1 {
		node.Children = make([]*TreeNode, Children(n))
		for i := range node.Children {
			node.Children[i] = buildTreeHeap(names, Share(n, i), node)
		}
	}
	return node
}

func treePool(*bench.Run) TreeWay {
	pool := newPool[TreeNode]()
	var build func(names *TreeNames, n int, parent *TreeNode) *TreeNode
	build = func(names *TreeNames, n int, parent *TreeNode) *TreeNode {
		node := pool.Get().(*TreeNode)
		node.Name, node.Parent = string(names.Next()), parent
		if n > 1 {
			for i := range Children(n) {
				node.Children = append(node.Children, build(names, Share(n, i), node))
			}
		}
		return node
	}
	var put func(node *TreeNode)
	put = func(node *TreeNode) {
		for _, child := range node.Children {
			put(child)
		}
		clear(node.Children)
		*node = TreeNode{Children: node.Children[:0]}
		pool.Put(node)
	}
	return TreeWay{Build: build, Put: put}
}

// A treeSlabs holds one tree: values are cut from the front of its slabs.
type treeSlabs struct {
	nodes    []TreeNode
	children []*TreeNode
	text     []byte
}

func (s *treeSlabs) build(names *TreeNames, n int, parent *TreeNode) *TreeNode {
	node := &s.nodes[0]
	s.nodes = s.nodes[1:]
	name := names.Next()
	copy(s.text, name)
	node.Name, node.Parent = bound.Text(s.text[:len(name)]), parent
	s.text = s.text[len(name):]
	if n > 1 {
		count := Children(n)
		node.Children, s.children = s.children[:count:count], s.children[count:]
		for i := range node.Children {
			node.Children[i] = s.build(names, Share(n, i), node)
		}
	}
	return node
}

func treeSlab(r *bench.Run) TreeWay {
	whole := treeSlabs{make([]TreeNode, r.N), make([]*TreeNode, r.N), make([]byte, treeLongest*r.N)}
	return TreeWay{
		Build: func(names *TreeNames, n int, _ *TreeNode) *TreeNode {
			s := whole
			return s.build(names, n, nil)
		},
		Free: func() {
			clear(whole.nodes)
			clear(whole.children)
		},
	}
}

func treeSlabFresh(*bench.Run) TreeWay {
	return TreeWay{Build: func(names *TreeNames, n int, _ *TreeNode) *TreeNode {
		s := treeSlabs{make([]TreeNode, n), make([]*TreeNode, n), make([]byte, names.bytes(n))}
		return s.build(names, n, nil)
	}}
}

// treeSlabHuge keeps the tree out of the Go heap. That is sound because its pointers lead to the same mappings only.
func treeSlabHuge(r *bench.Run) TreeWay {
	var mappings [3]bound.Huge
	return TreeWay{
		Build: func(names *TreeNames, n int, _ *TreeNode) *TreeNode {
			sizes := [...]int{bound.SizeOf[TreeNode](n), bound.SizeOf[*TreeNode](n), names.bytes(n)}
			for i, size := range sizes {
				mappings[i] = bound.MapHuge(size)
			}
			s := treeSlabs{bound.Over[TreeNode](mappings[0].Mem, n), bound.Over[*TreeNode](mappings[1].Mem, n), mappings[2].Mem}
			return s.build(names, n, nil)
		},
		Free: func() {
			for _, m := range mappings {
				m.Unmap()
			}
		},
	}
}

func treeNew(make newArena, life arenaLife) func(r *bench.Run) TreeWay {
	return func(r *bench.Run) TreeWay {
		a := life.keepArena(r, make, 0)
		return TreeWay{
			Build: func(names *TreeNames, n int, parent *TreeNode) *TreeNode {
				if life == arenaFresh {
					a = make(0)
				}
				return buildTreeNew(a, names, n, parent)
			},
			Free: func() { life.end(a) },
		}
	}
}

func buildTreeNew(a *arena.Arena, names *TreeNames, n int, parent *TreeNode) *TreeNode {
	node := arena.New[TreeNode](a)
	node.Name, node.Parent = arena.String(a, names.Next()), parent
	if n > 1 {
		count := Children(n)
		node.Children = arena.MakeSlice[*TreeNode](a, count, count)
		for i := range node.Children {
			node.Children[i] = buildTreeNew(a, names, Share(n, i), node)
		}
	}
	return node
}

// A treeTypes is an arena with handles for the types of a tree.
type treeTypes struct {
	arena *arena.Arena
	nodes arena.Typed[TreeNode]
	links arena.Typed[*TreeNode]
}

func treeTypesOf(a *arena.Arena) *treeTypes {
	return &treeTypes{a, arena.Of[TreeNode](a), arena.Of[*TreeNode](a)}
}

func (t *treeTypes) build(names *TreeNames, n int, parent *TreeNode) *TreeNode {
	node := t.nodes.New()
	node.Name, node.Parent = arena.String(t.arena, names.Next()), parent
	if n > 1 {
		count := Children(n)
		node.Children = t.links.MakeSlice(count, count)
		for i := range node.Children {
			node.Children[i] = t.build(names, Share(n, i), node)
		}
	}
	return node
}

func treeOf(make newArena, life arenaLife) func(r *bench.Run) TreeWay {
	return func(r *bench.Run) TreeWay {
		a := life.keepArena(r, make, 0)
		return TreeWay{
			Build: func(names *TreeNames, n int, parent *TreeNode) *TreeNode {
				if life == arenaFresh {
					a = make(0)
				}
				return treeTypesOf(a).build(names, n, parent)
			},
			Free: func() { life.end(a) },
		}
	}
}

func treePooled(r *bench.Run) TreeWay {
	const nodeBytes = 128 // more than a node, its name and its part of a slice
	pool := &arena.Pool{Bytes: pooledBytesFor(nodeBytes * r.N)}
	var a *arena.Arena
	return TreeWay{
		Build: func(names *TreeNames, n int, parent *TreeNode) *TreeNode {
			a = pool.Get()
			return treeTypesOf(a).build(names, n, parent)
		},
		Free: func() { pool.Put(a) },
	}
}
