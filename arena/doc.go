// SPDX-License-Identifier: Apache-2.0

// Package arena allocates values of any Go type that are allocated one by one and freed together.
//
//	a := arena.NewArena()
//	defer a.Free()
//	for line := range lines {
//		o := arena.New[order](a)            // zero, may hold pointers to any memory
//		o.text = arena.String(a, line)      // a copy in the arena
//		orders = arena.Append(a, orders, o) // grows in place
//	}
//
// # Model
//
// An [Arena] cuts values from chunks, one behind the other: [New], [MakeSlice], [Append], [String],
// [NewBuilder], [NewMap] and similar functions. [Arena.Free] frees all values at once. [Arena.Reset]
// does so, too, and the arena can be used again. [Arena.Rewind] frees the values made since a
// [Checkpoint]. Chunks are reused, within the arena and through a store that all arenas share, so
// rounds of work allocate nothing on the Go heap.
//
// A type with pointers has chunks of its own. The collector scans such a chunk as a slice of the
// type: one object in place of thousands.
//
// [NewArena] makes the ordinary kind. [NewShared] is one behind a lock. [Pool] keeps chunks for the
// arenas of requests. Arenas of [NewOffHeap] and [NewFixed] lie outside the Go heap and take no Go
// pointers. The nil *Arena allocates from the Go heap. [Of] is the fastest way to make many values of
// one type.
//
// # Lifetime
//
// Forgetting to free is safe: the collector frees an arena on Go memory with its last pointer. An
// off-heap arena must be freed; otherwise its memory is lost, and [List] reports it.
//
// Freeing is a promise that the program no longer uses the values. A stale value is one that the
// program uses all the same. It shows data of a later value: of the same type if the type holds
// pointers or bools, otherwise of other data without pointers. A write to it changes the later
// value. Without a data race nothing worse happens. A data race through a stale value can read a torn
// slice, string or interface of the new owner, and so forge memory.
//
// An arena without reuse ([Options]) leaves its chunks to the collector: a stale value does not
// change, and keeps its chunk alive with all that the chunk leads to. Use it for code that calls
// other code, which may keep a pointer.
//
// Every use of an arena after its Free panics. A copy of an Arena panics as soon as it needs more than
// the room of a chunk; before, it may get memory of values of the same type. `go vet` reports copies.
//
// Copy a value that must outlive its arena: [Clone] copies the value itself, [Heap] all that it leads
// to, too, and [DeepClone] does so into another arena. docs/collector-corner-cases.md says what
// finalizers, cleanups and weak pointers do; set no finalizer on an Arena.
//
// # Errors
//
// If a limit ([Arena.SetLimit]) is reached, a fixed arena is full, or a length exceeds any machine's
// memory, functions panic with a value that errors.Is [offheap.ErrLimit] or [offheap.ErrOutOfMemory].
// [Try], [TryNew] and [TryMakeSlice] return it, and so do writes to a [Builder].
//
// # Concurrency
//
// An Arena, with its Typed values and Builders, serves one goroutine at a time, except for the shared
// kind.
//
// # Modes
//
// With FREEHOLD=heap all values come from the Go heap. With guard, every use of a freed value faults
// or reads poison, and [freehold.Explain] names the value and the places of its allocation and free.
// docs/finding-mistakes.md describes all modes.
//
// # What it is not
//
// It is no allocator for values that die one by one: see package offheap, and sync.Pool. A single
// object, or a few that die at once, are cheaper on the Go heap, which needs no promise.
package arena
