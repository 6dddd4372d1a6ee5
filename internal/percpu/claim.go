// SPDX-License-Identifier: Apache-2.0

//go:build freehold_nolinkname && race

package percpu

import (
	"runtime"
	"sync/atomic"
)

// Under the race detector sync.Pool drops one in four of what it is given, so that IDs would be
// lost as fast as they are made, until the next collection. Here a goroutine that needs an ID
// claims the lowest that is not busy. The race detector so sees that the holders of one ID come one
// after the other, and nothing of holders of different IDs, which a lock would order as well, and
// thereby hide races of the program's.

// Pin is the right to use the state under one ID until Release.
type Pin struct{ id int }

// Acquire takes an ID that no other goroutine holds.
func Acquire() Pin {
	for {
		for id := range busy {
			if atomic.CompareAndSwapUint32(&busy[id], 0, 1) {
				return Pin{id}
			}
		}
		runtime.Gosched() // Thousands were stopped while they held one.
	}
}

// ID is a small number, the lowest that was free.
func (p Pin) ID() int { return p.id }

// Release releases the ID.
func (p Pin) Release() { atomic.StoreUint32(&busy[p.id], 0) }
