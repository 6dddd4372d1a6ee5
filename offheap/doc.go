// SPDX-License-Identifier: Apache-2.0

// Package offheap allocates single blocks of memory outside the Go heap, which the garbage
// collector neither scans nor waits for.
//
// # Model
//
// [Alloc] returns bytes, [New] a value, [MakeSlice] a slice; [Free], [Delete] and [FreeSlice] free
// them. There is one allocator for the whole process. It takes address space from the operating
// system in large regions and divides it into slabs of equal blocks. There are 87 size classes up
// to 64 KiB; for a request above 64 bytes at most an eighth is wasted. Larger blocks are whole
// pages.
//
// Off-heap memory holds no Go pointers, because the collector would not see them: New refuses a T
// with Go pointers, and names the path of the field. Links between off-heap values are [Ref]: 8
// bytes, an offset, checked at each use. [SliceRef] is a link to a slice,
// and [AtomicRef] is a link that several goroutines change at once. A type that contains
// [UnsafeSelfContained] promises that its pointers lead to off-heap memory only.
//
// [Local] is the fastest way for one goroutine, and [Purpose] an account with a limit.
//
// # Which function
//
// A [Typed] says where memory comes from and in which way: [For] a Purpose or [In] a Local, and
// Aligned. All functions for values and slices are methods of it: New, MakeSlice, Append, Grow,
// Realloc, Delete and FreeSlice. Bytes are a Typed[byte]. The package's functions of the same names
// are those of the zero Typed. Bytes have short forms: Alloc and AllocUninit, also of a Purpose and a
// Local, AllocAligned, and Free, also of a Local. Alloc, AllocUninit, AllocAligned, New, MakeSlice and
// Realloc have a twin with Try in front, which returns an error if there is no memory; [Try] does the
// same for any code.
//
// # Lifetime
//
// A block belongs to the caller until the caller frees it; nothing else frees it. The program must
// not use it afterwards. A stale pointer shows data of a later block: of the same type if the type
// holds bools or is self-contained, otherwise of any data without pointers and bools. A write
// through it changes that data. Nothing worse happens: the allocator's records lie apart from the
// blocks, and address space that blocks have used is never unmapped, so a stale pointer never
// becomes a pointer into the Go heap.
//
// A free of an address that is no block panics with a [*MisuseError] that names the mistake. An
// interior or a foreign pointer is always found, a second free as long as the block has not been
// allocated again. Later it frees the block of the new owner, whose pointers are then stale, too.
// To the memory model a free is a write to the whole block: two frees of a block that nothing
// orders are a data race. If they happen at the very same moment, both may succeed, and the block
// may get two owners, of which one may be an arena. Freed memory goes back to the machine after some
// 300 ms, or at once by [Purge].
//
// # Functions that need pointers to the Go heap
//
// Go ends the process if one of these functions is called with off-heap memory: weak.Make,
// runtime.AddCleanup, runtime.SetFinalizer, and of crypto/ed25519 ed25519.Sign and PrivateKey.Sign,
// which keep a weak pointer to the private key. Copy the key to the Go heap, or to an arena on Go
// memory. No other function of the standard library is known to need a pointer to the Go heap that
// its caller chooses.
//
// # Errors
//
// If there is no memory, a function panics with a value that errors.Is [ErrOutOfMemory] or
// [ErrLimit]. Its twin with Try before its name, or [Try], returns the error. RLIMIT_AS, a machine that
// does not overcommit and vm.max_map_count lead to ErrOutOfMemory. So does a block of more than 16
// TiB and, on Linux, one of more than 1 GiB that exceeds the machine's memory and swap, unless
// vm.overcommit_memory is 1; such a refusal costs nothing.
//
// Under RLIMIT_DATA or RLIMIT_AS the allocator leaves room for the Go heap, because Go ends the
// process if its heap cannot grow. The room is an eighth of the process's writable memory, or 96
// MiB if that is more, and at most an eighth of the limit. So allocations fail that much earlier,
// and the Go heap can take the room at any time, before the first error, too. If a cgroup is full,
// there is no error: the kernel kills the process. SetLimit prevents that. After an error the
// allocator works on.
//
// # Concurrency
//
// All functions may be called from any goroutine, and a goroutine may free a block that another one
// allocated. A Local serves one goroutine at a time.
//
// # Debug modes
//
// Words in the variable FREEHOLD, or fields of [github.com/freehold-go/freehold.Options], report
// mistakes without a rebuild. Each block then has a record with the stack of its allocation, and a
// [*MisuseError] has that stack and the stack of the free.
//
//   - guard: each block lies at the end of pages of its own. An access after its free, or beyond
//     its pages, faults and is explained. A write beside it on its pages is found at its free and
//     by [Check]. A block takes at least a page, and its allocation and free some 10 µs. Near the
//     end of the budgets, which the machine gives, chance decides which blocks are guarded, fewer
//     and fewer of them. Blocks whose alignment exceeds a page are never guarded. A block without
//     guarded pages has a canary behind it, and after its free it stays in a quarantine of up to a
//     sixteenth of the budget. Memory of AllocUninit is 0xF5, freed memory 0xDD. All
//     are checked at frees, when a block leaves the quarantine, and by Check; each free also checks
//     two blocks of the quarantine in turn. In memory of types with bools or of self-contained
//     types the pattern is 1, which is a valid bool and no address.
//   - leaks: [Leaks] and the end of the process list the blocks in use by the stack
//     of their allocation. [CheckLeaks] is for tests.
//   - pointers: frees and Check search blocks for addresses of the Go heap, which the collector
//     does not see there.
//
// In each of these modes Realloc moves a block whose size changes, a Ref to a freed block is told
// from a damaged Ref, the functions of a Local are those of the package, and [Stats] and limits
// count blocks by their requested length.
//
// Under the race detector blocks come from the Go heap, where it sees them. A free counts as a
// write to the block, so the detector reports a use of the block that is not ordered before the
// free. The modes guard and pointers need memory of their own and override this.
//
// # With FREEHOLD=heap
//
// All blocks come from the Go heap, with the same checks, slower. The same holds on systems without
// calls for reserving address space (js, wasip1, plan9).
//
// # What it is not
//
// It is no arena: if values are allocated together and die together, free them together. It is no
// cache: it evicts nothing. It does not speed up a program whose collector has little to do, and a
// program that frees memory itself can free it too early. Leave data of a few megabytes, or
// long-lived data without pointers, on the Go heap.
package offheap
