// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
	"github.com/freehold-go/freehold/cmd/evidence"
)

// Diagnose reports the cost of a program's memory management, and the changes that win it back. If
// ctx ends, so do the compilers that read the program's source, and the report does without it.
func Diagnose(ctx context.Context, e *evidence.Evidence) *Report {
	a := newAccount(e)
	a.src.ctx = ctx
	return diagnose(a)
}

func diagnose(a *account) *Report {
	r := &Report{
		Version: ReportVersion, Source: a.ev.Source, Missing: a.missing(), Warnings: a.warnings(), Findings: []Finding{}, Classes: []ClassShare{},
		CPUSeconds: a.total / 1e9, WindowSeconds: a.window.Seconds(), Heap: a.heapState(),
	}
	r.Allocators, r.CPUSecondsAssumed = a.allocators(), a.ev.PeriodAssumed
	for c, ns := range a.cpu {
		share := a.share(ns)
		switch c := stack.Class(c); {
		case c.IsGC():
			r.GCShare += share
		case c == stack.Alloc || c == stack.Zero:
			r.AllocShare += share
		}
		if share > 0 {
			r.Classes = append(r.Classes, ClassShare{Name: stack.Class(c).String(), Share: share})
		}
	}
	r.Benchmarks = benchmarks(a.ev)
	if r.PerOperation = a.perOperation(r.GCShare, r.AllocShare); r.PerOperation == nil && a.ev.Per == (evidence.Per{}) {
		r.PerOperation = a.perBenchmark(r.Benchmarks, r.GCShare, r.AllocShare)
	}
	slices.SortStableFunc(r.Classes, func(c, d ClassShare) int { return cmp.Compare(d.Share, c.Share) })
	for _, known := range recognisers {
		// The shares of an idle program are too small to matter, except that of its profiler. Those of a
		// profile that tells nothing are nonsense.
		if a.unknown == "" && (!a.idle() || known.id == profilerID) {
			r.add(known, a)
		}
	}
	r.Settings = a.settings()
	if r.WinnableShare = a.winnable(r.Findings); r.WinnableShare < littleWon {
		r.addNotGC(a)
	}
	a.credit(r.Findings)
	slices.SortStableFunc(r.Findings, rank)
	r.Confidence = a.confidence()
	r.divide(a)
	r.Verdict, r.First = a.verdict(r), a.advise(r)
	r.Missing = append(append(r.Missing, a.missingSource()...), a.missingBenchmark(r.Benchmarks)...) // they change no figure, so they do not count for the confidence
	return r
}

// add runs a recogniser and adds its findings. It drops a finding whose gain is less than its
// error: with few samples there would be many of them.
func (r *Report) add(known recogniser, a *account) {
	for _, f := range known.find(a) {
		f.Gain = f.Gain.feasible()
		if best := f.Gain.Best(); f.Severity == "" && best > 0 && best < f.Gain.Error { // warnings have a severity already
			continue
		}
		for _, s := range f.sites {
			if s.claimed == "" {
				s.claimed = known.id
			}
		}
		f.ID, f.Title, f.Remedy.Doc = known.id, cmp.Or(f.Title, known.title), docBase+known.id+".md"
		if f.Severity == "" {
			f.Severity = severityOf(f.Gain)
		}
		if f.Check == nil {
			f.Check = []string{}
		}
		r.Findings = append(r.Findings, f)
	}
}

// addNotGC adds what takes the time where all changes together win little. Findings with a small
// gain are information then, and propose nothing. Those without a gain stay: they are about mistakes.
func (r *Report) addNotGC(a *account) {
	n := len(r.Findings)
	r.add(notGC, a)
	if n == len(r.Findings) {
		return
	}
	for i := range r.Findings[:n] {
		if f := &r.Findings[i]; f.Gain.Best() > 0 && !f.setting {
			f.Severity, f.Check = SeverityInfo, []string{}
			if f.Remedy.Snippet != "" {
				f.Remedy = Remedy{Text: "Leave it: all changes of memory together save too little.", Doc: f.Remedy.Doc}
			}
		}
	}
}

// credit computes the part of each gain that counts for the finding. There are two ways to save the
// time for marking long-lived data: allocate less, so that it is marked less often, or take the
// data away. Both gains contain most of that time. It counts for the finding about the data,
// because the data stays and is marked whatever else the program allocates.
func (a *account) credit(findings []Finding) {
	kept := 0.0
	for _, f := range findings {
		if f.ID == longLivedID && a.scan > 0 {
			kept += a.sum(f.sites).scanned / a.scan
		}
	}
	for i := range findings {
		f := &findings[i]
		f.own = f.Gain.Best()
		if f.ID != longLivedID && len(f.sites) > 0 && a.allocBytes > 0 {
			f.own = max(f.own-a.share(a.mark)*min(kept, 1)*min(a.sum(f.sites).allocBytes/a.allocBytes, 1), 0)
		}
	}
}

