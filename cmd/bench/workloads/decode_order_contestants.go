// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	stdjson "encoding/json"

	"github.com/go-json-experiment/json"
	goccy "github.com/goccy/go-json"

	"github.com/freehold-go/freehold/arenajson"
	"github.com/freehold-go/freehold/cmd/bench"
)

func orderWorkload() bench.Workload {
	const ours = "arenajson"
	w := bench.Workload{
		Name: "decode/order", Doc: "Decode one order of 240 bytes into a struct, as services do with small requests, and keep the four latest.", Op: "order", Size: "orders",
		Quick: []int{ordersRound}, Full: []int{ordersRound},
		Ops:  func(n int) int { return n },
		Heap: encodingJSON,
		Contestants: append([]bench.Contestant{
			{Name: encodingJSON, Note: "Unmarshal of the standard library", Prepare: orderUnmarshal(stdjson.Unmarshal)},
			{Name: "json/v2", Note: "Unmarshal of go-json-experiment, which is encoding/json/v2 of Go", Prepare: orderUnmarshal(func(data []byte, v any) error {
				return json.Unmarshal(data, v)
			})},
			{Name: goccyName, Note: "Unmarshal", Prepare: orderUnmarshal(func(data []byte, v any) error { return goccy.Unmarshal(data, v) })},
			{Name: ours, Note: "an arena for each order, reset before the next one", Own: true, Prepare: orderArenas(1)},
			{Name: ours + ", batches", Note: "each arena is reset after 64 orders", Own: true, Prepare: orderArenas(ordersBatch)},
			{Name: ours + ", Pool", Note: "the arena comes from a Pool", Own: true, Prepare: decodeOrders(orderPool)},
			{Name: ours + ", nil", Note: "to the Go heap, without an arena", Own: true, Prepare: orderUnmarshal(func(data []byte, v any) error {
				return arenajson.UnmarshalInto(nil, data, v)
			})},
		}, sonicOrders()...),
	}
	for _, rival := range []string{linesSonic, goccyName} { // By the faster of them is by each of them.
		for _, bar := range []struct {
			ours  string
			limit float64
		}{{ours, 0.50}, {ours + ", batches", 0.25}, {ours + ", Pool", 0.65}} {
			w.Bars = append(w.Bars, bench.AtMost("decode/order, "+bar.ours+" by "+rival, bar.limit, bench.TimeRatio("decode/order", 0, bar.ours, rival)))
		}
	}
	return w
}
