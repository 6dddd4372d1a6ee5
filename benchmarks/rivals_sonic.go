//go:build (amd64 || arm64) && !go1.28

package main

import (
	"io"

	"github.com/bytedance/sonic"

	"github.com/freehold-go/freehold/cmd/bench"
	"github.com/freehold-go/freehold/cmd/bench/workloads"
)

// On other processors, and with a Go version that it does not know yet, sonic calls encoding/json. By default its strings are parts of the
// document, which they keep alive. With ConfigStd it copies them, as all others do.

const sonicName = "sonic"

func init() {
	jsonRival{
		name: sonicName, note: "Unmarshal; strings are parts of the document, which is kept alive",
		unmarshal: func(data []byte, v any) error { return sonic.Unmarshal(data, v) },
		lines: func(r io.Reader) func(o *workloads.LineOrder) error {
			d := sonic.ConfigDefault.NewDecoder(r)
			return func(o *workloads.LineOrder) error { return d.Decode(o) }
		},
		lineNote: "its Decoder; strings are parts of its buffer",
	}.register()
	set.AddBars("decode/lines", bench.AtMost("decode/lines, "+workloads.LinesArena+" by sonic's decoder", 0.4,
		bench.TimeRatio("decode/lines", 0, workloads.LinesArena, sonicName)))
	orderBars(sonicName)
	for _, w := range []struct {
		name  string
		typed bool
	}{{"decode", false}, {"decode/struct", true}} {
		set.Add(w.name, bench.Contestant{Name: "sonic, ConfigStd", Note: "as encoding/json does it: strings are copied and checked", Prepare: workloads.Decode(func(data []byte, v any) error {
			return sonic.ConfigStd.Unmarshal(data, v)
		}, w.typed)})
	}
}
