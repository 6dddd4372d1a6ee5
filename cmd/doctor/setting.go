// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"math"
	"strings"

	"github.com/freehold-go/freehold/cmd/terminal"
)

// A Setting is a value of GOGC or of the memory limit, with its gain and its memory in this
// program.
type Setting struct {
	// GOGC is in percent, -1 for off, and MemoryLimit is in bytes, 0 for none.
	GOGC        float64 `json:"gogc"`
	MemoryLimit float64 `json:"memory_limit"`
	// Gain is the CPU time that it would save. SameMemory is 0: all of the gain is paid for with
	// memory.
	Gain Gain `json:"gain"`
	// CyclesLeft is the part of collections that would be left.
	CyclesLeft float64 `json:"cycles_left"`
	// MoreBytes is the growth of the heap's peak. If the live heap is not known it is 0, and
	// MoreHeaps is that growth in multiples of the live heap.
	MoreBytes float64 `json:"more_memory_bytes"`
	MoreHeaps float64 `json:"more_live_heaps,omitempty"`
	// Proposed marks the setting that wins most for its memory, if any is worth its memory.
	Proposed bool `json:"proposed,omitempty"`
}

// Environment are the variables that set it.
func (s Setting) Environment() []string {
	var env []string
	switch {
	case s.GOGC < 0:
		env = append(env, "GOGC=off")
	case s.GOGC > 0:
		env = append(env, fmt.Sprintf("GOGC=%.0f", s.GOGC))
	}
	if s.MemoryLimit > 0 {
		env = append(env, "GOMEMLIMIT="+limitText(s.MemoryLimit))
	}
	return env
}

// Name is how a table names it: the variables, or else by how much the memory limit rises.
func (s Setting) Name() string {
	if env := s.Environment(); len(env) > 0 {
		return strings.Join(env, " ")
	}
	return "limit + " + limitText(roundUp(s.MoreBytes, 1<<20))
}

// Memory is the growth of the heap's peak, for a table.
func (s Setting) Memory() string {
	if s.MoreHeaps > 0 {
		return fmt.Sprintf("%.0f × live heap", s.MoreHeaps)
	}
	return terminal.Bytes(s.MoreBytes)
}

// limitText is bytes as GOMEMLIMIT is written.
func limitText(v float64) string { return fmt.Sprintf("%.0fMiB", v/(1<<20)) }

func roundUp(v, unit float64) float64 { return math.Ceil(v/unit) * unit }
