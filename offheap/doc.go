// Package offheap allocates single blocks of memory outside the Go heap, which the garbage collector neither scans nor waits for.
//
// # Model
//
// [Alloc] returns bytes, [New] a value, [MakeSlice] a slice; [Free], [Delete] and [FreeSlice] give
// them back. There is one allocator for the whole process. It takes address space from the
// operating system in large regions and divides it into slabs of equal blocks, 87 size classes up
// to 64 KiB, at most an eighth of a request above 64 bytes wasted; larger blocks are whole pages.
//
// Off-heap memory holds no Go pointers, because the collector would not see them: a T that holds
// one is refused, by the path of the field. Links between off-heap values are [Ref]: 8 bytes, an
// offset, checked at each use. A type that carries [UnsafeSelfContained] promises that its
// pointers lead to off-heap memory only.
//
// [Local] is the fastest way for one goroutine, [Purpose] an account with a limit, [Shared] a
// block with several owners, [File] memory that is a file.
//
// # Lifetime
//
// A block is the caller's until it is freed, and is never freed otherwise. Afterwards nobody may
// use it. Whoever does sees bits of a later block: of the same type if the type holds bools or is
// self-contained, of any data without pointers and bools otherwise; and may overwrite it. Nothing
// worse happens: the allocator's records lie apart from the blocks, and address space that was
// handed out once is never unmapped, so that a stale pointer never becomes one into the Go heap.
//
// Freeing what is not a block panics with a [*MisuseError] that says which mistake it is: an
// interior or a foreign pointer always, a block that is free already as long as it has not been
// handed out again. Freed memory goes back to the machine after a while ([SetPurgeDelay]), or by
// [Purge] now.
//
// # Functions that take pointers to the Go heap alone
//
// Go ends the process if one of these is called with off-heap memory: weak.Make, runtime.AddCleanup,
// runtime.SetFinalizer, and of crypto/ed25519 ed25519.Sign and PrivateKey.Sign, which keep a weak
// pointer to the private key. Copy the key to the Go heap, or to an arena on Go memory. No other
// function of the standard library is known to need a pointer to the Go heap that its caller chooses.
//
// # Errors
//
// No memory is a panic whose value errors.Is [ErrOutOfMemory] or [ErrLimit], or an error of the
// function with Try before its name. RLIMIT_AS, a machine that does not overcommit and
// vm.max_map_count end in ErrOutOfMemory. So does a block of more than 16 TiB and, on Linux, one of
// more than 1 GiB that exceeds the machine's memory and swap, unless vm.overcommit_memory is 1; it
// costs nothing. Under RLIMIT_DATA or RLIMIT_AS an eighth of the process's writable memory, or
// 96 MiB if that is more, at most an eighth of the limit, is kept for the Go heap, which dies where
// it cannot grow: the refusal comes that much earlier, and the Go heap has that much until memory is
// freed. A full cgroup does not: the kernel kills the process and
// gives no error; SetLimit exists for that. After an error the allocator works on.
//
// # Concurrency
//
// All functions may be called from any goroutine, and a block may be freed by another than the one
// that allocated it. A Local serves one goroutine at a time.
//
// # Debug modes
//
// Words in the variable FREEHOLD, or fields of [github.com/freehold-go/freehold.Options], make mistakes visible without a rebuild. Each block
// then has a record with the stack that allocated it, and a [*MisuseError] tells it, and the one that freed the block.
//
//   - guard: each block lies at the end of pages of its own. Accesses after its free, and beyond its pages, fault and are explained;
//     bytes written beside it on its pages are found at its free and by [Check]. A block takes at least a page, and its allocation and free
//     some 10 µs. Near the end of the budgets (guardmaps, guardbytes) fewer and fewer
//     blocks are guarded, by chance; those whose alignment exceeds a page never are.
//   - poison: memory that need not be zero (Uninit) is 0xF5, freed memory 0xDD. Behind each block is a canary, and freed blocks stay in a
//     quarantine of up to a sixteenth of guardbytes; both are checked at frees, each of which also looks at
//     two blocks of the quarantine in turn, when a block leaves it, and by Check.
//     In memory of types with bools or of self-contained types the pattern is 1, which is a valid bool and no address.
//   - leaks: [Leaks], [WriteLeaks] and the end of the process list what is in use by the stack that allocated it; [CheckLeaks] is for tests.
//   - pointers: frees and Check search blocks for addresses of the Go heap, which the collector does not see there.
//
// In each of them Realloc moves a block whose size changes, Refs to freed blocks are told from damaged ones, the functions of a Local
// are those of the package, and blocks count in [Stats] by the length that was asked for. Limits hold by that length, too.
//
// Under the race detector blocks come from the Go heap, where it sees them, and a free counts as a write to the block, so that whoever uses
// it without being ordered before is reported; guard and pointers need memory of their own and go before this.
//
// # With FREEHOLD=heap
//
// All blocks come from the Go heap, with the same checks, slower. So they do where the system
// offers no address space of one's own (js, wasip1, plan9).
//
// # What it is not
//
// It is no arena: what is born and dies together is better freed together. It is no cache: nothing
// is ever evicted. It does not speed up a program whose collector has nothing to do, and memory
// that is freed by hand is memory that can be freed too early; data of a few megabytes, or without
// pointers and long-lived, is better left on the Go heap.
package offheap
