// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/freehold-go/freehold/arenajson"
)

// The programs here decode a request into an arena, and keep a part of it for longer than the arena keeps its memory.
// Adapters that reuse arenas, as httparena and grpcarena do with Options.Reuse, put the arena of a request back into a
// Pool when its handler has returned.

// A request is what a document is decoded into.
type request[T any] struct {
	Name  string
	First *T
	Items []T
}

// A line is a decoded value without pointers.
type line struct{ X, Y, Z int64 }

func (l *line) read() int64 { return l.Y }
func (l *line) write()      { l.Y = 5 }

// A linked is a decoded value with pointers.
type linked struct {
	X    int64
	Next *linked
}

func (l *linked) read() int64 {
	if l.Next == nil { // Freed memory may have been cleared.
		return 0
	}
	return l.Next.X
}

func (l *linked) write() {
	if l.Next != nil {
		l.Next.X = 5
	}
}

// document is a request of either kind: a field that a type has not is skipped.
const document = `{"Name":"` + text + `","First":{"Y":1,"Next":{"X":2}},"Items":[{"Y":3,"Next":{"X":4}},{"Y":5,"Next":{"X":6}},{"Y":7,"Next":{"X":8}}]}`

// names are what a program keeps of all requests.
var names = map[string]string{}

// A session is a value of the Go heap that keeps the items of a request.
type session[T any] struct{ items []T }

// decoded are uses of decoded values after their arena has freed them.
func decoded() []Case {
	return []Case{
		{Name: "decoded-string-map", Text: "puts a string of a decoded request into a global map and reads it after Reset", Run: only(Plain, decodedName(byReset)), Seen: gone(byReset, "Reset", readsText)},
		{Name: "decoded-slice-kept", Text: "keeps a slice of a decoded document in a struct on the Go heap and reads an element after Reset",
			Run: map[Variant]func(Variant){Pointers: decodedItems[linked](byReset), Plain: decodedItems[line](byReset)}, Seen: gone(byReset, "Reset", reads)},
		{Name: "decoded-request-kept", Text: "reads a decoded request after its handler returned and its arena went back to a Pool",
			Run: map[Variant]func(Variant){Pointers: decodedFirst[linked](byPut), Plain: decodedFirst[line](byPut)}, Seen: gone(byPut, "Pool.Put", reads)},
		{Name: "decoded-request-write", Text: "writes to a decoded request after its handler returned and its arena went back to a Pool",
			Run: map[Variant]func(Variant){Pointers: decodedWrite[linked](byPut), Plain: decodedWrite[line](byPut)}, Seen: gone(byPut, "Pool.Put", writes)},
	}
}

// allocateDecoded decodes the document.
//
//go:noinline
func allocateDecoded[T any](h *home) *request[T] {
	r, err := arenajson.Unmarshal[request[T]](h.a, []byte(document))
	if err != nil {
		panic(fmt.Errorf("misuse: the document cannot be decoded: %w", err))
	}
	return r
}

func decodedName(how way) func(Variant) {
	return func(v Variant) {
		h := openArena(v, how)
		names["last"] = allocateDecoded[line](h).Name
		giveUp(h)
		accessIndex(names["last"])
	}
}

func decodedItems[T any, P interface {
	*T
	user
}](how way) func(Variant) {
	return func(v Variant) {
		h := openArena(v, how)
		s := &session[T]{items: allocateDecoded[T](h).Items}
		giveUp(h)
		accessRead(P(&s.items[1]))
	}
}

func decodedFirst[T any, P interface {
	*T
	user
}](how way) func(Variant) {
	return func(v Variant) {
		h := openArena(v, how)
		first := allocateDecoded[T](h).First
		giveUp(h)
		accessRead(P(first))
	}
}

func decodedWrite[T any, P interface {
	*T
	user
}](how way) func(Variant) {
	return func(v Variant) {
		h := openArena(v, how)
		first := allocateDecoded[T](h).First
		giveUp(h)
		accessWrite(P(first))
	}
}
