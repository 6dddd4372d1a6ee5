// SPDX-License-Identifier: Apache-2.0

package gctune

import (
	"fmt"
	"log/slog"
	"math"
	"strings"
)

// State compares the room for the heap with the live heap.
type State int

const (
	// Ample is a room of at least 1.5 times the live heap, or no limit.
	Ample State = iota
	// Tight is a smaller room: collections follow one another closely.
	Tight
	// Thrashing is a room below 1.3 times the live heap, or a collector whose share of CPU the
	// runtime had to limit since the last measurement: collections take most of the work.
	Thrashing
)

// String returns ample, tight or thrashing.
func (s State) String() string {
	switch s {
	case Tight:
		return "tight"
	case Thrashing:
		return "thrashing"
	}
	return "ample"
}

const (
	tightBelow  = 1.5
	thrashBelow = 1.3
	// A state ends a tenth above its threshold, so that it does not change at every measurement.
	leaveAbove = 0.1

	// The runtime's limiter stays below the limit by this share of it, so Room is smaller by it,
	// too.
	runtimeHeadroom = 0.03
)

// next returns the state that follows s if the heap may grow to ratio times the live heap.
func (s State) next(ratio float64) State {
	tight, thrash := tightBelow, thrashBelow
	if s >= Tight {
		tight += leaveAbove
	}
	if s >= Thrashing {
		thrash += leaveAbove
	}
	switch {
	case ratio < thrash:
		return Thrashing
	case ratio < tight:
		return Tight
	}
	return Ample
}

// A Decision is the division of the memory that the program may use, with its reasons. Sizes are in
// bytes.
type Decision struct {
	// Source names the limit that counts, with the file that holds it. Total is that limit. Without
	// a limit they are "" and math.MaxInt64.
	Source string
	Total  int64

	// Headroom stays free, as Options.Ratio and Reserve demand. Squeezed is a part of it that is
	// added while work waits for memory.
	Headroom, Squeezed int64

	// OffHeap is the memory of freehold's packages. Other is all other memory outside Go's that
	// counts against the same limit: C libraries, mappings, the kernel's memory for the process,
	// other processes of the group.
	OffHeap, Other int64

	// User is the limit that GOMEMLIMIT or debug.SetMemoryLimit set for Go and off-heap memory
	// together, math.MaxInt64 if none. The tuner never exceeds it.
	User int64

	// Limit is the value of GOMEMLIMIT, math.MaxInt64 for none. If Off is not "", it is the value
	// that the tuner would set.
	Limit int64

	// Policy and MaxGrowth, as in Options, determine GOGC; -1 is off. If the tuner left GOGC alone,
	// GOGCWhy gives the reason; otherwise it is "".
	Policy    Policy
	MaxGrowth int64
	GOGC      int
	GOGCWhy   string

	// Live is the live heap of the last collection. Runtime is Go's memory beside the heap (stacks,
	// tables). Room is the rest of Limit for the heap: Limit less Runtime, less the 3 % by which
	// the collector stays below a limit. Without a limit Room is math.MaxInt64.
	Live, Runtime, Room int64

	// State compares Room with Live. If State is not Ample, Wanted is the Total at which it would
	// be.
	State  State
	Wanted int64

	// GCShare is the collector's share of CPU since the last measurement, by the runtime's own
	// clock, without its work on idle processors. On a busy machine it is too high.
	GCShare float64

	// Pressure is that of the control group or the machine whose limit counts.
	Pressure Pressure

	// Off says why the tuner sets nothing: the variable GCTUNE, a mode of freehold, or a dry run.
	// It is "" if the tuner sets the values.
	Off string
}

// Ratio is Room divided by Live, +Inf if either is unknown.
func (d *Decision) Ratio() float64 {
	if d.Live <= 0 || d.Room == none {
		return math.Inf(1)
	}
	return float64(d.Room) / float64(d.Live)
}

// String explains the decision in one paragraph.
func (d Decision) String() string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	if d.Off != "" {
		say("Nothing is set (%s). ", d.Off)
	}
	d.explainLimit(say)
	if d.Limit != none && d.Live > 0 {
		say(" The last collection found %s live; beside the heap Go takes %s, which leaves the heap room for %.1f times the live heap: %s.",
			size(d.Live), size(d.Runtime), d.Ratio(), d.State)
	}
	if d.State != Ample {
		d.advise(say)
	}
	d.explainGOGC(say)
	if d.Pressure.Some > 0 {
		say(" Work waited for memory in %.1f %% of the last ten seconds.", d.Pressure.Some)
	}
	return b.String()
}

