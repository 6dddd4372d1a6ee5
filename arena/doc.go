// SPDX-License-Identifier: Apache-2.0

// Package arena allocates values of any Go type that are allocated one by one and freed together.
//
// # Model
//
// An [Arena] cuts values from chunks, one behind the other: [New], [NewFrom], [MakeSlice],
// [SliceFrom], [Append], [String], [Concat] and similar functions. [Arena.Free] frees all values at
// once. [Arena.Reset] does the same, and
// the arena can be used again. [Arena.Rewind] frees the values that were made since a [Checkpoint].
// Chunks are reused, within the arena and through a store that all arenas share, so rounds of work
// allocate nothing on the Go heap.
//
// Values may hold pointers, strings, maps and interfaces, which may lead to the Go heap, to this
// arena or to another. A type with pointers has chunks of its own. The collector scans such a chunk
// as a slice of the type: one object in place of thousands. Data without pointers lies in chunks
// that the collector does not scan.
//
// [NewArena] makes the ordinary kind. [NewShared] serves many goroutines, [Pool] keeps chunks for
// the arenas of requests. Arenas of [NewOffHeap] and [NewFixed] lie outside the Go heap and take no
// Go pointers. [NewWith] and NewOffHeap take [Options], such as a limit and Shared. The nil *Arena
// allocates from the Go heap. [Of] is the fastest way to make many values of one type. Decoders make values
// of types that they know at run time only with [Arena.UnsafeNew] and the methods beside it.
//
// # Lifetime
//
// Forgetting to free is safe. If no pointer to an arena on Go memory or to its values is left, the
// collector frees them, and [Totals] count the arena as Forgotten. An off-heap arena must be freed;
// otherwise its memory is lost, and [List] reports it.
//
// Freeing is a promise that the program no longer uses the values. A stale value is one that the
// program uses all the same. It shows data of a later value: of the same type if the type holds
// pointers or bools, otherwise of other data without pointers. A write to it changes the later
// value. Without a data race nothing worse happens: memory never changes its type in a way that
// would forge a pointer, and no record of the arena lies in it. A stale value in an interface may
// contain itself, which no other value in an interface does: if the program compares, hashes or prints
// it, or a clone of it, Go ends the process. A data race through a stale value
// can read a torn slice, string or interface of the new owner, and so forge memory. In an arena
// without reuse there is no new owner, so this cannot happen. The same holds for the values that
// Reset and Rewind free. Neither the arena nor the store keeps the objects alive to which a freed
// value pointed. Every use of an arena after its Free panics, a second Free included.
//
// An arena without reuse leaves its chunks to the collector: a stale value does not change, and it
// keeps its chunk alive with all objects to which values of the chunk point. [NoReuse] is the mode
// of Reset; [Options] and [Pool] have a field for arenas that always do so; the word noreuse of
// FREEHOLD is for all arenas on Go memory. Use it for code that calls other code, which may keep a
// pointer. After Rewind, data without pointers that was made behind the checkpoint in the same
// chunk lives as long as the chunk's older values. A limit bounds the chunks that an arena has, not
// those that it left to the collector. At most a sixteenth of the limit goes into chunks that are
// larger than the round has needed so far.
//
// Copy a value that must outlive its arena. [Clone] copies the value itself, [Heap] the value and
// all memory that it leads to, and [DeepClone] does so from the heap or one arena into another.
//
// # Errors
//
// Three failures are panics with a value that errors.Is [offheap.ErrLimit] or
// [offheap.ErrOutOfMemory]: a limit is reached ([Arena.SetLimit]), a fixed arena is full, or a length
// exceeds any machine's memory. [Try] calls a function and returns this error; [TryNew] and
// [TryMakeSlice] return it themselves, and so do writes to a [Builder]. If the Go heap itself is
// exhausted, Go ends the process, as always.
//
// To the collector a chunk is one object, and a value in it is a part of that object:
//   - runtime.SetFinalizer on a value is a fatal error of Go's ("pointer not at beginning of
//     allocated block"). Go accepts it for the first value of a chunk. The finalizer then runs, if
//     at all, when the chunk is collected, and sees the value that lies there at that time, of the
//     same type if the type holds pointers or bools. An arena without reuse sets a finalizer of its
//     own when it leaves a chunk of 64 KiB or more without pointers to the collector (see [NoReuse]).
//     It removes the program's finalizer on the first value, which then never runs. From then on
//     SetFinalizer on that value is a fatal error ("finalizer already set").
//   - A cleanup (runtime.AddCleanup) runs when the chunk is collected, which may be long after
//     Free, or never.
//   - A weak pointer (weak.Make) leads to the value as long as the chunk lives. After Free it leads
//     to the value that lies there at that time.
//   - Off-heap memory is no object: there SetFinalizer, AddCleanup and weak.Make end the process.
//   - Set no finalizer on an Arena itself. It may never run, because parts of the arena refer to it, or
//     run when the arena no longer counts. To free forgotten arenas, call Free in a finalizer or a
//     cleanup of the object that holds the *Arena.
//
// On 32-bit systems a value is aligned to its type's alignment and no more. For 64-bit access by
// functions of sync/atomic, use an atomic.Int64 or atomic.Uint64, which Go aligns, and not an int64
// at the beginning of a struct.
//
// # Concurrency
//
// An Arena, with the Typed values and Builders on it, serves one goroutine at a time, except for
// the shared kind. The functions of the package may be called from any goroutine, and a value may
// be used as its type allows.
//
// # With FREEHOLD=heap
//
// All values come from the Go heap, one by one, and nothing is reused. Limits count requested
// bytes. Checks of misuse stay. Arenas on Go memory own no value, and Clone returns values
// of theirs unchanged. Each value of an off-heap arena is a block of offheap, to which an offheap.Ref can
// lead.
//
// # With the debug modes
//
// FREEHOLD=guard makes every use of a freed value without pointers fault, and every access behind a
// value. For a freed value with pointers, every use of a pointer, slice, string, map, function or
// interface in it faults, and its numbers read as poison. [freehold.Explain] names the value, and
// the places of its allocation and free. A write beside a value is found when the value is freed,
// with a panic, or by [Arena.Check]. FREEHOLD=leaks reports off-heap arenas that were never freed.
// FREEHOLD=pointers finds Go pointers in them. FREEHOLD=sample guards one in 1000 values without
// pointers and bools on Go memory and costs little.
//
// The modes find late uses in arenas without reuse, too: they overwrite freed values there, or make
// them inaccessible.
//
// With guard nothing is reused at once: Reset keeps no chunks, and Append always copies.
// If an arena on Go memory is forgotten instead of freed, the collector frees it with its guarded
// values.
//
// # What it is not
//
// It is no allocator for values that die one by one: see package offheap, and sync.Pool. A single
// object, or a few that die at once, are cheaper on the Go heap, which also needs no promise. It
// does not make a program faster whose collector has little to do.
package arena
