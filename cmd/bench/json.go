package bench

import (
	"math"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Real input: the document tree of a JSON file, built over the tokens of jsontext, as services do that look into what
// they pass on. Reading is the same for all contestants and is most of the time; a way provides the memory. Its
// functions are called through values, which is little beside reading a token.

func init() {
	Register(Workload{
		Name: "json",
		Doc: "Build the document tree of a file (kinds, strings, numbers, slices, members by pointer), walk it, and drop the " +
			"one that was built four documents ago; memory is used again where the way can.",
		Op:     "document",
		Size:   "bytes",
		Inputs: documents,
		Ops:    func(int) int { return jsonAlive },
		Bound:  slabName,
		Order:  108,
	},
		Contestant{Name: heapName, Note: "new, Token.String, slices.Clone; freed by the collector", Prepare: JSON(jsonHeap)},
		Contestant{Name: "Go heap, scratch", Note: "strings unescaped in a scratch buffer, as all ways below have them", Prepare: JSON(jsonHeapScratch), FullOnly: true},
		Contestant{Name: "sync.Pool", Note: "Get and Put of nodes that keep their slices; Token.String", Prepare: JSON(jsonPool)},
		Contestant{Name: slabName, Note: "the bound: chunks of nodes, slices and text for each document, cleared and filled again", Prepare: JSON(jsonSlab)},
	)
	addJSONArena()
}

// jsonAlive is how many documents are alive at a time.
const jsonAlive = 4

// JSONNode is a value of a document.
type JSONNode struct {
	Kind    jsontext.Kind
	Number  float64
	Text    string
	Items   []*JSONNode
	Members []JSONMember
}

// JSONMember is a member of an object.
type JSONMember struct {
	Name  string
	Value *JSONNode
}

// JSONWay is a way to hold the documents in one of the places for those that are alive.
type JSONWay struct {
	// Node makes a zeroed node.
	Node func() *JSONNode
	// Token makes a string of a string token, and Text of bytes that are the reader's. A way has one of them.
	Token func(t jsontext.Token) string
	Text  func(b []byte) string
	// SetItems makes node.Items a copy of items, which is not empty.
	SetItems func(node *JSONNode, items []*JSONNode)
	// SetMembers makes node.Members a copy of members, which is not empty.
	SetMembers func(node *JSONNode, members []JSONMember)
	// Drop takes the document in this place back, before the next is built there.
	Drop func(root *JSONNode)
}

// JSON is the Prepare of a contestant of the workload json. newWay is called once for each place for a document.
func JSON(newWay func(r *Run) JSONWay) func(r *Run) func() uint64 {
	return func(r *Run) func() uint64 {
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

func jsonHeap(*Run) JSONWay {
	return JSONWay{
		Node:       func() *JSONNode { return new(JSONNode) },
		Token:      func(t jsontext.Token) string { return t.String() },
		SetItems:   func(n *JSONNode, items []*JSONNode) { n.Items = slices.Clone(items) },
		SetMembers: func(n *JSONNode, members []JSONMember) { n.Members = slices.Clone(members) },
		Drop:       func(*JSONNode) {},
	}
}

func jsonHeapScratch(r *Run) JSONWay {
	way := jsonHeap(r)
	way.Token, way.Text = nil, func(b []byte) string { return string(b) }
	return way
}

func jsonPool(*Run) JSONWay {
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

func jsonSlab(*Run) JSONWay {
	var nodes slab[JSONNode]
	var items slab[*JSONNode]
	var members slab[JSONMember]
	var text slab[byte]
	return JSONWay{
		Node:       nodes.one,
		Text:       func(b []byte) string { return textOf(text.clone(b)) },
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
