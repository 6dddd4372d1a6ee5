package examples

import (
	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/cmd/bench"
	"github.com/freehold-go/freehold/examples/frameloop/world"
)

func frameWorkloads() []bench.Workload {
	return []bench.Workload{{
		Name:        "examples/frameloop",
		Doc:         "Play a frame of a game with 100 units, each of which searches its way, in a level of 500 × 500 tiles (in the quick selection 50 × 50).",
		Op:          "frame",
		Size:        "frames",
		Quick:       []int{10},
		Full:        []int{100},
		Ops:         func(n int) int { return n },
		Contestants: twins("maps, new and append", play(nil), "Map, Of and Append in an arena; Rewind after each search, Reset after each frame", play(arena.NewArena)),
	}}
}

// play plays frames in an arena, or in plain Go if newArena is nil.
func play(newArena func() *arena.Arena) prepare {
	return func(r *bench.Run) func() uint64 {
		side := 500
		if r.Quick {
			side = 50
		}
		w := world.New(side, 100)
		frame := func() uint64 { return world.Sum(w.PlainFrame()) }
		if newArena != nil {
			a := newArena()
			r.Cleanup(a.Free)
			frame = func() uint64 {
				defer a.Reset(arena.Keep)
				return world.Sum(w.Frame(a))
			}
		}
		return func() (sum uint64) {
			for range r.N {
				sum = sum*31 + frame()
			}
			return sum
		}
	}
}
