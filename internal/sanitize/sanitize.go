// SPDX-License-Identifier: Apache-2.0

// Package sanitize reports allocations and frees to the sanitizers of C and to Go's race detector,
// which cannot see them by themselves.
//
// # Model
//
// A sanitizer is compiled in by a flag of the go command: -asan, -msan, -race or -tags valgrind. It
// knows the blocks of Go's own allocator. To it, a block that freehold cuts from mapped memory, or
// from a chunk on the Go heap, is part of memory that is always in use, so no access there is a
// mistake. The functions of this package report where such blocks begin and end: [Fresh] when one
// is allocated, [Freed] when it is freed. Memory outside blocks may not be touched. So the
// sanitizer finds overflows of blocks that lie [RedZone] bytes apart.
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
