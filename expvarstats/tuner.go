// SPDX-License-Identifier: Apache-2.0

package expvarstats

import (
	"math"

	"github.com/freehold-go/freehold/gctune"
)

// Tuner has the last decision of a tuner of package gctune and its counts, as [gctune.Decision] and
// [gctune.Stats] describe them: bytes unless a field says otherwise, 0 for a limit that there is
// not.
type Tuner struct {
	Total    int64 `json:"total"`
	Limit    int64 `json:"limit"`
	Room     int64 `json:"room"`
	Headroom int64 `json:"headroom"`
	Squeezed int64 `json:"squeezed"`
	Other    int64 `json:"other"`
	Runtime  int64 `json:"runtime"`
	Live     int64 `json:"live"`
	Wanted   int64 `json:"wanted"`

	GOGC    int     `json:"gogc"`     // Percent, -1 for off.
	State   string  `json:"state"`    // "ample", "tight" or "thrashing".
	GCShare float64 `json:"gc_share"` // The collector's part of CPU, from 0 to 1.
	// Pressure is absent if the system does not measure it.
	Pressure *Pressure `json:"pressure,omitempty"`

	Looks     uint64 `json:"looks"`
	Changes   uint64 `json:"changes"`
	Errors    uint64 `json:"errors"`
	Thrashing uint64 `json:"thrashing"`
}

// Pressure has percentages of the last ten seconds in which tasks waited for memory.
type Pressure struct {
	Some float64 `json:"some"` // At least one task.
	Full float64 `json:"full"` // All tasks.
}

func readTuner() *Tuner {
	s, ok := gctune.ReadStats()
	if !ok {
		return nil
	}
	t := &Tuner{
		Total: bounded(s.Total), Limit: bounded(s.Limit), Room: bounded(s.Room), Headroom: s.Headroom, Squeezed: s.Squeezed,
		Other: s.Other, Runtime: s.Runtime, Live: s.Live, Wanted: s.Wanted, GOGC: s.GOGC, State: s.State.String(), GCShare: s.GCShare,
		Looks: s.Looks, Changes: s.Changes, Errors: s.Errors, Thrashing: s.Thrashing,
	}
	if s.Pressure.Known {
		t.Pressure = &Pressure{Some: s.Pressure.Some, Full: s.Pressure.Full}
	}
	return t
}

// bounded is a limit, 0 for none.
func bounded(limit int64) int64 {
	if limit == math.MaxInt64 {
		return 0
	}
	return limit
}
