// SPDX-License-Identifier: Apache-2.0

//go:build race

package sanitize

import (
	"runtime"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// Race reports whether the race detector is compiled in. It sees memory of the Go heap only:
// accesses to mapped memory are no races to it, and atomic operations there order nothing, so that
// it reports races that are none on data which they protect. So blocks have to come from the Go
// heap.
const Race = true

// RaceFree tells the race detector that the n bytes at addr, on the Go heap, are freed, as if the caller wrote them: a goroutine that uses them
// without being ordered before it is reported, with both stacks. It is not inlined because the report leaves out the frame that calls
// RaceWriteRange.
//
//go:noinline
func RaceFree(addr, n uintptr) {
	if n > 0 {
		runtime.RaceWriteRange(unsafex.Pointer(addr), int(n))
	}
}

// RaceRelease tells the race detector that what the caller has done so far comes before whatever follows a RaceAcquire
// of the same address, of which the caller learns nothing.
func RaceRelease(addr uintptr) { runtime.RaceReleaseMerge(unsafex.Pointer(addr)) }

// RaceAcquire is the other half of RaceRelease.
func RaceAcquire(addr uintptr) { runtime.RaceAcquire(unsafex.Pointer(addr)) }
