package main

import (
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	goccy "github.com/goccy/go-json"

	"github.com/freehold-go/freehold/cmd/bench"
	"github.com/freehold-go/freehold/cmd/bench/workloads"
)

const goccyName = "goccy/go-json"

// A jsonRival is a library with the functions of encoding/json. They are called as its users call them.
type jsonRival struct {
	name, note string
	unmarshal  func(data []byte, v any) error
	// lines opens a decoder of a stream and returns its method Decode. lineNote is its note.
	lines    func(r io.Reader) (decode func(o *workloads.LineOrder) error)
	lineNote string
}

func init() {
	jsonRival{
		name: "json/v2", note: "Unmarshal of go-json-experiment, which is encoding/json/v2 of Go",
		unmarshal: func(data []byte, v any) error { return json.Unmarshal(data, v) },
		lines: func(r io.Reader) func(o *workloads.LineOrder) error {
			d := jsontext.NewDecoder(r)
			return func(o *workloads.LineOrder) error { return json.UnmarshalDecode(d, o) }
		},
		lineNote: "UnmarshalDecode of go-json-experiment, which is encoding/json/v2 of Go",
	}.register()
	jsonRival{
		name: goccyName, note: "Unmarshal",
		unmarshal: func(data []byte, v any) error { return goccy.Unmarshal(data, v) },
		lines: func(r io.Reader) func(o *workloads.LineOrder) error {
			d := goccy.NewDecoder(r)
			return func(o *workloads.LineOrder) error { return d.Decode(o) }
		},
		lineNote: "Decoder",
	}.register()
	orderBars(goccyName)
}

// register adds the rival to the workloads with JSON.
func (v jsonRival) register() {
	set.Add("decode", bench.Contestant{Name: v.name, Note: v.note, Prepare: workloads.Decode(v.unmarshal, false)})
	set.Add("decode/struct", bench.Contestant{Name: v.name, Note: v.note, Prepare: workloads.Decode(v.unmarshal, true)})
	set.Add("decode/lines", bench.Contestant{Name: v.name, Note: v.lineNote, Prepare: workloads.DecodeLines(v.lines)})
	set.Add("decode/order", bench.Contestant{Name: v.name, Note: v.note, Prepare: workloads.OrderUnmarshal(v.unmarshal)})
}

// orderBars limits arenajson's time for a small document by the rival's.
func orderBars(rival string) {
	for _, bar := range []struct {
		ours  string
		limit float64
	}{{workloads.OrderArena, 0.50}, {workloads.OrderBatches, 0.25}, {workloads.OrderPool, 0.65}} {
		name := fmt.Sprintf("decode/order, %s by %s", bar.ours, rival)
		set.AddBars("decode/order", bench.AtMost(name, bar.limit, bench.TimeRatio("decode/order", 0, bar.ours, rival)))
	}
}
