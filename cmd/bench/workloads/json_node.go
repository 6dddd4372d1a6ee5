// SPDX-License-Identifier: Apache-2.0

package workloads

import "github.com/go-json-experiment/json/jsontext"

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
	// Token makes a string of a string token, and Text makes one of bytes that belong to the
	// reader. A way has one of them.
	Token func(t jsontext.Token) string
	Text  func(b []byte) string
	// SetItems makes node.Items a copy of items, which is not empty.
	SetItems func(node *JSONNode, items []*JSONNode)
	// SetMembers makes node.Members a copy of members, which is not empty.
	SetMembers func(node *JSONNode, members []JSONMember)
	// Drop frees the document in this place before the next is built there.
	Drop func(root *JSONNode)
}