// rank sorts by gain, the largest first.
func rank(f, g Finding) int { return cmp.Compare(g.own, f.own) }

// winnable is the gain of all findings together. Findings about sites count as one change of all
// their sites, so that the bytes of a site with two findings count once. If a finding gains more
// than its sites' memory, as a faster decoder does, the difference is added. A setting's gain
// overlaps with the gain of every site, so the larger of the two counts.
func (a *account) winnable(findings []Finding) float64 {
	var sites []*site
	seen := map[*site]bool{}
	var beyond, rest, alone, settings, most float64
	for _, f := range findings {
		best := f.Gain.Best()
		if f.Severity == SeverityInfo {
			continue // Others would have to carry it out.
		}
		most = max(most, best)
		switch {
		case best <= 0:
			continue
		case f.setting:
			settings = max(settings, best)
			continue
		case len(f.sites) == 0:
			alone += best
			continue
		}
		// Sites that are not counted yet.
		var fresh []*site
		for _, s := range f.sites {
			if !seen[s] {
				seen[s] = true
				fresh = append(fresh, s)
			}
		}
		if len(fresh) == 0 {
			continue
		}
		sites = append(sites, fresh...)
		memory := a.gain(f.sites, 0).Best()
		part := total(fresh, a.cost) / max(total(f.sites, a.cost), 1)
		beyond += max(best-memory, 0) * part
		rest += max(memory-best, 0) * part
	}
	together := 0.0
	if len(sites) > 0 {
		together = max(a.gain(sites, 0).Best()-rest, 0) + beyond
	}
	// The second change can win a part only of the CPU time that is left after the first.
	return max(most, 1-(1-min(max(together, settings), 1))*(1-min(alone, 1)))
}

// divide adds the labels, and divides the CPU time by the chosen label.
func (r *Report) divide(a *account) {
	r.LabelKeys = a.labelKeys()
	l := a.splitByLabel()
	if l == nil {
		return
	}
	r.Labels = l.split
	if l.split.Restricted {
		r.Findings = l.restrict(r.Findings)
		slices.SortStableFunc(r.Findings, rank)
	}
}

func (a *account) heapState() HeapState {
	h := HeapState{LiveBytes: a.live, ScanBytes: a.scan, GOGC: a.pace.gogc, GOGCIs: a.pace.how, MemoryLimit: a.pace.limit, Limited: a.pace.limited, CyclesEstimated: a.cyclesEstimated}
	if _, goal, ok := a.liveAndGoal(); ok && goal < math.MaxInt64/2 {
		h.GoalBytes = goal
	}
	if seconds := a.window.Seconds(); seconds > 0 {
		h.AllocBytesPerSecond = a.allocBytes / seconds
		h.CyclesPerSecond = a.cycles / seconds
	}
	return h
}

// recognisers is the table, specific patterns before general ones.
var recognisers = []recogniser{
	{tooOftenID, "The collector runs too often", findGCTooOften},
	{limitID, "The memory limit leaves the collector little room", findLimitThrash},
	{profilerID, "The memory profiler samples too much", findProfilerCost},
	{"too-many-procs", "There are more Ps than processors", findTooManyProcs},
	{"json-reflection", "JSON is encoded or decoded by reflection", findJSON},
	{"protobuf-decoding", "Protocol Buffers are decoded to the Go heap", findProto},
	{"repeated-setup", "Reusable values are created repeatedly", findRepeatedSetup},
	{"finalizers", "Many objects have finalizers", findFinalizers},
	{"large-stacks", "Stacks grow, or are read, too often", findLargeStacks},
	{"string-building", "Strings are made, and then copied or dropped", findStringBuilding},
	{"growing-map", "Maps grow while they are filled", findGrowingMap},
	{"growing-slice", "Slices grow without capacity", findGrowingSlice},
	{"interface-boxing", "Conversions to interfaces allocate", findBoxing},
	{"field-order", "The order of a struct's fields wastes memory", findFieldOrder},
	{"large-buffers", "Large buffers are allocated for each use", findLargeBuffers},
	{"recycled-type", "Objects of one type are allocated and dropped", findRecycledType},
	{"short-lived-objects", "Many small objects that die together", findShortLived},
	{hotPathID, "A place allocates much that is dropped soon", findHotPath},
	{longLivedID, "Each collection reads long-lived data", findLongLived},
	{"pointer-free-ballast", "Data without pointers keeps collections rare", findBallast},
}

// notGC makes the report's finding if no other recogniser finds anything.
var notGC = recogniser{"not-gc", "The cost is elsewhere", findNotGC}