func (d *Decision) explainLimit(say func(string, ...any)) {
	switch {
	case d.Source == "" && d.User == none:
		say("There is no visible limit on memory, so GOMEMLIMIT stays off.")
		return
	case d.Source == "":
		say("There is no visible limit on memory except the program's own GOMEMLIMIT of %s.", size(d.User))
	default:
		say("%s allows %s. Of that %s stay free as headroom, %s are held off the heap and %s by other memory outside Go's runtime.",
			capital(d.Source), size(d.Total), size(d.Headroom), size(d.OffHeap), size(d.Other))
		if d.Squeezed > 0 {
			say(" The headroom is %s larger than usual, because work waits for memory.", size(d.Squeezed))
		}
		if d.User != none {
			say(" The program's own GOMEMLIMIT of %s for Go and off-heap memory together counts if it is less.", size(d.User))
		}
	}
	if d.Off != "" {
		say(" GOMEMLIMIT would be %s.", size(d.Limit))
	} else {
		say(" GOMEMLIMIT is %s.", size(d.Limit))
	}
	// The limit moves in steps of 1/64, so that much more is no sign of anything.
	left := d.Total - min(d.Total, d.Headroom) - d.Other
	if d.Source != "" && d.Limit > left+left/64-d.OffHeap {
		say(" That is more than is left, because the collector could not work with less: the headroom shrinks instead.")
	}
}

func (d *Decision) explainGOGC(say func(string, ...any)) {
	gogc := fmt.Sprint(d.GOGC)
	if d.GOGC < 0 {
		gogc = "off"
	}
	if d.GOGCWhy != "" {
		say(" GOGC stays %s: %s.", gogc, d.GOGCWhy)
		return
	}
	bound := ""
	if d.MaxGrowth > 0 {
		bound = fmt.Sprintf(", with growth of at most %s between collections,", size(d.MaxGrowth))
	}
	verb := "makes"
	if d.Off != "" {
		verb = "would make"
	}
	say(" Policy %s%s %s GOGC %s.", d.Policy, bound, verb, gogc)
}

// advise names the changes that would help.
func (d *Decision) advise(say func(string, ...any)) {
	if d.State == Thrashing {
		say(" The collector runs again and again, and frees little each time.")
	} else {
		say(" Collections follow one another closely.")
	}
	if d.Source != "" && d.Wanted > d.Total {
		say(" It would have room with a limit of %s, or with about %s less live or off the heap.", size(d.Wanted), size(d.lack()))
	} else if d.lack() > 0 {
		say(" It would have room with a GOMEMLIMIT higher by %s, or with so much less live or off the heap.", size(d.lack()))
	}
}

// lack is the difference between the room and tightBelow times the live heap.
func (d *Decision) lack() int64 {
	if d.Live <= 0 || d.Room == none {
		return 0
	}
	return max(0, int64(tightBelow*float64(d.Live))-d.Room)
}

// LogValue returns the numbers as separate attributes, for structured logs.
func (d Decision) LogValue() slog.Value {
	attrs := []slog.Attr{
		slog.String("source", d.Source), slog.Int64("total", d.Total), slog.Int64("headroom", d.Headroom),
		slog.Int64("off_heap", d.OffHeap), slog.Int64("other", d.Other), slog.Int64("limit", d.Limit), slog.Int("gogc", d.GOGC),
		slog.String("policy", d.Policy.String()), slog.Int64("live", d.Live), slog.Int64("room", d.Room), slog.String("state", d.State.String()),
	}
	if d.Off != "" {
		attrs = append(attrs, slog.String("off", d.Off))
	}
	return slog.GroupValue(attrs...)
}

// size formats bytes for people.
func size(n int64) string {
	switch {
	case n == none:
		return "no limit"
	case -1<<10 < n && n < 1<<10:
		return fmt.Sprintf("%d B", n)
	}
	f, unit := float64(n)/(1<<10), 0
	for math.Abs(f) >= 1<<10 {
		f, unit = f/(1<<10), unit+1
	}
	if math.Abs(f) >= 100 || f == math.Trunc(f) {
		return fmt.Sprintf("%.0f %ciB", f, "KMGTPE"[unit])
	}
	return fmt.Sprintf("%.1f %ciB", f, "KMGTPE"[unit])
}

// capital makes the first letter upper case.
func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
