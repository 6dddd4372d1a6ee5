// SPDX-License-Identifier: Apache-2.0

package workloads

// The contestants that others are compared with.
const (
	encodingJSON = "encoding/json"
	tokensOnly   = "jsontext"

	// LinesArena decodes each line into an arena.
	LinesArena = "arenajson, Each"

	// OrderArena resets the arena before each order, OrderBatches after 64. OrderPool takes it from a Pool.
	OrderArena   = "arenajson"
	OrderBatches = "arenajson, batches"
	OrderPool    = "arenajson, Pool"

	// ArenaValue decodes into a tree of values, arenaTypes into the types of decode/struct.
	ArenaValue = "arenajson, Value"
	arenaTypes = "arenajson, types"
)
