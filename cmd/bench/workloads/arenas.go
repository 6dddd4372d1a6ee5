// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/cmd/bench"
)

// The names of the kinds of arena, and of the ways to use them, in all workloads.
const (
	arenaNew     = "arena New"
	arenaOf      = "arena Of"
	arenaOffHeap = "arena off heap"
	arenaShared  = "arena shared"
	arenaFixed   = "arena fixed"
	arenaPool    = "arena Pool"
	arenaNoReuse = "arena no reuse"
)

// A newArena makes an arena for values of bytes bytes. Only a fixed arena needs that number.
type newArena func(bytes int) *arena.Arena

func defaultArena(int) *arena.Arena { return arena.NewArena() }
func offHeapArena(int) *arena.Arena { return arena.NewOffHeap(arena.Options{}) }
func sharedArena(int) *arena.Arena  { return arena.NewShared() }
func fixedArena(n int) *arena.Arena { return arena.NewFixed(n) }

// noReuseArena makes an arena whose memory goes to the collector when it is reset or freed.
func noReuseArena(int) *arena.Arena { return arena.NewWith(arena.Options{NoReuse: true}) }

// An arenaLife says whether an arena is reset after a round, or freed and made anew.
type arenaLife bool

const (
	arenaReused arenaLife = false
	arenaFresh  arenaLife = true
)

// keepArena makes the arena of all rounds if it is reused.
func (life arenaLife) keepArena(r *bench.Run, make newArena, bytes int) *arena.Arena {
	if life == arenaFresh {
		return nil
	}
	a := make(bytes)
	r.Cleanup(a.Free)
	return a
}

// end frees the values of a.
func (life arenaLife) end(a *arena.Arena) {
	if life == arenaFresh {
		a.Free()
	} else {
		a.Reset(arena.Keep)
	}
}

// pooledBytesFor is the limit of a Pool that keeps all memory of a round. Chunks grow
// geometrically, so the last may be as large as all earlier ones together.
func pooledBytesFor(bytes int) int64 { return max(4<<20, 4*int64(bytes)) }

// arenaRounds is the Prepare of a contestant that uses an arena in each round.
func arenaRounds(make newArena, life arenaLife, one func(r *bench.Run, a *arena.Arena) uint64) func(r *bench.Run) func() uint64 {
	return func(r *bench.Run) func() uint64 {
		a := life.keepArena(r, make, 0)
		return rounds(func(r *bench.Run) uint64 {
			if life == arenaFresh {
				a = make(0)
			}
			sum := one(r, a)
			life.end(a)
			return sum
		})(r)
	}
}
