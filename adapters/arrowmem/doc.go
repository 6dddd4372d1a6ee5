// SPDX-License-Identifier: Apache-2.0

// Package arrowmem gives Apache Arrow buffers outside the Go heap.
//
//	allocator := arrowmem.NewAllocator(arrowmem.Options{})
//	builder := array.NewInt64Builder(allocator)
//
// # Model
//
// Every buffer is one block of package offheap, aligned to 64 bytes and zero, on the account of a
// purpose, which can have a limit. The collector neither scans nor counts it. Unlike arrow's own
// Mallocator, the package needs no cgo.
//
// # Lifetime
//
// Arrow counts references: a block lives until the last Release of all arrays, records, slices and
// builders that share it. With arrow's Go allocator a missing Release costs nothing, because the
// collector frees the memory; here it is a leak. Test with memory.NewCheckedAllocator around this
// allocator: its AssertSize finds memory that was not released. Arrow's Go allocator also forgives
// one Release too many, and a use after the last Release. Here they end in a panic or in other
// data; with FREEHOLD=guard, in a report.
//
// Strings that arrays return (String.Value) are not copies, so they are valid until the array's
// last Release. strings.Clone makes a copy.
//
// # Errors
//
// Arrow's interface returns no errors. If the machine or a limit refuses memory, Allocate and
// Reallocate panic with a value that errors.Is [offheap.ErrOutOfMemory] or [offheap.ErrLimit]. A
// Free of a slice that is no block panics with an [*offheap.MisuseError].
//
// # Concurrency
//
// An Allocator may be used from any goroutine.
//
// # What it is not
//
// It is not for arrays that go to C through arrow's C Data Interface: with the kill switch
// (FREEHOLD=heap) blocks are Go memory, which C must not keep. Use arrow's Mallocator for these.
package arrowmem
