// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"reflect"

	"github.com/freehold-go/freehold/arena"
)

// A decoder decodes one document. A value of the wrong type does not end decoding by version 1: as in encoding/json the first of
// such errors is kept, and the rest decoded.
type decoder struct {
	scanner
	input []byte // The caller's document. The scanner's is it, or a copy.
	own   bool   // It is a copy.

	a      *arena.Arena // Nil for slabs.
	opts   Options
	rules  rules // Of the version that the options choose.
	strict bool  // Names that stand twice and invalid UTF-8 are errors.

	into   reflect.Type // What the caller has given: a pointer to the root.
	start  int          // Where the root begins.
	whole  int          // Behind the first byte of a value that is no JSON, and was not read by its parts. Only errors of version 2 need it.
	frames []frame      // The pointers in interfaces that are being decoded into.

	calls   int // How many methods of the program were called.
	misfits int // How many values were none of their variables' types.
	scratch
}

// scratch is what a decoder keeps for the next document.
type scratch struct {
	entries []entryList
	made    int // How many entries there are, and how many failed documents have left behind.
	stack   stack[any]
	values  stack[Value]
	members stack[member]
	names   nameSets
	slabs   *arena.UnsafeSlabs

	// last says which plan the last document needed. The next document mostly needs the same one, and to compare keys is
	// cheaper than to look the plan up.
	last     planKey
	lastPlan *plan // Of last, or nil.
}

// An entry is where a key and a value of a map are decoded before they are put into it. A decoder keeps its
// entries for the next map of the type.
type entry struct {
	key, value reflect.Value
	to         pointer // The value's address.
	next       *entry  // Of a list.
}

// An entryList has the entries for one type of map that are not in use. Their keys and values are zero.
type entryList struct {
	plan  *plan
	first *entry
}

// A frame is a value whose plan is not that of the variable it is in: what a pointer in an interface leads to.
type frame struct {
	plan *plan
	at   int
	to   pointer
}
