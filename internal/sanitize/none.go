// SPDX-License-Identifier: Apache-2.0

//go:build !(linux && (amd64 || arm64)) || !(asan || msan || valgrind)

package sanitize

const (
	// Enabled reports whether a sanitizer is compiled in that wants to hear of every block.
	Enabled = false
	// Kind names it: "asan", "msan", "valgrind", or "" for none.
	Kind = ""
)

// Fresh says that the n bytes at addr were allocated. zeroed says that they are zero, so the caller
// may read them first.
func Fresh(addr, n uintptr, zeroed bool) {}

// Freed says that the n bytes at addr were freed: no code may touch them until they are allocated
// again.
func Freed(addr, n uintptr) {}

// Poison forbids the n bytes at addr, such as a red zone, and Unpoison allows them again, for the
// allocator's own use.
func Poison(addr, n uintptr) {}

// Unpoison allows the n bytes at addr. Their contents count as written.
func Unpoison(addr, n uintptr) {}

// Reserve says that blocks will be cut from the n bytes at addr, which no code may touch before.
// What the leak checker of C sees there, it takes for pointers in use.
func Reserve(addr, n uintptr) {}

// Unreserve takes Reserve back for exactly its range, so that the memory can serve something else.
func Unreserve(addr, n uintptr) {}

// Record keeps for reports that the n bytes at addr are a block, what it is (as in "[]byte,
// offheap"), and which goroutine allocated it with which stack, in lines that end in a newline.
func Record(addr, n uintptr, what string, goroutine int64, stack string) {}

// RecordFree keeps for reports that the n bytes at addr, a block or many, were freed: by which
// operation (as in "Free"), and by what (as in "offheap.Free").
func RecordFree(addr, n uintptr, op, by string, goroutine int64, stack string) {}

// Forget drops the records of blocks that begin in the n bytes at addr.
func Forget(addr, n uintptr) {}
