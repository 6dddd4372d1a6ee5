// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
	"github.com/freehold-go/freehold/cmd/evidence"
)

// heapRate is the number of bytes for which the heap profile has one sample.
func heapRate(e *evidence.Evidence) float64 {
	if p := e.Heap[1]; p != nil && p.Period > 0 {
		return float64(p.Period)
	}
	return 512 << 10
}

// addCPUOfMetrics fills in the CPU times if there is no CPU profile, as far as the process's CPU
// time and the collector's trace have them, or else the runtime's metrics. The trace's times are
// wall time on a P, so they are too high on a busy machine.
func (b *builder) addCPUOfMetrics() {
	if b.total > 0 {
		return
	}
	if cpu, ok := b.counter(evidence.MetricProcessCPU); ok && (b.ev.Trace != nil || b.uncollected()) {
		if b.ev.Trace != nil {
			for _, c := range b.ev.Trace.Cycles {
				b.cpu[stack.Mark] += float64(c.CPUBackground)
				b.cpu[stack.Assist] += float64(c.CPUAssist)
				b.cpu[stack.Pause] += float64(c.Pause())
			}
		}
		b.total = cpu * 1e9
		if gc := b.cpu[stack.Mark] + b.cpu[stack.Assist] + b.cpu[stack.Pause]; gc > b.total {
			b.overtraced, b.processCPU = gc, b.total
		}
	} else {
		user, ok1 := b.counter(evidence.MetricCPUUser)
		gc, ok2 := b.counter(evidence.MetricCPUGC)
		idle, _ := b.counter(evidence.MetricCPUMarkIdle)
		if !ok1 || !ok2 {
			return
		}
		b.cpu[stack.Mark], b.cpu[stack.MarkIdle] = (gc-idle)*1e9, idle*1e9
		b.total = (user + gc) * 1e9
	}
	known := b.cpu[stack.Mark] + b.cpu[stack.MarkIdle] + b.cpu[stack.Assist] + b.cpu[stack.Pause]
	b.cpu[stack.Mutator] = max(b.total-known, 0)
	b.total = max(b.total, known)
}

// addState fills in live, roots and scan from the runtime's values, or estimates them from the heap
// profile.
func (b *builder) addState() {
	for _, s := range b.sites {
		b.inuse += s.inuseBytes
	}
	var ok bool
	if b.live, ok = b.metric(evidence.MetricLiveHeap); !ok || b.live == 0 {
		b.live = b.inuse
	}
	stack, _ := b.metric(evidence.MetricScanStack)
	globals, _ := b.metric(evidence.MetricScanGlobals)
	b.roots = stack + globals
	heap, known := b.scanOfLive()
	b.scanTold = known
	b.spreadScan(heap, known)
	if !known {
		for _, s := range b.sites {
			heap += s.inuseBytes * s.scan
		}
	}
	b.scan = heap + b.roots
}

// scanOfLive is the number of bytes of the live heap that a collection scans, and whether the
// runtime has it. The runtime's counter (/gc/scan/heap:bytes) has the bytes found at the last
// collection and the bytes allocated since. scanOfLive takes the end of the window at which fewer
// bytes were allocated since, and subtracts the part of them that holds pointers. It multiplies the
// result by the growth of the heap in use from there to the window's end.
func (b *builder) scanOfLive() (float64, bool) {
	best, scan := math.Inf(1), 0.0
	for end, m := range b.ev.Metrics {
		heap, ok := m.Get(evidence.MetricScanHeap)
		live, ok2 := m.Get(evidence.MetricLiveHeap)
		if !ok || heap == 0 {
			continue
		}
		objects, ok3 := m.Get(evidence.MetricHeapInUse)
		if !ok2 || !ok3 || live == 0 {
			if math.IsInf(best, 1) {
				scan = heap
			}
			continue
		}
		fresh := max(objects-live, 0)
		if part := fresh / live; part < best {
			best = part
			scan = min(max(heap-fresh*b.pointerPart(), 0), live)
			if start, now := inuse(b.ev.Heap[0]), inuse(b.ev.Heap[1]); end == 0 && start > 0 {
				scan *= now / start
			}
		}
	}
	return scan, scan > 0
}

// inuse is the number of bytes in use in a heap profile, 0 without one.
func inuse(p *profile.Profile) (sum float64) {
	if p == nil {
		return 0
	}
	if i := evidence.SampleIndex(p, "inuse_space"); i >= 0 {
		for _, s := range p.Sample {
			sum += float64(s.Value[i])
		}
	}
	return sum
}

