// SPDX-License-Identifier: Apache-2.0

// Package realtime starts timers that tick in real time.
//
// A timer that is started in a bubble of testing/synctest belongs to the bubble: it follows the
// bubble's clock, and never fires once the bubble has ended. Clocks of the process, such as that of
// a store which all goroutines share, must not start there. The package serves them; it keeps no
// goroutine, and no timer while none is wanted.
package realtime

import (
	"runtime"
	"time"
)

// AfterFunc is time.AfterFunc for a caller who may be in a bubble: f runs outside of any bubble, in
// a goroutine of its own, when d has passed. If the caller is in a bubble, the time begins with the
// next collection.
func AfterFunc(d time.Duration, f func()) {
	if _, ok := Elapsed(); ok {
		time.AfterFunc(d, f)
		return
	}
	// The runtime runs cleanups in goroutines of its own, which belong to no bubble (GC-12).
	runtime.AddCleanup(&sentinel{}, func(f func()) { time.AfterFunc(d, f) }, f)
}

// A sentinel is an object that dies at once. It holds a pointer, because the runtime may keep small
// objects without pointers as long as others in the same block.
type sentinel struct{ _ *sentinel }

// start is a moment in real time, since a bubble runs no initialisers.
var start = time.Now()

// Elapsed is how long the process runs, and whether that is known: in a bubble no call tells the
// real time.
//
// A bubble's monotonic clock starts at the beginning of the year 2000, counted from 1970, the
// process's where the machine was started, or in 1970 (GC-12): decades lie between the two.
func Elapsed() (d time.Duration, ok bool) {
	d = time.Since(start)
	return d, d.Abs() < 10*365*24*time.Hour
}
