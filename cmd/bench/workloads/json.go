// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"math"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/cmd/bench"
	"github.com/freehold-go/freehold/cmd/bench/bound"
)

// Real input: the document tree of a JSON file, built over the tokens of jsontext, as in services
// that inspect the documents they pass on. Reading is the same for all contestants and takes most
// of the time. A way provides the memory. Its functions are called through values, which costs
// little beside reading a token.

func jsonWorkloads() []bench.Workload {
	return []bench.Workload{{
		Name: "json",
		Doc: "Build the document tree of a file (kinds, strings, numbers, slices, members by pointer), walk it, and drop the " +
			"one that was built four documents ago; memory is used again where the way can.",
		Op:     "document",
		Size:   "bytes",
		Inputs: documents,
		Ops:    func(int) int { return jsonAlive },
		Bound:  slabName,
		Flags:  []bench.Flag{documentsFlag},
		Contestants: slices.Concat([]bench.Contestant{
			{Name: heapName, Note: "new, Token.String, slices.Clone; freed by the collector", Prepare: JSON(jsonHeap)},
			{Name: "Go heap, scratch", Note: "strings unescaped in a scratch buffer, as all ways below have them", Prepare: JSON(jsonHeapScratch), FullOnly: true},
			{Name: "sync.Pool", Note: "Get and Put of nodes that keep their slices; Token.String", Prepare: JSON(jsonPool)},
			{Name: slabName, Note: "the bound: chunks of nodes, slices and text for each document, cleared and filled again", Prepare: JSON(jsonSlab)},
		}, own(
			bench.Contestant{Name: arenaNew, Note: "New, String and MakeSlice in an arena for each document that is alive, reset", Prepare: JSON(jsonNew)},
			bench.Contestant{Name: arenaOf, Note: "handles that have looked the types up, and String; reset", Prepare: JSON(jsonOf(defaultArena, arenaReused))},
			bench.Contestant{Name: arenaNoReuse, Note: "handles to an arena that leaves its memory to the collector, and String; reset", Prepare: JSON(jsonOf(noReuseArena, arenaReused))},
			bench.Contestant{Name: "arena Of, fresh", Note: "the same with an arena made for each document, and freed", Prepare: JSON(jsonOf(defaultArena, arenaFresh))},
		), jsonGoArena()),
		Bars: jsonBars(),
	}}
}

func jsonBars() (bars []bench.Bar) {
	byHeap := func(document, contestant string, limit float64) {
		bars = append(bars, bench.AtMost("json, "+document+", "+contestant+" by the Go heap", limit, bench.InputRatio("json", document, contestant, heapName)))
	}
	for _, document := range structuredDocuments {
		byHeap(document, arenaOf, 0.6)
		bars = append(bars, bench.AtMost("json, "+document+", GC cycles of "+arenaOf+" by the Go heap's", 0.2, bench.CycleRatio("json", document, arenaOf, heapName)))
	}
	for _, document := range structuredDocuments {
		byHeap(document, arenaNoReuse, 0.8)
	}
	for _, document := range stringDocuments {
		byHeap(document, arenaNoReuse, 1)
		byHeap(document, arenaOf, 0.9)
	}
	return bars
}

// jsonAlive is how many documents are alive at a time.
const jsonAlive = 4

// JSON is the Prepare of a contestant of the workload json. newWay is called once for each place for a document.
func JSON(newWay func(r *bench.Run) JSONWay) func(r *bench.Run) func() uint64 {
	return func(r *bench.Run) func() uint64 {
		data, err := readDocument(r.Input)
		if err != nil {
			r.Fail(err)
			return func() uint64 { return 0 }
		}
		var ways [jsonAlive]JSONWay
		var alive [jsonAlive]*JSONNode
		for i := range ways {
			ways[i] = newWay(r)
		}
		var reader jsonReader
		return func() (sum uint64) {
			for i := range alive {
				if root := alive[i]; root != nil {
					alive[i] = nil
					ways[i].Drop(root)
				}
				root, err := reader.read(data, &ways[i])
				if err != nil {
					r.Fail(err)
					return 0
				}
				alive[i] = root
				sum = sum*31 + jsonSum(root)
			}
			r.Peak()
			return sum
		}
	}
}

// jsonSum visits the whole document.
func jsonSum(n *JSONNode) uint64 {
	sum := uint64(n.Kind) + math.Float64bits(n.Number) + textSum(n.Text)
	for _, item := range n.Items {
		sum = sum*31 + jsonSum(item)
	}
	for i := range n.Members {
		m := &n.Members[i]
		sum = (sum*31+textSum(m.Name))*31 + jsonSum(m.Value)
	}
	return sum
}