// pointerPart is the part of allocated bytes that holds pointers, as far as the stacks show; half
// if they show nothing.
func (b *builder) pointerPart() float64 {
	with, all := 0.0, 0.0
	for _, s := range b.sites {
		w := b.scanned[s]
		switch {
		case s.plain():
			all += s.allocBytes
		case w[0]+w[1] > 0:
			all += s.allocBytes
			with += s.allocBytes * w[1] / (w[0] + w[1])
		}
	}
	if all == 0 {
		return 0.5
	}
	return with / all
}

// sureSamples is the number of samples in the allocator from which a site's stacks show reliably
// whether its memory holds pointers.
const sureSamples = 20

// spreadScan decides which part of each site's memory holds pointers. It is known for sites that make
// only strings and numbers, for sites with many samples in the allocator, and for sites whose line's
// source shows it. The other sites share the rest of the heap's scanned bytes. Those with the
// smallest objects come first, because large blocks are data more often than pointers. If the
// heap's scanned bytes are unknown, a few samples suffice, and for a site without samples the part
// is a guess.
func (b *builder) spreadScan(heap float64, known bool) {
	var unknown []*site
	for _, s := range b.sites {
		w := b.scanned[s]
		told := w[0] + w[1]
		free, read := b.pointerFree(s)
		switch {
		case s.plain():
			s.scan, s.scanKnown = 0, true
		case told >= sureSamples*b.period && told > 0:
			s.scan, s.scanKnown = w[1]/told, true
		case read && free:
			s.scan, s.scanKnown = 0, true
		case read:
			s.scan, s.scanKnown = 1, true
		case told > 0 && !known:
			s.scan, s.scanKnown = w[1]/told, true
		default:
			s.scan = guessedScan
			unknown = append(unknown, s)
		}
		if s.scanKnown {
			heap -= s.inuseBytes * s.scan
		}
	}
	if !known {
		return
	}
	slices.SortStableFunc(unknown, func(s, t *site) int { return cmp.Compare(s.objectSize(), t.objectSize()) })
	for _, s := range unknown {
		if s.inuseBytes > 0 {
			s.scan = math.Min(math.Max(heap/s.inuseBytes, 0), 1)
			heap -= s.inuseBytes * s.scan
		}
	}
}

// guessedScan is the part of a site's bytes that is taken to hold pointers where nothing tells.
const guessedScan = 0.5

// worthReading is the part of the heap in use, or of the bytes allocated, from which the source of a
// site's line is read.
const worthReading = 0.002

// pointerFree reports whether a site's memory holds no pointers by the source of its line, and
// whether that tells. Generic code tells nothing.
func (b *builder) pointerFree(s *site) (free, known bool) {
	if s.inuseBytes < worthReading*b.inuse && s.allocBytes < worthReading*b.allocBytes {
		return false, false
	}
	if strings.Contains(s.at.Func, "[") {
		return false, false
	}
	return b.lines.PointerFree(s.at)
}

// plain reports whether the site makes only strings, bytes and boxed numbers.
func (s *site) plain() bool {
	switch s.at.Package {
	case "strings", "strconv", "internal/strconv", "encoding/hex", "encoding/base64":
		return s.at.Std
	}
	if strings.HasPrefix(s.at.Func, "fmt.Sprint") || plainFunc[s.at.Func] {
		return true
	}
	for entry := range s.entries {
		if !plainEntry[entry] {
			return false
		}
	}
	return len(s.entries) > 0
}

var plainEntry = map[string]bool{
	"runtime.slicebytetostring": true, "runtime.stringtoslicebyte": true, "runtime.stringtoslicerune": true, "runtime.slicerunetostring": true,
	"runtime.concatstrings": true, "runtime.concatstring2": true, "runtime.concatstring3": true, "runtime.concatstring4": true, "runtime.concatstring5": true,
	"runtime.concatbytes": true, "runtime.intstring": true, "runtime.rawstring": true, "runtime.rawbyteslice": true, "runtime.rawstringtmp": true,
	"internal/bytealg.MakeNoZero": true,
}

// plainFunc are functions of the standard library that allocate bytes alone.
var plainFunc = map[string]bool{
	"bytes.makeSlice": true, "bytes.growSlice": true, "bytes.(*Buffer).grow": true, "bytes.Clone": true, "bytes.Repeat": true, "bytes.Join": true,
	"io.ReadAll": true, "io.copyBuffer": true, "os.ReadFile": true, "os.readFileContents": true, "bufio.NewReaderSize": true, "bufio.NewWriterSize": true, "bufio.(*Scanner).Scan": true,
}
