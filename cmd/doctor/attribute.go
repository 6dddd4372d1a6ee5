// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"math"
	"slices"

	"github.com/google/pprof/profile"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
	"github.com/freehold-go/freehold/cmd/evidence"
)

// The collector's time is charged to stacks that have one of these function names at the leaf. The
// program has no such functions.
const (
	ChargedMark  = "gc: marking (charged)"
	ChargedSweep = "gc: sweeping (charged)"
	ChargedRoots = "gc: marking from stacks and globals"
)

// CostLabel is the label of every sample in the attributed profile. Its values are the classes:
// program, allocation, zeroing, mark, sweep, and so on.
const CostLabel = "cost"

// Attributed returns the CPU profile with the collector's time charged to the stacks that cause it,
// nil without a CPU profile. Stacks of the heap profile replace the collector's samples, under the
// functions Charged…:
//
//   - half of marking by the bytes that each stack allocated, because these make collections begin, and half by the bytes in use that
//     a collection scans, because these make it long. The part of stacks and globals has a stack of its own.
//   - sweeping by the bytes allocated.
//
// With M the time of marking, a stack gets M/2·(a/A + σ/S). That is the limit of the formula for a
// site's gain in the same memory as the site gets small. All other samples stay, and the totals of
// all sample types are exactly those of the original. Without a heap profile the allocator's stacks
// in the CPU profile replace those of the heap profile, weighted by their time.
//
// The result shares stacks and functions with e.CPU, so do not write the two profiles concurrently.
func Attributed(e *evidence.Evidence) *profile.Profile {
	if e.CPU == nil {
		return nil
	}
	return attributed(newAccount(e))
}

func attributed(a *account) *profile.Profile {
	p := shallow(a.ev.CPU)
	if len(a.samples) != len(p.Sample) {
		return p // no CPU times in it
	}
	marks, sweeps := a.causes()
	var kept []*profile.Sample
	marked := labels{}
	mark, sweep := make([]int64, len(p.SampleType)), make([]int64, len(p.SampleType))
	for i, s := range p.Sample {
		c := a.samples[i].class
		to := mark
		switch {
		case (c == stack.Sweep || c == stack.Scavenge) && len(sweeps) > 0:
			to = sweep
		case !c.IsGC() || c == stack.Sweep || c == stack.Scavenge || len(marks) == 0:
			marked.label(s, c.String())
			kept = append(kept, s)
			continue
		}
		for j, v := range s.Value {
			to[j] += v
		}
	}
	p.Sample = kept
	ids := newIDs(p, marked)
	ids.charge(marks, mark)
	ids.charge(sweeps, sweep)
	if err := p.CheckValid(); err != nil {
		panic("doctor: the attributed profile is invalid: " + err.Error()) // our own bug
	}
	return p
}

// shallow is a copy of a profile with samples of its own. It shares the stacks and functions, which
// are most of a large profile.
func shallow(p *profile.Profile) *profile.Profile {
	q := &profile.Profile{
		SampleType: p.SampleType, DefaultSampleType: p.DefaultSampleType, Sample: make([]*profile.Sample, len(p.Sample)),
		Mapping: slices.Clip(p.Mapping), Location: slices.Clip(p.Location), Function: slices.Clip(p.Function), Comments: slices.Clip(p.Comments),
		DocURL: p.DocURL, DropFrames: p.DropFrames, KeepFrames: p.KeepFrames, TimeNanos: p.TimeNanos, DurationNanos: p.DurationNanos,
		PeriodType: p.PeriodType, Period: p.Period,
	}
	samples := make([]profile.Sample, len(p.Sample))
	for i, s := range p.Sample {
		samples[i] = profile.Sample{Location: s.Location, Value: s.Value, Label: s.Label, NumLabel: s.NumLabel, NumUnit: s.NumUnit}
		q.Sample[i] = &samples[i]
	}
	return q
}

// label marks a sample. Nearly all samples have no other label, and share the map.
func (n labels) label(s *profile.Sample, cost string) {
	if len(s.Label) == 0 {
		if n[cost] == nil {
			n[cost] = map[string][]string{CostLabel: {cost}}
		}
		s.Label = n[cost]
		return
	}
	labels := map[string][]string{CostLabel: {cost}}
	for k, v := range s.Label {
		if k != CostLabel {
			labels[k] = v
		}
	}
	s.Label = labels
}

// A cause is a stack that a part of the collector's time is charged to.
type cause struct {
	name   string         // function at the leaf
	frames []*stack.Frame // nil for the roots
	weight float64
}

// causes are the stacks that marking and sweeping are charged to, with their weights.
func (a *account) causes() (marks, sweeps []cause) {
	for _, s := range a.sites {
		allocated, scanned := a.weights(s)
		traces := s.traces
		if len(traces) == 0 {
			traces = []trace{{frames: s.frames}}
		}
		made, kept := parts(traces, traceAlloc), parts(traces, traceInuse)
		for i, t := range traces {
			alloc, inuse := allocated*made[i], scanned*kept[i]
			if alloc+inuse > 0 {
				marks = append(marks, cause{ChargedMark, t.frames, alloc + inuse})
			}
			if alloc > 0 {
				sweeps = append(sweeps, cause{ChargedSweep, t.frames, alloc})
			}
		}
	}
	if roots := a.rootWeight(); roots > 0 && len(marks) > 0 {
		marks = append(marks, cause{ChargedRoots, nil, roots})
	}
	return marks, sweeps
}

