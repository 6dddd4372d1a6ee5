// Package sanitize tells the sanitizers of the C world, and Go's race detector, what becomes of
// memory that they cannot see through.
//
// # Model
//
// A sanitizer is compiled in by a flag of the go command: -asan, -msan, -race or -tags valgrind. It
// knows what Go's own allocator hands out. A block that freehold cuts out of mapped memory, or out
// of a chunk on the Go heap, is to it a part of something that is in use for ever, so that nothing
// in there is ever a mistake. The functions of this package say where such blocks begin and end:
// [Fresh] when one is handed out, [Freed] when it is given up. What is not handed out may not be
// touched, so blocks that lie [RedZone] bytes apart have their overflows found.
//
// Without a sanitizer, [Enabled] is false, the functions do nothing, and the compiler removes them.
//
// [Record] and [RecordFree] keep the Go stacks of allocations and frees. A report of
// AddressSanitizer or MemorySanitizer, which names one Go function or none, is followed by one of
// ours that has them.
//
// # Concurrency
//
// All functions may be called by several goroutines at once.
//
// # What it is not
//
// It decides nothing: who allocates, puts red zones around blocks and keeps freed ones from being
// used again is for its callers to do.
package sanitize

// RedZone is how many bytes to leave untouched on both sides of a block, so that accesses beyond
// its ends are found.
const RedZone = 16
