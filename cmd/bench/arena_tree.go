package bench

import "github.com/freehold-go/freehold/arena"

// addTreeArena adds the ways of freehold to tree and tree/fresh.
func addTreeArena() {
	ways := func(life arenaLife) []Contestant {
		return []Contestant{
			{Name: arenaNew, Note: "New, String and MakeSlice in the default arena", Prepare: Tree(treeNew(defaultArena, life))},
			{Name: arenaOf, Note: "handles that have looked the types up, and String", Prepare: Tree(treeOf(defaultArena, life))},
			{Name: arenaNoReuse, Note: "handles to an arena that leaves its memory to the collector, and String", Prepare: Tree(treeOf(noReuseArena, life))},
			{Name: arenaShared, Note: "New, String and MakeSlice in an arena for many goroutines", Prepare: Tree(treeNew(sharedArena, life)), FullOnly: true},
		}
	}
	addOwn("tree", append(ways(arenaReused), Contestant{
		Name: arenaPool, Note: "Get and Put of an arena for each round, and handles", Prepare: Tree(treePooled), FullOnly: true,
	})...)
	addOwn("tree/fresh", ways(arenaFresh)...)
	addTreeGoArena()
	AddBar(Bar{"tree of 1M, reused, " + arenaOf + " by the Go heap", 0.25, TimeRatio("tree", 1_000_000, arenaOf, heapName)})
	AddBar(Bar{"tree of 1M, reset, " + arenaNoReuse + " by the Go heap", 0.5, TimeRatio("tree", 1_000_000, arenaNoReuse, heapName)})
	AddBar(Bar{"tree of 1M, made and freed, " + arenaOf + " by the Go heap", 0.3, TimeRatio("tree/fresh", 1_000_000, arenaOf, heapName)})
}

func treeNew(make newArena, life arenaLife) func(r *Run) TreeWay {
	return func(r *Run) TreeWay {
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

// A treeTypes is an arena with handles to what a tree is made of.
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

func treeOf(make newArena, life arenaLife) func(r *Run) TreeWay {
	return func(r *Run) TreeWay {
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

func treePooled(r *Run) TreeWay {
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
