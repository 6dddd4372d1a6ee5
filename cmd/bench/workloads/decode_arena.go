// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"fmt"
	"reflect"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/arenajson"

	"github.com/freehold-go/freehold/cmd/bench"
)

// arenaContestants are those of freehold.
func arenaContestants(typed bool) []bench.Contestant {
	all := []bench.Contestant{
		{Name: "arenajson", Note: "into arenas that are reset; strings are checked and copied", Prepare: decodeArena(typed, unmarshalInto)},
		{Name: "arenajson, nil", Note: "to the Go heap, without an arena", Prepare: Decode(func(data []byte, v any) error {
			return arenajson.UnmarshalInto(nil, data, v)
		}, typed)},
	}
	if !typed {
		all = append(all, bench.Contestant{Name: arenaTypes, Note: "the same into structs, for comparison with the tree of values", Prepare: decodeArena(true, unmarshalInto)},
			bench.Contestant{Name: ArenaValue, Note: "a tree of values in arenas that are reset", Prepare: decodeArena(typed, parseInto)})
	}
	return all
}

func unmarshalInto(a *arena.Arena, data []byte, target any) (any, error) {
	return target, arenajson.UnmarshalInto(a, data, target)
}

func parseInto(a *arena.Arena, data []byte, _ any) (any, error) {
	return arenajson.Parse(a, data)
}

// decodeArena is Decode with an arena for each of the documents that are alive. The target lies in the arena, too.
func decodeArena(typed bool, decode func(a *arena.Arena, data []byte, target any) (any, error)) func(r *bench.Run) func() uint64 {
	return func(r *bench.Run) func() uint64 {
		data, newTarget, err := decodeInput(r.Input, typed)
		if err != nil {
			r.Fail(err)
			return func() uint64 { return 0 }
		}
		target := reflect.TypeOf(newTarget()).Elem()
		var arenas [DecodeAlive]*arena.Arena
		for i := range arenas {
			arenas[i] = arena.NewArena()
		}
		first := true
		return func() (sum uint64) {
			var alive [DecodeAlive]any
			for i, a := range arenas {
				a.Reset(arena.Keep)
				v, err := decode(a, data, arena.NewOf(a, target))
				if err != nil {
					r.Fail(fmt.Errorf("bench: decode: %w", err))
					return 0
				}
				alive[i] = v
			}
			r.Peak()
			if !first {
				return uint64(len(data))
			}
			first = false
			if v, ok := alive[0].(arenajson.Value); ok {
				return decodedSum(v.Any())
			}
			return decodedSum(alive[0])
		}
	}
}
