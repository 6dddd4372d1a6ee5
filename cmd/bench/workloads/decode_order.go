// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"bytes"
	"fmt"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/arenajson"
	"github.com/freehold-go/freehold/cmd/bench"
)

// The cost of one small document, as a service decodes it for each request. The arena's own cost shows here, so there are
// three ways to have one.

const (
	ordersRound = 256 // How many orders a round decodes.
	ordersBatch = 64  // After how many orders an arena is reset in batches.
)

// An orderDecoder decodes an order. slot, below DecodeAlive, is the place of an order that is no longer needed.
type orderDecoder func(slot int, data []byte) (*LineOrder, error)

// decodeOrders is the Prepare of a contestant.
func decodeOrders(open func() orderDecoder) func(r *bench.Run) func() uint64 {
	return func(r *bench.Run) func() uint64 {
		data, _, _ := bytes.Cut(lineBlock(), []byte("\n"))
		decode := open()
		var alive [DecodeAlive]*LineOrder
		return func() (sum uint64) {
			for i := range ordersRound {
				slot := i % DecodeAlive
				o, err := decode(slot, data)
				if err != nil {
					r.Fail(fmt.Errorf("bench: decode/order: %w", err))
					return 0
				}
				alive[slot] = o
			}
			r.Peak()
			for _, o := range alive {
				sum += o.sum()
			}
			return sum
		}
	}
}

// OrderUnmarshal is the Prepare of a contestant of decode/order with a function like json.Unmarshal.
func OrderUnmarshal(unmarshal func(data []byte, v any) error) func(r *bench.Run) func() uint64 {
	return decodeOrders(func() orderDecoder {
		return func(_ int, data []byte) (*LineOrder, error) {
			o := new(LineOrder)
			return o, unmarshal(data, o)
		}
	})
}

// orderArenas decodes into an arena for each slot, which is reset after so many orders.
func orderArenas(every int) func(r *bench.Run) func() uint64 {
	return decodeOrders(func() orderDecoder {
		var arenas [DecodeAlive]*arena.Arena
		var decoded [DecodeAlive]int
		for i := range arenas {
			arenas[i] = arena.NewArena()
		}
		return func(slot int, data []byte) (*LineOrder, error) {
			if decoded[slot] == every {
				arenas[slot].Reset(arena.Keep)
				decoded[slot] = 0
			}
			decoded[slot]++
			return arenajson.Unmarshal[LineOrder](arenas[slot], data)
		}
	})
}

// orderPool decodes into an arena of a Pool, to which the arena of the slot's last order goes back.
func orderPool() orderDecoder {
	var pool arena.Pool
	var arenas [DecodeAlive]*arena.Arena
	return func(slot int, data []byte) (*LineOrder, error) {
		if arenas[slot] != nil {
			pool.Put(arenas[slot])
		}
		arenas[slot] = pool.Get()
		return arenajson.Unmarshal[LineOrder](arenas[slot], data)
	}
}
