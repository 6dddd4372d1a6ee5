// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"runtime"
	"time"
)

// Collect runs the collector until done, for a minute at most, and returns whether it is. What
// cleanups do comes some time after a collection, and the first one may have begun before what it
// is to find was dropped.
func Collect(done func() bool) bool {
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		runtime.GC()
		if done() {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}
