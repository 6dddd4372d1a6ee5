// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"encoding/json"

	"github.com/freehold-go/freehold/arenajson"
	"github.com/freehold-go/freehold/cmd/bench"
)

func orderWorkload() bench.Workload {
	return bench.Workload{
		Name: "decode/order", Doc: "Decode one order of 240 bytes into a struct, as services do with small requests, and keep the four latest.", Op: "order", Size: "orders",
		Quick: []int{ordersRound}, Full: []int{ordersRound},
		Ops:  func(n int) int { return n },
		Heap: encodingJSON,
		Contestants: []bench.Contestant{
			{Name: encodingJSON, Note: "Unmarshal of the standard library", Prepare: OrderUnmarshal(json.Unmarshal)},
			{Name: OrderArena, Note: "an arena for each order, reset before the next one", Own: true, Prepare: orderArenas(1)},
			{Name: OrderBatches, Note: "each arena is reset after 64 orders", Own: true, Prepare: orderArenas(ordersBatch)},
			{Name: OrderPool, Note: "the arena comes from a Pool", Own: true, Prepare: decodeOrders(orderPool)},
			{Name: "arenajson, nil", Note: "to the Go heap, without an arena", Own: true, Prepare: OrderUnmarshal(func(data []byte, v any) error {
				return arenajson.UnmarshalInto(nil, data, v)
			})},
		},
	}
}
