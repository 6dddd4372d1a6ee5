// SPDX-License-Identifier: Apache-2.0

//go:build goexperiment.arenas

package workloads

import (
	"arena"

	"github.com/freehold-go/freehold/cmd/bench"
	"github.com/freehold-go/freehold/cmd/bench/bound"
)

// The Go experiment's arenas cannot be reset: each round makes one and frees it.

func goArena(prepare func(*bench.Run) func() uint64) []bench.Contestant {
	return []bench.Contestant{{Name: "Go's arena", Note: "the experiment's package arena: made and freed each time", Prepare: prepare}}
}

func objectsGoArena() []bench.Contestant {
	return goArena(Objects(objectsInGoArena))
}

func objectsInGoArena(*bench.Run) ObjectsWay {
	var a *arena.Arena
	return ObjectsWay{
		Fill: func(objects []*Object, k int) {
			a = arena.NewArena()
			for i := range objects {
				o := arena.New[Object](a)
				o.A, o.B = i, k
				objects[i] = o
			}
		},
		Free: func() { a.Free() },
	}
}

func treeGoArena() []bench.Contestant {
	return goArena(Tree(treeInGoArena))
}

func treeInGoArena(*bench.Run) TreeWay {
	var a *arena.Arena
	return TreeWay{
		Build: func(names *TreeNames, n int, parent *TreeNode) *TreeNode {
			a = arena.NewArena()
			return buildTreeGoArena(a, names, n, parent)
		},
		Free: func() { a.Free() },
	}
}

func buildTreeGoArena(a *arena.Arena, names *TreeNames, n int, parent *TreeNode) *TreeNode {
	node := arena.New[TreeNode](a)
	node.Name, node.Parent = goArenaText(a, names.Next()), parent
	if n > 1 {
		count := Children(n)
		node.Children = arena.MakeSlice[*TreeNode](a, count, count)
		for i := range node.Children {
			node.Children[i] = buildTreeGoArena(a, names, Share(n, i), node)
		}
	}
	return node
}

// goArenaText copies b into a: the experiment has no function for strings.
func goArenaText(a *arena.Arena, b []byte) string {
	c := arena.MakeSlice[byte](a, len(b), len(b))
	copy(c, b)
	return bound.Text(c)
}

func frameGoArena() []bench.Contestant {
	return goArena(Frame(frameInGoArena))
}

func frameInGoArena(*bench.Run) FrameWay {
	var a *arena.Arena
	return FrameWay{
		Fill: func(targets []*FrameTarget, k int) (head *FrameObject) {
			a = arena.NewArena()
			for i, target := range targets {
				o := arena.New[FrameObject](a)
				o.Next, o.Target, o.X, o.Y = head, target, i, k
				head = o
			}
			return head
		},
		Free: func() { a.Free() },
	}
}

func jsonGoArena() []bench.Contestant {
	return goArena(JSON(jsonInGoArena))
}

func jsonInGoArena(*bench.Run) JSONWay {
	a := arena.NewArena()
	return JSONWay{
		Node: func() *JSONNode { return arena.New[JSONNode](a) },
		Text: func(b []byte) string { return goArenaText(a, b) },
		SetItems: func(n *JSONNode, items []*JSONNode) {
			n.Items = arena.MakeSlice[*JSONNode](a, len(items), len(items))
			copy(n.Items, items)
		},
		SetMembers: func(n *JSONNode, members []JSONMember) {
			n.Members = arena.MakeSlice[JSONMember](a, len(members), len(members))
			copy(n.Members, members)
		},
		Drop: func(*JSONNode) {
			a.Free()
			a = arena.NewArena()
		},
	}
}
