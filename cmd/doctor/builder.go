// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"slices"

	"github.com/google/pprof/profile"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
	"github.com/freehold-go/freehold/cmd/evidence"
)

// siteKey identifies a site.
type siteKey struct{ at, owner *stack.Frame }

// builder makes an account.
type builder struct {
	*account
	byKey   map[siteKey]*site
	weight  map[*site]float64    // bytes behind site.frames
	scanned map[*site][2]float64 // allocator CPU for memory without and with pointers
	touched map[siteKey]float64  // CPU of lines themselves
	inuse   float64              // bytes in use of all sites
}

func (b *builder) addCPU() {
	if b.ev.CPU == nil {
		return
	}
	i := evidence.SampleIndex(b.ev.CPU, "cpu")
	if i < 0 {
		return
	}
	frames := b.code.Stacks(b.ev.CPU)
	b.period = samplePeriod(b.ev.CPU)
	b.samples = make([]*sample, 0, len(frames))
	for n, s := range b.ev.CPU.Sample {
		st := &sample{frames: frames[n], ns: float64(s.Value[i])}
		p := stack.Classify(st.frames)
		st.class, st.entry = p.Class, p.Entry
		if p.Site >= 0 {
			st.site = b.siteOf(st.frames, p.Site)
			b.charge(st)
		}
		b.touch(st)
		b.total += st.ns
		b.cpu[st.class] += st.ns
		b.samples = append(b.samples, st)
	}
	b.chargeYields()
	b.chargePreemption()
}

// chargeYields counts the scheduler's work for goroutines that yield as sweeping. The background
// sweeper yields after every few spans (runtime.bgsweep calls goschedIfBusy), which can take more
// time than the sweeping. The scheduler then runs on a stack of its own (gosched_m), which does not
// show the caller. A program that calls runtime.Gosched has the same stacks, so chargeYields then
// changes nothing.
func (b *builder) chargeYields() {
	var yields []*sample
	sweeper := false
	for _, st := range b.samples {
		for _, f := range st.frames {
			switch f.Func {
			case "runtime.Gosched":
				return
			case "runtime.bgsweep":
				sweeper = true
			case "runtime.gosched_m":
				if st.class == stack.Mutator {
					yields = append(yields, st)
				}
			}
		}
	}
	if sweeper {
		b.recharge(yields, stack.Sweep)
	}
}

// recharge counts samples to another class.
func (b *builder) recharge(list []*sample, to stack.Class) {
	for _, st := range list {
		b.cpu[st.class] -= st.ns
		st.class = to
		b.cpu[to] += st.ns
	}
}

// chargePreemption counts the scheduler's work for goroutines that are preempted as the collector's,
// which preempts all of them at the start and the end of each cycle. Otherwise a goroutine is
// preempted only after 10 ms, if others wait, which costs a program next to nothing. If preemption
// takes more time than marking, something else is the cause.
func (b *builder) chargePreemption() {
	var preempted []*sample
	sum := 0.0
	for _, st := range b.samples {
		if st.class == stack.Mutator && slices.ContainsFunc(st.frames, func(f *stack.Frame) bool { return f.Func == "runtime.gopreempt_m" }) {
			preempted = append(preempted, st)
			sum += st.ns
		}
	}
	if sum <= b.cpu[stack.Mark]+b.cpu[stack.MarkIdle] {
		b.recharge(preempted, stack.Pause)
	}
}

// touch notes the CPU time of a line outside the allocator. If the line allocates, that is mostly
// the first write to new memory, which is in no cache.
func (b *builder) touch(st *sample) {
	if st.entry != "" || st.class != stack.Mutator && st.class != stack.Barrier {
		return
	}
	i := slices.IndexFunc(st.frames, func(f *stack.Frame) bool { return !f.Runtime })
	if i >= 0 {
		b.touched[siteKey{at: st.frames[i], owner: stack.Owner(st.frames[i:])}] += st.ns
	}
}

// charge adds the allocator's CPU time of a sample to its site.
func (b *builder) charge(st *sample) {
	s := st.site
	switch st.class {
	case stack.Alloc:
		s.allocCPU += st.ns
	case stack.Zero:
		s.zeroCPU += st.ns
	case stack.Mutator:
		s.copyCPU += st.ns
	default:
		return
	}
	s.entries[st.entry] += st.ns
	w := b.scanned[s]
	switch has, known := stack.PointersOf(st.frames); {
	case !known:
	case has:
		w[1] += st.ns
	default:
		w[0] += st.ns
	}
	b.scanned[s] = w
}

// siteOf is the site whose line is frames[i].
func (b *builder) siteOf(frames []*stack.Frame, i int) *site {
	key := siteKey{at: frames[i], owner: stack.Owner(frames[i:])}
	s := b.byKey[key]
	if s == nil {
		s = &site{at: key.at, owner: key.owner, entries: map[string]float64{}, sizes: map[int64]float64{}, age: -1}
		b.byKey[key] = s
		b.sites = append(b.sites, s)
	}
	if s.frames == nil {
		s.frames = frames[i:]
	}
	return s
}

// addHeap adds a heap profile's samples. Allocated bytes are multiplied by sign, -1 for the profile
// at the window's start, which is so subtracted.
func (b *builder) addHeap(p *profile.Profile, sign float64) {
	if p == nil {
		return
	}
	objects, space := evidence.SampleIndex(p, "alloc_objects"), evidence.SampleIndex(p, "alloc_space")
	inObjects, inSpace := evidence.SampleIndex(p, "inuse_objects"), evidence.SampleIndex(p, "inuse_space")
	if min(objects, space, inObjects, inSpace) < 0 {
		return
	}
	stacks := b.code.Stacks(p)
	for n, sample := range p.Sample {
		frames := stacks[n]
		// The profile leaves out the runtime's frames at the leaf, but not linknamed ones.
		i := slices.IndexFunc(frames, func(f *stack.Frame) bool { return !f.Runtime })
		if i < 0 || slices.ContainsFunc(frames, func(f *stack.Frame) bool { return f.IsProfiler() }) {
			continue // allocations of the profilers are not the program's
		}
		s := b.siteOf(frames, i)
		count, bytes := float64(sample.Value[objects]), float64(sample.Value[space])
		s.allocObjects += sign * count
		s.allocBytes += sign * bytes
		if sizes := sample.NumLabel["bytes"]; len(sizes) > 0 {
			s.sizes[sizes[0]] += sign * count
		}
		if sign > 0 {
			s.inuseObjects += float64(sample.Value[inObjects])
			s.inuseBytes += float64(sample.Value[inSpace])
			s.traces = append(s.traces, trace{frames[i:], bytes, float64(sample.Value[inSpace])})
			if weight := bytes + float64(sample.Value[inSpace]); weight > b.weight[s] {
				b.weight[s], s.frames = weight, frames[i:]
			}
		}
	}
}

// samplePeriod is the CPU time in nanoseconds that one sample stands for: 10 ms unless the profile
// says otherwise.
func samplePeriod(p *profile.Profile) float64 {
	if p.Period > 0 && p.PeriodType != nil && p.PeriodType.Unit == "nanoseconds" {
		return float64(p.Period)
	}
	return 10e6
}
