// SPDX-License-Identifier: Apache-2.0

package workloads

// The contestants that others are compared with.
const (
	encodingJSON = "encoding/json"
	goccyName    = "goccy/go-json"
	tokensOnly   = "jsontext"

	// ArenaValue decodes into a tree of values, arenaTypes into the types of decode/struct.
	ArenaValue = "arenajson, Value"
	arenaTypes = "arenajson, types"
)
