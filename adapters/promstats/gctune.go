package promstats

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/freehold-go/freehold/gctune"
)

var (
	tuneTotal    = desc("gctune_total_bytes", "Limit of the control group or the machine that the tuner keeps.")
	tuneHeadroom = desc("gctune_headroom_bytes", "Part of the total that the tuner leaves free.")
	tuneOther    = desc("gctune_other_bytes", "Memory on the account of the total that is neither Go's nor freehold's.")
	tuneLimit    = desc("gctune_limit_bytes", "GOMEMLIMIT as the tuner has set it.")
	tuneRoom     = desc("gctune_room_bytes", "The rest of GOMEMLIMIT for the heap.")
	tuneLive     = desc("gctune_live_bytes", "Live heap of the last collection, at the tuner's last measurement.")
	tuneGOGC     = desc("gctune_gogc_percent", "GOGC in force; -1 is off.")
	tuneState    = desc("gctune_state", "Whether the room for the heap is in this state (1) or not (0).", "state")
	tunePressure = desc("gctune_pressure_percent", "Part of the last ten seconds in which work waited for memory, some tasks or all.", "tasks")
	tuneLooks    = desc("gctune_looks_total", "Measurements of the tuner, each with a decision.")
	tuneChanges  = desc("gctune_limit_changes_total", "Measurements after which GOMEMLIMIT differed from the one before.")
	tuneErrors   = desc("gctune_errors_total", "Measurements that could not read a limit.")
	tuneThrash   = desc("gctune_thrashing_looks_total", "Measurements that found the limit too near to the live heap.")

	tuneDescs = []*prometheus.Desc{tuneTotal, tuneHeadroom, tuneOther, tuneLimit, tuneRoom, tuneLive, tuneGOGC, tuneState, tunePressure,
		tuneLooks, tuneChanges, tuneErrors, tuneThrash}
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
	g.set(tuneHeadroom, s.Headroom)
	g.set(tuneOther, s.Other)
	g.set(tuneLive, s.Live)
	g.set(tuneGOGC, int64(s.GOGC))
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
