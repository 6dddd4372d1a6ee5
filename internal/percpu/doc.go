// SPDX-License-Identifier: Apache-2.0

// Package percpu says which P (Go's scheduling slot, one for each core in use) runs the caller, and
// keeps it there for a few instructions.
//
// A goroutine that holds a [Pin] owns the state kept under [Pin.ID] alone: no other goroutine holds
// a Pin with the same ID at the same time. Between [Acquire] and [Pin.Release] the caller must not
// block, allocate on the Go heap, call unknown code or panic; a handful of loads and stores is the
// intended length.
//
// Two implementations stand side by side. The ordinary one takes runtime.procPin by linkname, one
// nanosecond for the pair (GC-2). With the build tag freehold_nolinkname the IDs come from a
// sync.Pool instead, about ten nanoseconds, with nothing assumed of the runtime, or, under the race
// detector, from a list of flags. This package is the only one of freehold that uses linkname.
//
// It is not a lock for long sections, and not a way to run code on a certain core.
package percpu
