// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"encoding/json"
	"io"
	"iter"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/arenajson"
	"github.com/freehold-go/freehold/cmd/bench"
)

func linesWorkload() bench.Workload {
	arenas := func(newArena func() *arena.Arena) func(r *bench.Run) func() uint64 {
		return decodeLines(func(r io.Reader) iter.Seq2[*LineOrder, error] {
			return func(yield func(*LineOrder, error) bool) {
				a := newArena()
				defer a.Free()
				arenajson.Each[LineOrder](a, r)(yield)
			}
		})
	}
	return bench.Workload{
		Name: "decode/lines", Doc: "Decode a stream of n JSON lines, orders of 240 bytes, into structs, with one alive at a time.", Op: "line", Size: "lines",
		Quick: []int{20_000}, Full: []int{1_000_000}, MaxPasses: 3,
		Ops:  func(n int) int { return max(1, n/differentLines) * differentLines },
		Heap: encodingJSON,
		Contestants: []bench.Contestant{
			{Name: encodingJSON, Note: "Decoder of the standard library", Prepare: DecodeLines(func(r io.Reader) func(o *LineOrder) error {
				d := json.NewDecoder(r)
				return func(o *LineOrder) error { return d.Decode(o) }
			})},
			{Name: LinesArena, Note: "one value at a time in an arena, which is rewound", Own: true, Prepare: arenas(arena.NewArena)},
			{Name: "arenajson, Each, nil", Note: "to the Go heap, without an arena", Own: true, Prepare: arenas(func() *arena.Arena { return nil })},
		},
	}
}
