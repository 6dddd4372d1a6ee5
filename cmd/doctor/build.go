package doctor

import (
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

// siteKey tells sites apart.
type siteKey struct{ at, owner *frame }

// builder makes an account.
type builder struct {
	*account
	byKey   map[siteKey]*site
	weight  map[*site]float64    // bytes behind site.frames
	scanned map[*site][2]float64 // allocator CPU for memory without and with pointers
	touched map[siteKey]float64  // CPU of lines themselves
}

func newAccount(e *Evidence) *account {
	b := &builder{
		account: &account{ev: e, code: codeOf(e.Main, e.CPU, e.Heap[1], e.Heap[0])},
		byKey:   map[siteKey]*site{}, weight: map[*site]float64{}, scanned: map[*site][2]float64{}, touched: map[siteKey]float64{},
	}
	b.traced = e.Trace.metrics()
	b.window = windowOf(e)
	b.addCPU()
	b.addHeap(e.Heap[0], -1)
	b.addHeap(e.Heap[1], 1)
	b.finish()
	return b.account
}

// windowOf is the time between the heap profiles: as told, by their own times, or, if there is but one, since the program's start. Without
// any it is the time between the metrics.
func windowOf(e *Evidence) time.Duration {
	if e.Window > 0 {
		return e.Window
	}
	if e.Heap[0] != nil && e.Heap[1] != nil && e.Heap[1].TimeNanos > e.Heap[0].TimeNanos {
		return time.Duration(e.Heap[1].TimeNanos - e.Heap[0].TimeNanos)
	}
	if up, ok := e.Metrics[1].Get(MetricUptime); ok && e.Heap[0] == nil {
		if before, ok := e.Metrics[0].Get(MetricUptime); ok && e.Heap[1] == nil && before < up {
			up -= before
		}
		return time.Duration(up * float64(time.Second))
	}
	return 0
}

// valueIndex is the index of a sample type, -1 if the profile lacks it.
func valueIndex(p *profile.Profile, name string) int {
	return slices.IndexFunc(p.SampleType, func(t *profile.ValueType) bool { return t.Type == name })
}

func (b *builder) addCPU() {
	if b.ev.CPU == nil {
		return
	}
	i := valueIndex(b.ev.CPU, "cpu")
	if i < 0 {
		return
	}
	frames := b.code.stacksOf(b.ev.CPU)
	b.period = samplePeriod(b.ev.CPU)
	b.stacks = make([]*stack, 0, len(frames))
	for n, s := range b.ev.CPU.Sample {
		st := &stack{frames: frames[n], ns: float64(s.Value[i])}
		p := place(st.frames)
		st.class, st.entry = p.class, p.entry
		if p.site >= 0 {
			st.site = b.siteOf(st.frames, p.site)
			b.charge(st)
		}
		b.touch(st)
		b.total += st.ns
		b.cpu[st.class] += st.ns
		b.stacks = append(b.stacks, st)
	}
	b.chargeYields()
}

// chargeYields counts the scheduler's work for goroutines that give way as sweeping. The background sweeper gives way after every few spans
// (runtime.bgsweep calls goschedIfBusy), which can take more time than the sweeping; the scheduler works on a stack of its own
// (gosched_m), on which its caller is not seen. A program that calls runtime.Gosched itself has the same stacks, so that nothing is
// known of them.
func (b *builder) chargeYields() {
	var yields []*stack
	sweeper := false
	for _, st := range b.stacks {
		for _, f := range st.frames {
			switch f.fn {
			case "runtime.Gosched":
				return
			case "runtime.bgsweep":
				sweeper = true
			case "runtime.gosched_m":
				if st.class == classMutator {
					yields = append(yields, st)
				}
			}
		}
	}
	if !sweeper {
		return
	}
	for _, st := range yields {
		b.cpu[st.class] -= st.ns
		st.class = classSweep
		b.cpu[classSweep] += st.ns
	}
}

// touch notes what a line does itself, for the sake of lines that allocate: there it is mostly the first write to new memory, which
// is in no cache.
func (b *builder) touch(st *stack) {
	if st.entry != "" || st.class != classMutator && st.class != classBarrier {
		return
	}
	i := slices.IndexFunc(st.frames, func(f *frame) bool { return !f.runtime })
	if i >= 0 {
		b.touched[siteKey{at: st.frames[i], owner: ownerOf(st.frames[i:])}] += st.ns
	}
}

// charge adds what a stack spends in the allocator to its site.
func (b *builder) charge(st *stack) {
	s := st.site
	switch st.class {
	case classAlloc:
		s.allocCPU += st.ns
	case classZero:
		s.zeroCPU += st.ns
	case classMutator:
		s.copyCPU += st.ns
	default:
		return
	}
	s.entries[st.entry] += st.ns
	w := b.scanned[s]
	switch hasPointers(st) {
	case 0:
		w[0] += st.ns
	case 1:
		w[1] += st.ns
	}
	b.scanned[s] = w
}

// hasPointers is 1 if the stack allocates memory with pointers, 0 if without, -1 if it does not tell, as with large objects.
func hasPointers(st *stack) int {
	for _, f := range st.frames {
		if !f.runtime {
			break
		}
		name, ok := strings.CutPrefix(f.fn, "runtime.malloc")
		switch {
		case strings.HasPrefix(f.fn, "runtime.rawstring"), strings.HasPrefix(f.fn, "runtime.rawbyteslice"), strings.HasPrefix(f.fn, "runtime.rawruneslice"),
			f.fn == "internal/bytealg.MakeNoZero":
			return 0
		case !ok:
		case strings.Contains(name, "Tiny"), strings.Contains(name, "Noscan"), strings.Contains(name, "NoScan"):
			return 0
		case strings.Contains(name, "Scan"):
			return 1
		}
	}
	return -1
}

// siteOf is the site whose line is frames[i].
func (b *builder) siteOf(frames []*frame, i int) *site {
	key := siteKey{at: frames[i], owner: ownerOf(frames[i:])}
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

// ownerOf is the first frame of the user's module, or else the first that is not the standard library's, or else the site itself.
func ownerOf(frames []*frame) *frame {
	for _, f := range frames {
		if f.user {
			return f
		}
	}
	for _, f := range frames {
		if !f.runtime && !f.std {
			return f
		}
	}
	return frames[0]
}

// addHeap adds a heap profile's samples; what was allocated counts with the sign, so that the profile of the window's start is subtracted.
func (b *builder) addHeap(p *profile.Profile, sign float64) {
	if p == nil {
		return
	}
	objects, space := valueIndex(p, "alloc_objects"), valueIndex(p, "alloc_space")
	inObjects, inSpace := valueIndex(p, "inuse_objects"), valueIndex(p, "inuse_space")
	if min(objects, space, inObjects, inSpace) < 0 {
		return
	}
	stacks := b.code.stacksOf(p)
	for n, sample := range p.Sample {
		frames := stacks[n]
		// The profile leaves out the runtime's frames at the leaf; linknamed ones may be left.
		i := slices.IndexFunc(frames, func(f *frame) bool { return !f.runtime })
		if i < 0 || slices.ContainsFunc(frames, func(f *frame) bool { return f.rank == rankProfiler }) {
			continue // what profiling allocates is no part of the program
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

// samplePeriod is the CPU time in nanoseconds that one sample stands for: 10 ms unless the profile says otherwise.
func samplePeriod(p *profile.Profile) float64 {
	if p.Period > 0 && p.PeriodType != nil && p.PeriodType.Unit == "nanoseconds" {
		return float64(p.Period)
	}
	return 10e6
}
