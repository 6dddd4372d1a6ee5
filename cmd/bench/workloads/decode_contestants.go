// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	stdjson "encoding/json"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	goccy "github.com/goccy/go-json"

	"github.com/freehold-go/freehold/cmd/bench"
)

func decodeWorkloads() []bench.Workload {
	untyped := decodeWorkload("decode", "Decode a file of JSON into maps, slices and interfaces, as programs do that know nothing of it, and keep the four latest.", false)
	typed := decodeWorkload("decode/struct", "Decode a file of JSON into structs whose fields are made from it, as programs do that know it, and keep the four latest.", true)
	for _, document := range structuredDocuments {
		typed.Bars = append(typed.Bars, bench.AtMost("decode, "+document+", "+ArenaValue+" by decode/struct, "+ArenaTyped, 1.05, valueByTyped(document)))
	}
	return []bench.Workload{untyped, typed}
}

// valueByTyped is the CPU time of a document's tree of values as a part of the time of its structs.
func valueByTyped(document string) bench.Value {
	return func(rows bench.Rows) (float64, string, bool) {
		tree, typed := rows.FindInput("decode", document, ArenaValue), rows.FindInput("decode/struct", document, ArenaTyped)
		if tree == nil || typed == nil || typed.NsOp == 0 {
			return 0, "", false
		}
		return tree.NsOp / typed.NsOp, fmt.Sprintf("%.0f ns by %.0f ns", tree.NsOp, typed.NsOp), true
	}
}

func decodeWorkload(name, doc string, typed bool) bench.Workload {
	return bench.Workload{
		Name: name, Doc: doc, Op: "document", Size: "bytes",
		Inputs:  documents,
		Ops:     func(int) int { return DecodeAlive },
		Heap:    encodingJSON,
		Bound:   tokensOnly,
		Measure: measureDecode,
		Contestants: slices.Concat([]bench.Contestant{
			{Name: encodingJSON, Note: "Unmarshal of the standard library", Prepare: Decode(stdjson.Unmarshal, typed)},
			{Name: "json/v2", Note: "Unmarshal of go-json-experiment, which is encoding/json/v2 of Go", Prepare: Decode(func(data []byte, v any) error {
				return json.Unmarshal(data, v)
			}, typed)},
			{Name: goccyName, Note: "Unmarshal", Prepare: Decode(func(data []byte, v any) error {
				return goccy.Unmarshal(data, v)
			}, typed)},
		}, sonicContestants(typed), arenaContestants(typed), []bench.Contestant{{
			Name: tokensOnly, Note: "the bound: its tokens are read and nothing is built, which is what is left if decoding allocates nothing", Prepare: decodeTokens, Bound: true,
		}}),
	}
}
