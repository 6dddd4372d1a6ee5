// SPDX-License-Identifier: Apache-2.0

package invariants

import (
	"math/rand/v2"
	"runtime"
	"sync/atomic"
)

// widened is one in how many windows is wide, or 0 for none.
var widened atomic.Uint32

// Widen makes one in n windows wide, each chosen at random, and none with 0. It is for tests.
func Widen(n uint32) { widened.Store(n) }

// Window stands between two steps of an algorithm without locks, where the steps of other goroutines
// may come between. There the time is a nanosecond. In a wide window the caller goes around in circles for
// some microseconds, so that a test meets there what programs meet once in a year. It does not block, and
// the caller may be pinned to its P. Without [Enabled] it does nothing and costs nothing.
func Window() {
	if Enabled {
		window()
	}
}

func window() {
	n := widened.Load()
	if n == 0 || rand.Uint32N(n) != 0 {
		return
	}
	x := n
	for range rand.Uint32N(1 << 13) {
		x = x*1664525 + 1013904223 // A local variable: the race detector does not slow it down.
	}
	if x == 0 {
		runtime.KeepAlive(x) // So that the compiler keeps the loop.
	}
}
