// SPDX-License-Identifier: Apache-2.0

package workloads

// The contestants that others are compared with.
const (
	encodingJSON = "encoding/json"
	goccyName    = "goccy/go-json"
	tokensOnly   = "jsontext"

	// ArenaTyped and ArenaValue decode into arenas: into a type, and into a tree of values.
	ArenaTyped = "arenajson"
	ArenaValue = "arenajson, Value"
)
