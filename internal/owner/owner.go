// SPDX-License-Identifier: Apache-2.0

// Package owner leads between package offheap and arenas, a package above it: it says which of offheap's
// blocks belong to arenas, and arenas make and free blocks through it.
//
// Only an arena may free its blocks. Its values do not lie at the beginning of a block, so the
// exported functions of offheap refuse to free, to resize and to move them. In the debug modes,
// where a value is a block of its own, they ask for the name of the arena, as they do where they
// explain a mistake.
package owner

import (
	"reflect"
	"sync/atomic"
)

// Package offheap sets these functions when it is initialized. The type is known at run time: arenas name
// no type parameter there, because the compiler would compile all methods of offheap's Typed for each
// type of each arena.
//
// Arenas free many blocks at once. Free panics for a mistake of the block, but not for one that the
// debug modes have found in another: this would end the arena's free halfway. TellLate panics for it
// when all are freed.
var (
	// Make makes a block of an arena for n zero values of t in the account of purpose, an
	// *offheap.Purpose. If t is nil, it makes one of n bytes, which are not zeroed.
	Make func(purpose any, t reflect.Type, n int) (addr uintptr, err error)
	// Free frees a block that Make has made for t.
	Free     func(addr uintptr, t reflect.Type)
	TellLate func()
	// Beside says whether addr lies in memory of offheap that is no part of a region. begin is the
	// first byte of the block around it.
	Beside func(addr uintptr) (begin uintptr, ok bool)
)

var of atomic.Pointer[func(addr uintptr) string]

// Register sets the function that names the owner of an address, "" if there is none.
func Register(f func(addr uintptr) string) { of.Store(&f) }

// Of is the name of the owner of the block that addr lies in, such as "arena 7", or "" if there is
// none.
func Of(addr uintptr) string {
	if f := of.Load(); f != nil {
		return (*f)(addr)
	}
	return ""
}
