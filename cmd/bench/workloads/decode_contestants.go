// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"encoding/json"
	"slices"

	"github.com/freehold-go/freehold/cmd/bench"
)

func decodeWorkloads() []bench.Workload {
	untyped := decodeWorkload("decode", "Decode a file of JSON into maps, slices and interfaces, as programs do that know nothing of it, and keep the four latest.", false)
	for _, document := range structuredDocuments {
		untyped.Bars = append(untyped.Bars, bench.AtMost("decode, "+document+", "+ArenaValue+" by "+arenaTypes, 1.05, bench.InputRatio("decode", document, ArenaValue, arenaTypes)))
	}
	return []bench.Workload{
		untyped,
		decodeWorkload("decode/struct", "Decode a file of JSON into structs whose fields are made from it, as programs do that know it, and keep the four latest.", true),
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
			{Name: encodingJSON, Note: "Unmarshal of the standard library", Prepare: Decode(json.Unmarshal, typed)},
		}, arenaContestants(typed), []bench.Contestant{{
			Name: tokensOnly, Note: "the bound: its tokens are read and nothing is built, which is what is left if decoding allocates nothing", Prepare: decodeTokens, Bound: true,
		}}),
	}
}
