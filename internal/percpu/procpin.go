// SPDX-License-Identifier: Apache-2.0

//go:build !freehold_nolinkname

package percpu

import _ "unsafe" // For go:linkname.

// Linkname says whether IDs come from the runtime by linkname.
const Linkname = true

// Pin is the right to use the state of one P until Release.
type Pin struct{ id int }

// Acquire pins the caller to its P.
func Acquire() Pin { return Pin{procPin()} }

// ID is the P's number: dense, from 0, below GOMAXPROCS at the time of the call (GC-2).
func (p Pin) ID() int { return p.id }

// Release ends what Acquire began.
func (p Pin) Release() { procUnpin() }

// Busy reports whether a goroutine that acquired the ID before the world was last stopped has not
// released it yet: never, because the world does not stop while a goroutine is pinned (GC-3).
func Busy(int) bool { return false }

// Both are on the list of symbols that the linker lets packages pull without a flag, because
// widely used packages do (see the comments on procPin in runtime/proc.go), in Go 1.26 and 1.27.

//go:linkname procPin runtime.procPin
func procPin() int

//go:linkname procUnpin runtime.procUnpin
func procUnpin()