// weights are a site's parts of the bytes allocated and of the bytes that a collection scans.
func (a *account) weights(s *site) (allocated, scanned float64) {
	switch all := a.cpu[stack.Alloc] + a.cpu[stack.Zero]; {
	case a.allocBytes > 0:
		allocated = s.allocBytes / a.allocBytes
	case all > 0:
		allocated = s.cpuNow() / all
	}
	if a.scan > 0 {
		scanned = s.inuseBytes * s.scan / a.scan
	}
	return allocated, scanned
}

// rootWeight is the part of stacks and globals in the bytes that a collection scans.
func (a *account) rootWeight() float64 {
	if a.scan == 0 {
		return 0
	}
	return a.roots / a.scan
}

// parts are the shares of a site's stacks in a figure of the site. They are equal if the profile
// does not have the figure.
func parts(traces []trace, of func(trace) float64) []float64 {
	list, sum := make([]float64, len(traces)), 0.0
	for i, t := range traces {
		list[i] = of(t)
		sum += list[i]
	}
	for i := range list {
		if sum > 0 {
			list[i] /= sum
		} else {
			list[i] = 1 / float64(len(list))
		}
	}
	return list
}

func traceAlloc(t trace) float64 { return t.allocBytes }
func traceInuse(t trace) float64 { return t.inuseBytes }

// split divides a total by weights, so that the parts add up to the total. Each cause gets its
// share, rounded down. The rest goes to the causes with the largest fractions.
func split(total int64, causes []cause) []int64 {
	sum := 0.0
	for _, c := range causes {
		sum += c.weight
	}
	parts := make([]int64, len(causes))
	if sum <= 0 || total <= 0 || math.IsInf(sum, 0) {
		if len(parts) > 0 {
			parts[0] = total
		}
		return parts
	}
	left := total
	fraction := make([]float64, len(causes))
	order := make([]int, len(causes))
	for i, c := range causes {
		exact := float64(total) * (c.weight / sum)
		if parts[i] = left; exact < float64(left) {
			parts[i] = int64(exact)
		}
		fraction[i] = exact - float64(parts[i])
		left -= parts[i]
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(fraction[j], fraction[i]) })
	for i := 0; left > 0; i++ {
		parts[order[i%len(order)]]++
		left--
	}
	return parts
}

// ids makes locations of frames in a profile.
type ids struct {
	p         *profile.Profile
	functions map[string]*profile.Function
	locations map[*stack.Frame]*profile.Location
	location  uint64
	function  uint64
	virtual   map[string]*stack.Frame
	marked    labels
}

// labels are the labels of samples by cost.
type labels map[string]map[string][]string

func newIDs(p *profile.Profile, marked labels) *ids {
	n := &ids{p: p, marked: marked, functions: map[string]*profile.Function{}, locations: map[*stack.Frame]*profile.Location{}, virtual: map[string]*stack.Frame{}}
	for _, f := range p.Function {
		n.function = max(n.function, f.ID)
		n.functions[f.Name+"\x00"+f.Filename] = f
	}
	for _, l := range p.Location {
		n.location = max(n.location, l.ID)
	}
	return n
}

func (n *ids) at(f *stack.Frame) *profile.Location {
	if l := n.locations[f]; l != nil {
		return l
	}
	key := f.Func + "\x00" + f.File
	fn := n.functions[key]
	if fn == nil {
		n.function++
		fn = &profile.Function{ID: n.function, Name: f.Func, SystemName: f.Func, Filename: f.File}
		n.functions[key] = fn
		n.p.Function = append(n.p.Function, fn)
	}
	n.location++
	l := &profile.Location{ID: n.location, Line: []profile.Line{{Function: fn, Line: int64(f.Line)}}}
	if len(n.p.Mapping) > 0 {
		l.Mapping = n.p.Mapping[0]
	}
	n.locations[f] = l
	n.p.Location = append(n.p.Location, l)
	return l
}

// charge adds samples for the causes, which share the totals of each sample type.
func (n *ids) charge(causes []cause, totals []int64) {
	if len(causes) == 0 {
		return
	}
	parts := make([][]int64, len(totals))
	for j, total := range totals {
		parts[j] = split(total, causes)
	}
	for i, c := range causes {
		s := &profile.Sample{Value: make([]int64, len(totals))}
		any := int64(0)
		for j := range totals {
			s.Value[j] = parts[j][i]
			any |= s.Value[j]
		}
		if any == 0 {
			continue
		}
		leaf := n.virtual[c.name]
		if leaf == nil {
			leaf = &stack.Frame{Func: c.name}
			n.virtual[c.name] = leaf
		}
		s.Location = append(s.Location, n.at(leaf))
		for _, f := range c.frames {
			s.Location = append(s.Location, n.at(f))
		}
		cost := stack.Mark
		if c.name == ChargedSweep {
			cost = stack.Sweep
		}
		n.marked.label(s, cost.String())
		n.p.Sample = append(n.p.Sample, s)
	}
}
