package bench

import (
	"fmt"
	"math"

	"github.com/freehold-go/freehold/cmd/terminal"
)

// addObjectsBars adds what the arenas must reach in objects and objects/fresh.
func addObjectsBars() {
	const million = 1_000_000
	AddBar(Bar{"objects, 1M reused, " + arenaOf + " by the slab", 1.7, TimeRatio("objects", million, arenaOf, slabName)})
	AddBar(Bar{
		"objects, 1M reused, " + arenaOf + " by 1/8 of the Go heap or 1.3 × the slab, whichever is more", 1,
		mostRatio("objects", million, arenaOf, part{0.125, heapName}, part{1.3, slabName}),
	})
	for _, n := range []int{1000, 10_000} {
		name := fmt.Sprintf("objects, %s reused, %s by the Go heap", countText(n), arenaOf)
		AddBar(Bar{name, 0.125, TimeRatio("objects", n, arenaOf, heapName)})
	}
	AddBar(Bar{"objects, 1M reset, " + arenaNoReuse + " by the Go heap", 0.6, TimeRatio("objects", million, arenaNoReuse, heapName)})
	AddBar(Bar{"objects, made and freed, " + arenaNoReuse + " by the Go heap, the worst N", 1, worstRatio("objects/fresh", arenaNoReuse, heapName)})
	AddBar(Bar{"objects, made and freed, " + arenaOf + " by the Go heap, the worst N", 1, worstRatio("objects/fresh", arenaOf, heapName)})
	AddBar(Bar{
		"objects, 1M made and freed, " + arenaOf + " by 1/8 of the Go heap or 1.5 × a slab on huge pages, whichever is more", 1,
		mostRatio("objects/fresh", million, arenaOf, part{0.125, heapName}, part{1.5, hugeSlabName}),
	})
}

// A part is a share of a contestant's time.
type part struct {
	share      float64
	contestant string
}

// mostRatio is the Value of a bar on the CPU time of a contestant as a part of the largest of some limits. A limit
// whose contestant cannot run on this machine does not count.
func mostRatio(workload string, n int, contestant string, limits ...part) func(Rows) (float64, string, bool) {
	return func(rows Rows) (float64, string, bool) {
		r := rows.Find(workload, n, contestant)
		most, from := 0.0, part{}
		for _, limit := range limits {
			if base := rows.Find(workload, n, limit.contestant); base != nil && limit.share*base.NsOp > most {
				most, from = limit.share*base.NsOp, limit
			}
		}
		if r == nil || most == 0 {
			return 0, "", false
		}
		detail := fmt.Sprintf("%s: %s, %s × %s: %s", contestant, terminal.Nanoseconds(r.NsOp), terminal.Significant(from.share), from.contestant, terminal.Nanoseconds(most))
		return r.NsOp / most, detail, true
	}
}

// worstRatio is the Value of a bar on the CPU time of one contestant as a part of another's, at the size where it is
// largest.
func worstRatio(workload, contestant, base string) func(Rows) (float64, string, bool) {
	return func(rows Rows) (worst float64, detail string, ok bool) {
		for _, r := range rows {
			if r.Workload != workload || r.Contestant != contestant {
				continue
			}
			if ratio, text, found := TimeRatio(workload, r.N, contestant, base)(rows); found && ratio > worst {
				worst, detail, ok = ratio, countText(r.N)+", "+text, true
			}
		}
		return worst, detail, ok
	}
}

// cycleRatio is the Value of a bar on the collector's cycles an operation, as a part of another contestant's.
func cycleRatio(workload, input, contestant, base string) func(Rows) (float64, string, bool) {
	return func(rows Rows) (float64, string, bool) {
		a, b := rows.FindInput(workload, input, contestant), rows.FindInput(workload, input, base)
		if a == nil || b == nil || a.Ops == 0 || b.Ops == 0 || b.GCCycles == 0 {
			return 0, "", false
		}
		detail := fmt.Sprintf("%s: %s cycles in %s operations, %s: %s in %s",
			contestant, terminal.Count(a.GCCycles), terminal.Count(math.Round(a.Ops)), base, terminal.Count(b.GCCycles), terminal.Count(math.Round(b.Ops)))
		return a.GCCycles / a.Ops * b.Ops / b.GCCycles, detail, true
	}
}
