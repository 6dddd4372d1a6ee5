// SPDX-License-Identifier: Apache-2.0

// Package pool keeps objects that come and go.
//
// # Slab
//
// A [Slab] gives values of one type a place each. [Slab.New] returns a [Handle] of 8 bytes, which
// replaces a pointer in the values that link to each other: orders of a book, units of a game. When
// a value dies, every handle to it finds nothing from then on, in every mode, also after another
// value has taken the slot. Handles hold no pointers, so values that link by handles can lie off the
// Go heap ([SlabOptions]), and the collector does not scan them. [Slab.WriteTo] saves values and
// handles, and [Slab.ReadFrom] restores them.
//
// # Errors
//
// If memory is refused, a function panics with a value that errors.Is [offheap.ErrOutOfMemory] or
// [offheap.ErrLimit]; [offheap.Try] makes it an error. Mistakes of the program, such as the use of a
// copy, panic with an [*offheap.MisuseError].
//
// # What it is not
//
// A Slab has one writer at a time. A handle means nothing to another Slab, and nothing in another
// process but to a Slab that was read there.
package pool
