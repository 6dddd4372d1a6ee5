// SPDX-License-Identifier: Apache-2.0

//go:build valgrind && !asan && !msan && linux && (amd64 || arm64)

package sanitize

const kind = "valgrind"

// Valgrind listens to requests that the program makes by an instruction sequence which does nothing
// elsewhere. The numbers are those of valgrind/valgrind.h and valgrind/memcheck.h.
const (
	createMempool = 0x1303
	mempoolAlloc  = 0x1305
	mempoolFree   = 0x1306

	memcheck        = 'M'<<24 | 'C'<<16
	makeMemNoAccess = memcheck
	makeMemDefined  = memcheck + 2
)

// request makes a request. It is assembly and not C, so that the stacks in Valgrind's reports are those of Go.
//
//go:noescape
func request(number, a, b, c, d, e uintptr) uintptr

// pool stands for all blocks: Valgrind knows pools by any number. What lies next to a block is in
// its red zones.
const pool = 0xF4EE

func init() { request(createMempool, pool, RedZone, 0, 0, 0) }

func fresh(addr, n uintptr, zeroed bool) {
	request(mempoolAlloc, pool, addr, n, 0, 0)
	if zeroed {
		request(makeMemDefined, addr, n, 0, 0, 0)
	}
}

func freed(addr, n uintptr) { request(mempoolFree, pool, addr, 0, 0, 0) }

func poison(addr, n uintptr) { request(makeMemNoAccess, addr, n, 0, 0, 0) }

func unpoison(addr, n uintptr) { request(makeMemDefined, addr, n, 0, 0, 0) }

func reserve(addr, n uintptr) { request(makeMemNoAccess, addr, n, 0, 0, 0) }

func record(addr, n uintptr, what string, goroutine int64, stack string) {}

func recordFree(addr, n uintptr, op, by string, goroutine int64, stack string) {}

func forget(addr, n uintptr) {}
