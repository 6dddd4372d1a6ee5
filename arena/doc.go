// Package arena allocates values of any Go type that are born one by one and die together.
//
// # Model
//
// An [Arena] cuts values from chunks, one behind the other: [New], [MakeSlice], [Append], [String]
// and the like. [Arena.Free] gives all of them up at once, [Arena.Reset] does the same and goes on,
// [Arena.Rewind] gives up what was made since a [Checkpoint]. Chunks are recycled, within the arena
// and through a store that all arenas share, so that rounds of work allocate nothing on the Go
// heap.
//
// Values may hold pointers, strings, maps, interfaces, to the Go heap, to this arena or to another:
// a type with pointers has chunks of its own, which the collector scans as the slices of that type
// that they are, one object where there would be thousands. Data without pointers lies in chunks
// that the collector skips.
//
// [NewArena] is the ordinary kind. [NewShared] serves many goroutines, [Pool] hands out arenas for
// requests. [NewOffHeap] and [NewFixed] lie outside the Go heap and take no Go pointers. The nil
// *Arena allocates from the Go heap. [Of] is the fastest way to make many values of one type.
//
// # Lifetime
//
// Forgetting to free is safe: an arena on Go memory is collected with its values when nobody holds
// them, and [Totals] count it as Forgotten. An off-heap arena must be freed; its memory is lost
// otherwise, and [List] says so.
//
// Freeing is a promise that the program no longer uses the values. A stale value is one that is
// used all the same. It shows the bits of a later value, of the same type if the type holds
// pointers or bools, of other data without pointers if not; and a write to it changes the later
// value. Nothing worse happens without a data race: memory never changes its type in a way that
// would forge a pointer, and no record of the arena lies in it. A data race through a stale value
// can read a torn slice, string or interface of the new owner's, and so forge memory; an arena
// without reuse closes that. The same holds for the values that Reset and Rewind end. Neither the
// arena nor the store keeps alive the objects to which a freed value pointed. Every use of an arena
// after its Free panics, a second Free included.
//
// An arena without reuse leaves its chunks to the collector: a stale value keeps its bits, and
// keeps alive its chunk with all objects to which values of the chunk point. [NoReuse] is the mode
// of Reset, [Options] and [Pool] have it for arenas that always do so, the word noreuse of FREEHOLD
// is for all arenas on Go memory. It is for code that calls code of others, which may keep a
// pointer. After Rewind, data without pointers that was made behind the checkpoint in the same
// chunk waits for the chunk's older values. A limit bounds the chunks that an arena has, not those
// that it left to the collector, and at most a sixteenth of the limit is filled with chunks that
// are larger than the round has needed so far.
//
// To outlive its arena a value is copied: [Clone] copies the value itself, [Heap] all that it leads
// to, and [DeepClone] does so from the heap or one arena into another. [Audit] tells what values in
// an arena still keep on the Go heap.
//
// # Errors
//
// A limit that was set ([Arena.SetLimit]), a fixed arena that is full, and a length that no machine
// has are panics with a value that errors.Is [offheap.ErrLimit] or [offheap.ErrOutOfMemory], or
// errors of the function with Try before its name. When the Go heap itself is exhausted, Go ends
// the process, as ever.
//
// To the collector a chunk is one object, and a value in it is a part of that object:
//   - runtime.SetFinalizer on a value is a fatal error of Go's ("pointer not at beginning of allocated block"). Go accepts it for the
//     first value of a chunk; then the finalizer runs, if at all, when the chunk is collected, and sees the value that lies there by then, of
//     the same type if the type holds pointers or bools.
//   - A cleanup (runtime.AddCleanup) runs when the chunk is collected, which may be long after Free, or never.
//   - A weak pointer (weak.Make) leads to the value as long as the chunk lives, after Free to what lies there by then.
//   - Off-heap memory is no object: there SetFinalizer, AddCleanup and weak.Make end the process.
//
// On 32-bit systems a value lies at a multiple of its type's alignment and no more. What is
// accessed with functions of sync/atomic as 64 bits is an atomic.Int64 or atomic.Uint64, which Go
// aligns, and no int64 at the beginning of a struct.
//
// # Concurrency
//
// An Arena, with the Typed values and Builders on it, serves one goroutine at a time, except for
// the shared kind. The functions of the package may be called from any goroutine, and a value may
// be used wherever its type allows it.
//
// # With FREEHOLD=heap
//
// All values come from the Go heap, one by one, and nothing is reused. Limits count bytes that were
// asked for, checks of misuse stay, Clone returns everything untouched, and no arena owns anything.
//
// # With the debug modes
//
// FREEHOLD=guard makes every use of a value without pointers fault after it was given up, and every
// access behind it; of a value with pointers, every use of a pointer, slice, string, map, function
// or interface that it held. Numbers in such values read as poison. [freehold.Explain] names the
// value, and where it was made and given up. FREEHOLD=poison overwrites what was given up and finds
// writes beside values: when these are given up, with a panic, or by [Arena.Check]. FREEHOLD=leaks
// reports off-heap arenas that were never freed, FREEHOLD=pointers finds Go pointers in them,
// FREEHOLD=sample=N guards one in N values without pointers and bools on Go memory and costs
// little.
//
// The modes find late uses in arenas without reuse, too: what they overwrite or make inaccessible
// there does not stay what it was.
//
// With guard and poison nothing is reused at once: Reset keeps no chunks, and Append always copies.
// An arena on Go memory that is forgotten instead of freed is collected with its guarded values.
//
// # What it is not
//
// It is no allocator for values that die one by one: see package offheap, and sync.Pool. A single
// object, or a few that die at once, are cheaper on the Go heap, which also needs no promise. It
// does not make a program faster whose collector has nothing to do.
package arena
