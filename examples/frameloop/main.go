// SPDX-License-Identifier: Apache-2.0

// Command frameloop plays a small game without a screen and shows how long its frames take.
//
//	go run ./examples/frameloop           # each frame makes its values in an arena
//	go run ./examples/frameloop -plain    # each frame makes its values on the Go heap
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/examples/frameloop/world"
	"github.com/freehold-go/freehold/examples/internal/cost"
)

func main() {
	plain := flag.Bool("plain", false, "use the Go heap")
	frames := flag.Int("frames", 1000, "number of frames")
	side := flag.Int("side", 500, "side of the level in tiles")
	flag.Parse()
	if *frames < 1 || *side < 10 {
		fmt.Fprintln(os.Stderr, "frameloop: want a frame at least, and a side of at least 10")
		os.Exit(2)
	}
	run(os.Stdout, *plain, *frames, *side)
}

func run(out io.Writer, plain bool, frames, side int) {
	w := world.New(side, 100)
	times := make([]time.Duration, frames)
	var sum uint64
	spent := cost.Of(func() {
		if plain {
			sum = playPlain(w, times)
		} else {
			sum = play(w, times)
		}
	})
	slices.Sort(times)
	fmt.Fprintf(out, "%d frames of 100 units; checksum of the commands %x\n", frames, sum)
	fmt.Fprintf(out, "frames   median %v, slowest %v\n", times[frames/2].Round(time.Microsecond), times[frames-1].Round(time.Microsecond))
	fmt.Fprintf(out, "play     %v\n", spent)
}

// play plays with an arena for the values of a frame. After the first frames the arena has all
// memory that a frame needs, so no frame takes memory from the Go heap for its values, and no
// collection runs because of them.
func play(w *world.World, times []time.Duration) (sum uint64) {
	a := arena.NewArena()
	defer a.Free()
	for i := range times {
		begin := time.Now()
		sum = sum*31 + world.Sum(w.Frame(a))
		a.Reset(arena.Keep) // Frees the commands of this frame; the next frame uses their memory.
		times[i] = time.Since(begin)
	}
	return sum
}

func playPlain(w *world.World, times []time.Duration) (sum uint64) {
	for i := range times {
		begin := time.Now()
		sum = sum*31 + world.Sum(w.PlainFrame())
		times[i] = time.Since(begin)
	}
	return sum
}
