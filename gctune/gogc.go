// SPDX-License-Identifier: Apache-2.0

package gctune

import "math"

// gogc sets GOGC by the policy, unless the program or the environment has chosen a value.
type gogc struct {
	why     string // why the tuner leaves GOGC alone, "" if it sets it
	before  int    // the value before the first change
	ours    int    // the value set last; meaningful if applied
	applied bool
}

// defaultGOGC is in force if neither the program nor the environment has chosen a value.
const defaultGOGC = 100

// leastGOGC is what Options.MaxGrowth leaves: with less the collector would run all the time.
const leastGOGC = 25

// policies are the share of its room that the heap may grow to, and the bounds of GOGC. The heap of
// a small program may grow to floor bytes, as long as that is within the share, because each
// collection has a fixed cost.
var policies = [...]struct {
	share     float64
	low, high int
	floor     int64
}{
	Balanced:   {share: 0.5, low: 100, high: 400, floor: 32 << 20},
	Throughput: {share: 0.8, low: 100, high: 800, floor: 64 << 20},
	Small:      {share: 0, low: 50, high: 50},
}

// init finds out whether the tuner may set GOGC. inForce is the present value.
func (g *gogc) init(o *Options, inForce int, getenv func(string) (string, bool)) {
	g.before, g.why = inForce, reasonToKeep(o, inForce, getenv)
}

// reasonToKeep says why a tuner must leave GOGC alone, "" if it may set it. own is the program's value.
func reasonToKeep(o *Options, own int, getenv func(string) (string, bool)) string {
	_, set := getenv("GOGC")
	switch {
	case o.KeepGOGC:
		return "Options.KeepGOGC says so"
	case set:
		return "the environment sets it"
	case own != defaultGOGC:
		return "the program has set it"
	}
	return ""
}

// setGOGC reports whether the tuner has set the GOGC in force. The program's own is defaultGOGC then.
func (s *Stats) setGOGC(inForce int) bool {
	return s.Looks > 0 && s.Off == "" && s.GOGCWhy == "" && s.GOGC == inForce
}

// decide returns the value for GOGC. If it is not the policy's, why gives the reason.
func (g *gogc) decide(d *Decision, now goState) (percent int, why string) {
	expected := g.before
	if g.applied {
		expected = g.ours
	}
	if g.why == "" && now.gogc != expected {
		g.why = "the program has set it since"
	}
	if g.why != "" {
		return now.gogc, g.why
	}
	p := policies[d.Policy]
	percent = p.low // if the limit of memory is unknown
	if d.Room != none {
		room := int64(p.share * float64(d.Room))
		percent = max(p.low, min(percentFor(room, d.Live, now.roots), p.high), percentFor(min(room, p.floor), d.Live, now.roots))
	}
	if d.MaxGrowth > 0 {
		goal := d.Live + min(d.MaxGrowth, none-d.Live)
		percent = min(percent, max(leastGOGC, percentFor(goal, d.Live, now.roots)))
	}
	// Each change stops the world for some microseconds; a tenth more or less does not matter.
	if abs(int64(percent-expected))*10 <= int64(expected) {
		return expected, ""
	}
	return percent, ""
}

// percentFor returns the GOGC with which the heap grows to goal bytes. From Go's guide to the
// collector, and the runtime's gcController:
//
//	goal = max(live + (live + roots)·GOGC/100, 4 MiB·GOGC/100)
func percentFor(goal, live, roots int64) int {
	const least = 4 << 20
	byLeast := 100 * float64(goal) / least
	byLive := 100 * float64(goal-live) / float64(max(1, live+roots))
	return int(max(0, min(byLive, byLeast, math.MaxInt32)))
}

// set puts the value in force, unless the program has changed GOGC meanwhile.
func (g *gogc) set(percent int, setGC func(int) int) {
	if g.why != "" || g.applied && percent == g.ours || !g.applied && percent == g.before {
		return
	}
	g.ours, g.applied = percent, true
	setGC(percent)
}

// restore sets the value from before the first change, unless the program has changed GOGC since.
func (g *gogc) restore(setGC func(int) int, inForce int) {
	if g.applied && inForce == g.ours {
		setGC(g.before)
	}
}
