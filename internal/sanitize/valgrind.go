// SPDX-License-Identifier: Apache-2.0

//go:build valgrind && !asan && !msan && linux && (amd64 || arm64)

package sanitize

const (
	// Enabled reports whether a sanitizer is compiled in that wants to hear of every block.
	Enabled = true
	// Kind names it: "asan", "msan", "valgrind", or "" for none.
	Kind = "valgrind"
)

// Valgrind listens to requests that the program makes by an instruction sequence which does nothing
// elsewhere. The numbers are those of valgrind/valgrind.h and valgrind/memcheck.h.
const (
	createMempool = 0x1303
	mempoolAlloc  = 0x1305
	mempoolFree   = 0x1306
	mempoolTrim   = 0x1307

	memcheck         = 'M'<<24 | 'C'<<16
	makeMemNoAccess  = memcheck
	makeMemUndefined = memcheck + 1
	makeMemDefined   = memcheck + 2
)

// request makes a request. It is assembly and not C, so that the stacks in Valgrind's reports are those of Go.
//
//go:noescape
func request(number, a, b, c, d, e uintptr) uintptr

// pool stands for all blocks: Valgrind knows pools by any number. What lies next to a block is in
// its red zones.
const pool = 0xF4EE

func init() { request(createMempool, pool, RedZone, 0, 0, 0) }

// Fresh says that the n bytes at addr were allocated. zeroed says that they are zero, so the caller
// may read them first.
func Fresh(addr, n uintptr, zeroed bool) {
	request(mempoolAlloc, pool, addr, n, 0, 0)
	if zeroed {
		request(makeMemDefined, addr, n, 0, 0, 0)
	}
}

// Freed says that the n bytes at addr were freed: no code may touch them until they are allocated
// again.
func Freed(addr, n uintptr) { request(mempoolFree, pool, addr, 0, 0, 0) }

// Poison forbids the n bytes at addr, such as a red zone, and Unpoison allows them again, for the
// allocator's own use.
func Poison(addr, n uintptr) { request(makeMemNoAccess, addr, n, 0, 0, 0) }

// Unpoison allows the n bytes at addr. Their contents count as written.
func Unpoison(addr, n uintptr) { request(makeMemDefined, addr, n, 0, 0, 0) }

// Reserve says that blocks will be cut from the n bytes at addr, which no code may touch before.
// What the leak checker of C sees there, it takes for pointers in use.
func Reserve(addr, n uintptr) { request(makeMemNoAccess, addr, n, 0, 0, 0) }

// Unreserve takes Reserve back for exactly its range, so that the memory can serve something else.
func Unreserve(addr, n uintptr) { request(makeMemDefined, addr, n, 0, 0, 0) }

// Record keeps for reports that the n bytes at addr are a block, what it is (as in "[]byte,
// offheap"), and which goroutine allocated it with which stack. Valgrind keeps stacks itself.
func Record(addr, n uintptr, what string, goroutine int64, stack string) {}

// RecordFree keeps for reports that the n bytes at addr, a block or many, were freed: by which
// operation (as in "Free"), and by what (as in "offheap.Free").
func RecordFree(addr, n uintptr, op, by string, goroutine int64, stack string) {}

// Forget drops the records of blocks that begin in the n bytes at addr.
func Forget(addr, n uintptr) {}
