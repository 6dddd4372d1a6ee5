// SPDX-License-Identifier: Apache-2.0

package typeinfo

import (
	"reflect"
	"sync"
	"sync/atomic"
)

// A Table has one description, a D, for each type. A description is made once, by the function that Init
// gets, and stays where it is for good: there are as many as types. Any number of goroutines may look up.
//
// A look-up hashes the type's key and compares it with one entry: the newest of that hash. Recent does no
// more and is meant to be inlined; Find also searches the older entries, and adds one. A package calls Init in
// its init function, before any look-up.
type Table[D any] struct {
	newest [tableSize]atomic.Pointer[entry[D]] // By hash; never nil after Init.
	fill   func(d *D, key uintptr, t reflect.Type)
	mu     sync.Mutex // Held to add an entry.
}

// An entry is the description of one type. The key stands beside the description, so that a look-up reads
// one cache line.
type entry[D any] struct {
	key  uintptr   // 0: of no type.
	next *entry[D] // The next older one of the same hash.
	desc D
}

const tableSize = 1024

// Hash is a hash of a key. It drops the bits that are the same in all keys: type descriptors are aligned and
// rarely smaller than 64 bytes.
func Hash(key uintptr) uintptr { return key >> 5 }

// Init makes the table ready. fill makes the description d, which is zero, that of type t. It may not look up
// types in the table, and no other goroutine sees d before fill returns.
func (t *Table[D]) Init(fill func(d *D, key uintptr, t reflect.Type)) {
	t.fill = fill
	none := new(entry[D]) // Instead of nil, so that a look-up need not ask for nil.
	for i := range t.newest {
		t.newest[i].Store(none)
	}
}

// Recent is the newest description of the key's hash, and whether it is that of the type with that key.
func (t *Table[D]) Recent(key uintptr) (d *D, ok bool) {
	e := t.newest[Hash(key)%tableSize].Load()
	return &e.desc, e.key == key
}

// Find is the description of a type, whose key is key. It makes one if there is none.
//
//go:noinline
func (t *Table[D]) Find(key uintptr, typ reflect.Type) *D {
	head := &t.newest[Hash(key)%tableSize]
	if e := head.Load().find(key); e != nil {
		return &e.desc
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	newest := head.Load()
	if e := newest.find(key); e != nil { // Another goroutine made it meanwhile.
		return &e.desc
	}
	e := &entry[D]{key: key, next: newest}
	t.fill(&e.desc, key, typ)
	head.Store(e)
	return &e.desc
}

// find is the entry with the key among e and the older ones of its hash, or nil.
func (e *entry[D]) find(key uintptr) *entry[D] {
	for e != nil && e.key != key {
		e = e.next
	}
	return e
}
