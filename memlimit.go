// SPDX-License-Identifier: Apache-2.0

package freehold

import "github.com/freehold-go/freehold/internal/memlimit"

// SyncMemoryLimit lowers Go's soft memory limit (GOMEMLIMIT, [debug.SetMemoryLimit]) by the bytes
// that the registered packages hold, and raises it again when they release memory. Packages that
// allocate call it from the background and after they have grown by much; a program need not call
// it. Without a limit, in heap mode and with the mode nomemlimit it does nothing.
//
// The user may set a limit at any time, before or between calls. A limit in force that differs from
// the one that SyncMemoryLimit set last counts as a new limit of the user. There is one exception:
// a program that restores a limit that it has read earlier, as in `old := debug.SetMemoryLimit(n);
// defer debug.SetMemoryLimit(old)`. While a tuner of package gctune runs, the smaller of the
// tuner's limit and the user's counts. Off-heap bytes are subtracted from it once.
//
// The limit has a floor: a tenth of the user's limit or, if that is more, Go's memory for the live
// heap with a quarter on top. Below the floor the collector would run without end and free nothing,
// because it cannot free off-heap memory. A change of less than 1/64 of the user's limit is not
// applied, so that the limit does not change at each tick.
//
// A call costs about 0.6 µs, most of it for reading the size of the live heap. Setting the limit
// adds 0.1 µs: the runtime takes the heap's lock and recomputes the pace of collector, sweeper and
// scavenger, and does not stop the world (Go 1.26 and 1.27). Do not call it on a fast path, or
// under a lock that a registered read function takes. Of concurrent calls one does the work, and
// counts the memory that the other callers have taken; the others return at once.
//
// [debug.SetMemoryLimit]: https://pkg.go.dev/runtime/debug#SetMemoryLimit
func SyncMemoryLimit() {
	if process.frozen()&(modeHeap|modeNoMemLimit) != 0 {
		return
	}
	memlimit.Process.Sync(resident)
}

// MemoryLimit returns Go's soft memory limit in bytes as the user set it, before off-heap memory is
// subtracted. Without freehold, debug.SetMemoryLimit(-1) would return this value. It is
// math.MaxInt64 if there is no limit.
func MemoryLimit() int64 { return memlimit.Process.User() }
