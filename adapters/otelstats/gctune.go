// SPDX-License-Identifier: Apache-2.0

package otelstats

import (
	"go.opentelemetry.io/otel/metric"

	"github.com/freehold-go/freehold/gctune"
)

// tunerFigures are the instruments for a tuner of package gctune.
type tunerFigures struct {
	total, limit, room, headroom, squeezed, other, runtime, live, wanted metric.Int64Observable
	gogc, state, looks, changes, errors, thrashing                       metric.Int64Observable
	gcShare, pressure                                                    metric.Float64Observable
}

func newTunerFigures(m *maker) tunerFigures {
	return tunerFigures{
		total:     m.bytes("gctune.total", "Limit of the control group or the machine that the tuner keeps."),
		headroom:  m.bytes("gctune.headroom", "Part of the total that the tuner leaves free."),
		squeezed:  m.bytes("gctune.squeezed", "Part of the total that the tuner leaves free besides, while work waits for memory."),
		other:     m.bytes("gctune.other", "Memory on the account of the total that is neither Go's nor freehold's."),
		limit:     m.bytes("gctune.limit", "GOMEMLIMIT as the tuner has set it."),
		room:      m.bytes("gctune.room", "The rest of GOMEMLIMIT for the heap."),
		runtime:   m.bytes("gctune.runtime", "Go's memory beside the heap, such as stacks and tables."),
		live:      m.bytes("gctune.live", "Live heap of the last collection, at the tuner's last measurement."),
		wanted:    m.bytes("gctune.wanted", "The total at which the room for the heap would be ample, if it is not."),
		gogc:      m.gauge("gctune.gogc", "%", "GOGC in force; -1 is off."),
		gcShare:   m.ratio("gctune.gc_cpu", "1", "The collector's part of CPU since the last measurement."),
		state:     m.gauge("gctune.state", "", "Whether the room for the heap is in this state (1) or not (0)."),
		pressure:  m.ratio("gctune.pressure", "%", "Part of the last ten seconds in which work waited for memory, some tasks or all."),
		looks:     m.count("gctune.looks", "{look}", "Measurements of the tuner, each with a decision."),
		changes:   m.count("gctune.limit_changes", "{look}", "Measurements after which GOMEMLIMIT differed from the one before."),
		errors:    m.count("gctune.errors", "{look}", "Measurements that could not read a limit."),
		thrashing: m.count("gctune.thrashing_looks", "{look}", "Measurements that found the limit too near to the live heap."),
	}
}

// observe is silent unless a tuner of package gctune runs.
func (f *tunerFigures) observe(o observer) {
	s, ok := gctune.ReadStats()
	if !ok {
		return
	}
	o.setLimit(f.total, s.Total)
	o.setLimit(f.limit, s.Limit)
	o.setLimit(f.room, s.Room)
	o.setLimit(f.wanted, s.Wanted)
	o.set(f.headroom, s.Headroom)
	o.set(f.squeezed, s.Squeezed)
	o.set(f.other, s.Other)
	o.set(f.runtime, s.Runtime)
	o.set(f.live, s.Live)
	o.set(f.gogc, int64(s.GOGC))
	o.setRatio(f.gcShare, s.GCShare)
	for _, state := range []gctune.State{gctune.Ample, gctune.Tight, gctune.Thrashing} {
		value := int64(0)
		if state == s.State {
			value = 1
		}
		o.set(f.state, value, "state", state.String())
	}
	if s.Pressure.Known {
		o.setRatio(f.pressure, s.Pressure.Some, "tasks", "some")
		o.setRatio(f.pressure, s.Pressure.Full, "tasks", "full")
	}
	o.count(f.looks, s.Looks)
	o.count(f.changes, s.Changes)
	o.count(f.errors, s.Errors)
	o.count(f.thrashing, s.Thrashing)
}
