// SPDX-License-Identifier: Apache-2.0

// Package owner records for package offheap which of its blocks belong to arenas, a package above
// it.
//
// Only an arena may free its blocks. Package offheap asks before it frees a large block, and where
// it explains a mistake.
package owner

import "sync/atomic"

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