func textSum(s string) uint64 {
	if s == "" {
		return 0
	}
	return uint64(len(s))<<16 + uint64(s[0])<<8 + uint64(s[len(s)-1])
}

func jsonHeap(*bench.Run) JSONWay {
	return JSONWay{
		Node:       func() *JSONNode { return new(JSONNode) },
		Token:      func(t jsontext.Token) string { return t.String() },
		SetItems:   func(n *JSONNode, items []*JSONNode) { n.Items = slices.Clone(items) },
		SetMembers: func(n *JSONNode, members []JSONMember) { n.Members = slices.Clone(members) },
		Drop:       func(*JSONNode) {},
	}
}

func jsonHeapScratch(r *bench.Run) JSONWay {
	way := jsonHeap(r)
	way.Token, way.Text = nil, func(b []byte) string { return string(b) }
	return way
}

func jsonPool(*bench.Run) JSONWay {
	pool := newPool[JSONNode]()
	var drop func(n *JSONNode)
	drop = func(n *JSONNode) {
		for _, item := range n.Items {
			drop(item)
		}
		for i := range n.Members {
			drop(n.Members[i].Value)
		}
		clear(n.Items)
		clear(n.Members)
		*n = JSONNode{Items: n.Items[:0], Members: n.Members[:0]}
		pool.Put(n)
	}
	return JSONWay{
		Node:       func() *JSONNode { return pool.Get().(*JSONNode) },
		Token:      func(t jsontext.Token) string { return t.String() },
		SetItems:   func(n *JSONNode, items []*JSONNode) { n.Items = append(n.Items, items...) },
		SetMembers: func(n *JSONNode, members []JSONMember) { n.Members = append(n.Members, members...) },
		Drop:       drop,
	}
}

func jsonSlab(*bench.Run) JSONWay {
	var nodes slab[JSONNode]
	var items slab[*JSONNode]
	var members slab[JSONMember]
	var text slab[byte]
	return JSONWay{
		Node:       nodes.one,
		Text:       func(b []byte) string { return bound.Text(text.clone(b)) },
		SetItems:   func(n *JSONNode, from []*JSONNode) { n.Items = items.clone(from) },
		SetMembers: func(n *JSONNode, from []JSONMember) { n.Members = members.clone(from) },
		Drop: func(*JSONNode) {
			nodes.reset()
			items.reset()
			members.reset()
			text.reset()
		},
	}
}

func jsonNew(r *bench.Run) JSONWay {
	a := arenaReused.keepArena(r, defaultArena, 0)
	return JSONWay{
		Node: func() *JSONNode { return arena.New[JSONNode](a) },
		Text: func(b []byte) string { return arena.String(a, b) },
		SetItems: func(n *JSONNode, items []*JSONNode) {
			n.Items = arena.MakeSlice[*JSONNode](a, len(items), len(items))
			copy(n.Items, items)
		},
		SetMembers: func(n *JSONNode, members []JSONMember) {
			n.Members = arena.MakeSlice[JSONMember](a, len(members), len(members))
			copy(n.Members, members)
		},
		Drop: func(*JSONNode) { a.Reset(arena.Keep) },
	}
}

// A jsonTypes is an arena with handles for the types of a document.
type jsonTypes struct {
	arena   *arena.Arena
	nodes   arena.Typed[JSONNode]
	items   arena.Typed[*JSONNode]
	members arena.Typed[JSONMember]
}

func jsonTypesOf(a *arena.Arena) jsonTypes {
	return jsonTypes{a, arena.Of[JSONNode](a), arena.Of[*JSONNode](a), arena.Of[JSONMember](a)}
}

func jsonOf(make newArena, life arenaLife) func(r *bench.Run) JSONWay {
	return func(r *bench.Run) JSONWay {
		types := jsonTypesOf(make(0))
		r.Cleanup(func() { types.arena.Free() })
		return JSONWay{
			Node: func() *JSONNode { return types.nodes.New() },
			Text: func(b []byte) string { return arena.String(types.arena, b) },
			SetItems: func(n *JSONNode, items []*JSONNode) {
				n.Items = types.items.MakeSlice(len(items), len(items))
				copy(n.Items, items)
			},
			SetMembers: func(n *JSONNode, members []JSONMember) {
				n.Members = types.members.MakeSlice(len(members), len(members))
				copy(n.Members, members)
			},
			Drop: func(*JSONNode) {
				life.end(types.arena)
				if life == arenaFresh {
					types = jsonTypesOf(make(0))
				}
			},
		}
	}
}
