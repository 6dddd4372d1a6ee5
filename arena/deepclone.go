// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"errors"
	"reflect"
	"runtime"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// Deep copies, from the public functions to the rule for fields:
//
//	DeepClone, Heap        deepclone.go
//	      │
//	      ▼                deepclone_types.go: the plan of a type, made once
//	   plan of T ────────► [off 0: plain data][off 16: string][off 32: pointer to U]
//	      │
//	      ▼                deepclone_walk.go: one walk
//	   stack of blocks     pop a block, copy its values word by word as the plan says
//	      ▲    │
//	      │    │ header (pointer, slice, interface, map) to memory at q
//	      │    ▼
//	      │  memo: (q, type, length) ──► known: write the address of its copy
//	      │    │ new
//	      │    ▼
//	      └─ take memory, note the block in the memo, write its address, push it
//
//	deepclone_maps.go: maps, whose keys and values are blocks of their own, and which are filled at
//	the end
//
// Invariants. A word that may be a pointer is copied as a pointer, from memory of one type to memory
// of the same type. A header is read once, before the copy is written: a stale value may lie where
// its copy goes. No pointer into memory that the call took for the copy is followed.

// ErrUncloneable is the error of the refusals of [DeepClone] and [Heap]: a part of the value cannot
// be copied. The message has the path to it.
var ErrUncloneable = errors.New("a part of the value cannot be copied")

// CloneOptions are options of [DeepClone] and [Heap]. The zero value is a good choice. If several
// are given, they add up.
type CloneOptions struct {
	// Share names types whose values are shared, not copied. A pointer to one is kept. If a value
	// is part of another, its bits are copied as by an assignment, so it leads to the same memory as
	// the original. Channels, functions and all other values that are refused can be named.
	Share []reflect.Type
	// UnsafeTrust names types of other modules. DeepClone then copies the unexported fields of
	// every type of their packages. The caller vouches that these packages do not use package
	// unsafe to store data in such a field that differs from the field's type. If one does, the
	// clone corrupts memory.
	UnsafeTrust []reflect.Type
}

// DeepClone copies v, and everything that can be reached from it through pointers, slices, strings,
// maps and interfaces, to a. The copy has the shape of the original:
//
//   - Cycles stay cycles. Equal pointers of one type stay equal, and so do equal maps and slices of
//     one type, address and length.
//   - Slices of different lengths or addresses get arrays of their own, even if they overlap. The
//     capacity of a copy is its length.
//   - A pointer into a struct, an array or a slice that is copied as well is refused, as &v.field is
//     if v is copied, too.
//   - Nil stays nil, and empty stays empty.
//
// Exported fields are copied, and unexported fields with numbers and strings. Unexported fields that
// lead to memory in another way are copied if their struct type is declared in the main module, if
// it is one of those of errors, fmt, math/big, bytes.Buffer and sync/atomic, if it has
// the method UnsafeCloneFields, or if [CloneOptions].UnsafeTrust names a type of its package. In all
// other types they are refused unless they are nil, because a package may use package unsafe to
// store data there that differs from the field's type, as log/slog and time do. A test binary does
// not say which modules it has: in it, modules whose paths lie below that of the main module count
// as the main module.
//
// By the following method, which is never called, a type promises that its fields hold values of
// their types:
//
//	func (T) UnsafeCloneFields() (_ T)
//
// Some values are not copied but shared, because they are identities or never change: the targets of
// a reflect.Type, a *time.Location, a *regexp.Regexp, a *strings.Replacer, a unique.Handle and a
// weak.Pointer; errors made by errors.New; an Arena, a Pool, an offheap.Local or Purpose behind a
// pointer; what the pointers of an [offheap.UnsafeSelfContained] lead to; what the options name. If a
// shared value lies in an arena or leads into one, the copy must not outlive that arena. Other
// sentinels, such as variables that fmt.Errorf made, are copied: name their types in
// [CloneOptions].Share.
//
// Maps are copied to Go maps, which live on the Go heap and keep the arena's memory alive, as any
// pointer does; their keys and values lead to the arena. Such a map must not be used after a is freed.
// The copy of a *[Map] is a Map in a, or one without an arena, as NewMap(nil, n) makes it. An
// arenajson.Value is copied with all of its part of the document. A lock is copied with its state, as an
// assignment copies it.
//
// DeepClone returns an error that errors.Is [ErrUncloneable] and names the path of the field for
// channels, functions and unsafe.Pointers that are not nil, handles of freehold and Maps by value,
// pointers into copied values, and fields that are refused. It returns an error that errors.Is
// [offheap.ErrLimit] or [offheap.ErrOutOfMemory] if a cannot take the copy. After an error the memory
// that the copy took stays in a until a is reset or freed. DeepClone panics if a was freed, and if a
// value that holds pointers would go to an arena off the heap.
//
// In an arena made by NewShared, calls that concern all of it wait for the end of the clone, as Reset
// and Stats do, and a *Map is refused, because it may allocate for another goroutine meanwhile.
//
// The program must not change v meanwhile. If v holds memory of an arena that
// was reset or freed, the copy holds whatever lies there now, or DeepClone refuses it; like any use of such
// values it may take long, and the hash of a key that leads to itself ends the process.
func DeepClone[T any](a *Arena, v T, options ...CloneOptions) (T, error) {
	if a != nil {
		a.check("DeepClone")
	}
	return deepClone("DeepClone", a, v, options)
}

// Heap copies v, and everything that can be reached from it, to the Go heap. The copy may outlive
// all arenas. The rules are those of [DeepClone]. Each variable becomes one of its own there, so
// the collector frees each one when the program drops it. If there is no memory, the process ends, as it does
// after a make.
func Heap[T any](v T, options ...CloneOptions) (T, error) { return deepClone("Heap", nil, v, options) }

func deepClone[T any](op string, a *Arena, v T, options []CloneOptions) (T, error) {
	r := &plainRules
	if len(options) > 0 {
		r = rulesFor(options)
	}
	p := r.plan(reflect.TypeFor[T]())
	if p.flat() {
		return v, nil
	}
	return cloneValue(op, a, v, r, p)
}

// cloneValue has v on the heap.
func cloneValue[T any](op string, a *Arena, v T, r *rules, p *plan) (T, error) {
	var out, zero T
	in, shared := a, false
	if a != nil {
		target, lock := a.lock(op)
		defer lock.unlock()
		in, shared = target, lock != nil
	}
	err := clone(op, in, shared, r, p, unsafex.PtrOf(&v), unsafex.PtrOf(&out))
	runtime.KeepAlive(&v)
	if err != nil {
		return zero, err
	}
	return out, nil
}
