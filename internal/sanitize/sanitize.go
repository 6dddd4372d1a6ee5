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

// Enabled reports whether a sanitizer is compiled in that wants to hear of every block. Kind names
// it: "asan", "msan", "valgrind", or "" for none.
const (
	Enabled = kind != ""
	Kind    = kind
)

// Fresh says that the n bytes at addr were allocated. zeroed says that they are zero, so the caller
// may read them first.
func Fresh(addr, n uintptr, zeroed bool) { fresh(addr, n, zeroed) }

// Freed says that the n bytes at addr were freed: no code may touch them until they are allocated
// again.
func Freed(addr, n uintptr) { freed(addr, n) }

// Poison forbids the n bytes at addr, such as a red zone, and Unpoison allows them again, for the
// allocator's own use.
func Poison(addr, n uintptr) { poison(addr, n) }

// Unpoison allows the n bytes at addr. Their contents count as written.
func Unpoison(addr, n uintptr) { unpoison(addr, n) }

// Reserve says that blocks will be cut from the n bytes at addr, which no code may touch before.
// What the leak checker of C sees there, it takes for pointers in use.
func Reserve(addr, n uintptr) { reserve(addr, n) }

// Record keeps for reports that the n bytes at addr are a block, what it is (as in "[]byte,
// offheap"), and which goroutine allocated it with which stack, in lines that end in a newline.
// Valgrind keeps stacks itself.
func Record(addr, n uintptr, what string, goroutine int64, stack string) {
	record(addr, n, what, goroutine, stack)
}

// RecordFree keeps for reports that the n bytes at addr, a block or many, were freed: by which
// operation (as in "Free"), and by what (as in "offheap.Free").
func RecordFree(addr, n uintptr, op, by string, goroutine int64, stack string) {
	recordFree(addr, n, op, by, goroutine, stack)
}

// Forget drops the records of blocks that begin in the n bytes at addr.
func Forget(addr, n uintptr) { forget(addr, n) }

// RedZone is how many bytes to leave untouched on both sides of a block, so that accesses beyond
// its ends are found.
const RedZone = 16
