// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	stdjson "encoding/json"
	"io"
	"iter"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	goccy "github.com/goccy/go-json"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/arenajson"
	"github.com/freehold-go/freehold/cmd/bench"
)

func linesWorkload() bench.Workload {
	arenas := func(newArena func() *arena.Arena) func(r *bench.Run) func() uint64 {
		return decodeLines(func(r io.Reader) iter.Seq2[*lineOrder, error] {
			return func(yield func(*lineOrder, error) bool) {
				a := newArena()
				defer a.Free()
				arenajson.Each[lineOrder](a, r)(yield)
			}
		})
	}
	return bench.Workload{
		Name: "decode/lines", Doc: "Decode a stream of n JSON lines, orders of 240 bytes, into structs, with one alive at a time.", Op: "line", Size: "lines",
		Quick: []int{20_000}, Full: []int{1_000_000}, MaxPasses: 3,
		Ops:  func(n int) int { return max(1, n/differentLines) * differentLines },
		Heap: encodingJSON,
		Contestants: append([]bench.Contestant{
			{Name: encodingJSON, Note: "Decoder of the standard library", Prepare: decodeLines(func(r io.Reader) iter.Seq2[*lineOrder, error] {
				d := stdjson.NewDecoder(r)
				return byDecoder(func(o *lineOrder) error { return d.Decode(o) })
			})},
			{Name: "json/v2", Note: "UnmarshalDecode of go-json-experiment, which is encoding/json/v2 of Go", Prepare: decodeLines(func(r io.Reader) iter.Seq2[*lineOrder, error] {
				d := jsontext.NewDecoder(r)
				return byDecoder(func(o *lineOrder) error { return json.UnmarshalDecode(d, o) })
			})},
			{Name: goccyName, Note: "Decoder", Prepare: decodeLines(func(r io.Reader) iter.Seq2[*lineOrder, error] {
				d := goccy.NewDecoder(r)
				return byDecoder(func(o *lineOrder) error { return d.Decode(o) })
			})},
			{Name: linesArena, Note: "one value at a time in an arena, which is rewound", Own: true, Prepare: arenas(arena.NewArena)},
			{Name: "arenajson, Each, nil", Note: "to the Go heap, without an arena", Own: true, Prepare: arenas(func() *arena.Arena { return nil })},
		}, sonicLines()...),
		Bars: []bench.Bar{
			bench.AtMost("decode/lines, "+linesArena+" by sonic's decoder", 0.4, bench.TimeRatio("decode/lines", 0, linesArena, linesSonic)),
		},
	}
}
