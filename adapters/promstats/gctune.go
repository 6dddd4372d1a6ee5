// SPDX-License-Identifier: Apache-2.0

package promstats

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/freehold-go/freehold/gctune"
)

var (
	tuneTotal    = desc("gctune_total_bytes", "Limit of the control group or the machine that the tuner keeps.")
	tuneHeadroom = desc("gctune_headroom_bytes", "Part of the total that the tuner leaves free.")
	tuneSqueezed = desc("gctune_squeezed_bytes", "Part of the total that the tuner leaves free besides, while work waits for memory.")
	tuneOther    = desc("gctune_other_bytes", "Memory on the account of the total that is neither Go's nor freehold's.")
	tuneLimit    = desc("gctune_limit_bytes", "GOMEMLIMIT as the tuner has set it.")
	tuneRoom     = desc("gctune_room_bytes", "The rest of GOMEMLIMIT for the heap.")
	tuneRuntime  = desc("gctune_runtime_bytes", "Go's memory beside the heap, such as stacks and tables.")
	tuneLive     = desc("gctune_live_bytes", "Live heap of the last collection, at the tuner's last measurement.")
	tuneWanted   = desc("gctune_wanted_bytes", "The total at which the room for the heap would be ample, if it is not.")
	tuneGOGC     = desc("gctune_gogc_percent", "GOGC in force; -1 is off.")
	tuneGCShare  = desc("gctune_gc_cpu_ratio", "The collector's part of CPU since the last measurement.")
	tuneState    = desc("gctune_state", "Whether the room for the heap is in this state (1) or not (0).", "state")
	tunePressure = desc("gctune_pressure_percent", "Part of the last ten seconds in which work waited for memory, some tasks or all.", "tasks")
	tuneLooks    = desc("gctune_looks_total", "Measurements of the tuner, each with a decision.")
	tuneChanges  = desc("gctune_limit_changes_total", "Measurements after which GOMEMLIMIT differed from the one before.")
	tuneErrors   = desc("gctune_errors_total", "Measurements that could not read a limit.")
	tuneThrash   = desc("gctune_thrashing_looks_total", "Measurements that found the limit too near to the live heap.")

	tuneDescs = []*prometheus.Desc{tuneTotal, tuneHeadroom, tuneSqueezed, tuneOther, tuneLimit, tuneRoom, tuneRuntime, tuneLive,
		tuneWanted, tuneGOGC, tuneGCShare, tuneState, tunePressure, tuneLooks, tuneChanges, tuneErrors, tuneThrash}
)

// tuner is silent unless a tuner of package gctune runs.
func (g values) tuner() {
	s, ok := gctune.ReadStats()
	if !ok {
		return
	}
	g.setLimit(tuneTotal, s.Total)
	g.setLimit(tuneLimit, s.Limit)
	g.setLimit(tuneRoom, s.Room)
	g.setLimit(tuneWanted, s.Wanted)
	g.set(tuneHeadroom, s.Headroom)
	g.set(tuneSqueezed, s.Squeezed)
	g.set(tuneOther, s.Other)
	g.set(tuneRuntime, s.Runtime)
	g.set(tuneLive, s.Live)
	g.set(tuneGOGC, int64(s.GOGC))
	g.to <- prometheus.MustNewConstMetric(tuneGCShare, prometheus.GaugeValue, s.GCShare)
	for _, state := range []gctune.State{gctune.Ample, gctune.Tight, gctune.Thrashing} {
		value := int64(0)
		if state == s.State {
			value = 1
		}
		g.set(tuneState, value, state.String())
	}
	if s.Pressure.Known {
		g.to <- prometheus.MustNewConstMetric(tunePressure, prometheus.GaugeValue, s.Pressure.Some, "some")
		g.to <- prometheus.MustNewConstMetric(tunePressure, prometheus.GaugeValue, s.Pressure.Full, "full")
	}
	g.count(tuneLooks, s.Looks)
	g.count(tuneChanges, s.Changes)
	g.count(tuneErrors, s.Errors)
	g.count(tuneThrash, s.Thrashing)
}
