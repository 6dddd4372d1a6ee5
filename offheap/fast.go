// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"github.com/freehold-go/freehold/internal/percpu"
)

// The fast paths of the thread-safe functions, for std alone: with its address a constant a
// pair costs about a fifth less than through methods of heap. Those of New and Delete stand in
// typed.go.

// alloc is a block of the bin from the P's slot, or 0 if the caller must ask allocSlow. bin is
// below fastBins.
//
//go:nosplit
func alloc(bin uint32) uintptr {
	p := percpu.Acquire()
	addr := std.pslots(p.ID()).bins[bin&(fastBins-1)].pop()
	p.Release()
	return addr
}

// free gives a block to the P's slots, to that of the bin if it does not belong to the hot one. It
// reports false, and has done nothing, if the caller must ask freeSlow. bin is below fastBins.
func free(bin uint32, addr uintptr) bool {
	p := percpu.Acquire()
	c := std.pslots(p.ID())
	s := c.hottest()
	done := true
	if s.push(addr) {
		if s.wipe {
			s.clear(addr)
		}
	} else {
		done = c.push(bin, addr)
	}
	p.Release()
	return done
}

// freeColder is free for a block that the hot slot has refused.
func freeColder(bin uint32, addr uintptr) bool {
	p := percpu.Acquire()
	done := std.pslots(p.ID()).push(bin, addr)
	p.Release()
	return done
}
