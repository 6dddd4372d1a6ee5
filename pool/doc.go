// SPDX-License-Identifier: Apache-2.0

// Package pool keeps objects that come and go.
//
// # Pool
//
// A [Pool] keeps objects of one type that are not in use, such as encoders with their buffers. Get
// takes one without a lock in most calls, and Put gives it back. Put drops objects that have become
// too large (Size and MaxSize). At each collection the Pool drops half of the objects that nothing
// used during the last eight, so memory falls after a peak, and a Pool is never emptied.
//
// Put an object once, and do not use it afterwards. The debug modes find such mistakes: guard and
// leaks a second Put and the Put of a stranger, with the stacks of both calls; guard also a write
// after Put, at a later Get or by [offheap.Check]; leaks lists at the end of the program the objects that
// were not put back, by the stack of their Get. Under the race detector a Put counts as a write to
// all of the object, so a goroutine that uses it afterwards is reported with both stacks. With
// OffHeap, guard reports a late read, too, and sample does so in production for one object in many.
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
// # Buffer and Frame
//
// A [Buffer] is bytes off the Go heap that grow by another block, so growth copies and clears
// nothing. It has the methods of bytes.Buffer. [Buffer.All] returns the pieces, for net.Buffers.
// [Buffer.Share] ends it and makes a [Frame], which many goroutines read at once and the last owner
// frees: a message that is built once for all connections.
//
// # Errors
//
// If memory is refused, a function panics with a value that errors.Is [offheap.ErrOutOfMemory] or
// [offheap.ErrLimit]; [offheap.Try] makes it an error. Mistakes of the program, such as the use of a
// copy, panic with an [*offheap.MisuseError].
//
// # What it is not
//
// A Pool holds no connections: it closes nothing, and Get never waits. For one goroutine alone a
// slice of idle objects is faster. A Buffer is for one goroutine, and a Slab has one writer at a
// time. A handle means nothing to another Slab, and nothing in another process but to a Slab that was
// read there.
package pool
