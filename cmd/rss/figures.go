// SPDX-License-Identifier: Apache-2.0

package rss

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/freehold-go/freehold/cmd/debugport"
	"github.com/freehold-go/freehold/cmd/evidence"
	"github.com/freehold-go/freehold/gctune"
)

// figures are the runtime's own at one moment.
type figures struct {
	alloc, inuse, idle, released  int64 // of the heap
	stacks, stackSys              int64
	spanSys, cacheSys             int64
	buckets, gc, otherSys, nextGC int64
	collections                   int64
	shownLimit                    float64
	heap                          *profile.Profile // nil if the program takes no heap profile
}

// readFigures reads the text form of the heap profile.
func readFigures(ctx context.Context, s *debugport.Server, at string) (*figures, error) {
	text, err := s.Get(ctx, at, 0)
	if err != nil {
		return nil, fmt.Errorf("rss: %w", err)
	}
	v := evidence.ReadMemStats(text).Values
	if v["HeapInuse"] == 0 {
		return nil, fmt.Errorf("rss: %s%s has no runtime.MemStats; is there a Go program with net/http/pprof?", s, at)
	}
	of := func(name string) int64 { return int64(min(v[name], math.MaxInt64/2)) }
	f := &figures{
		alloc: of("HeapAlloc"), inuse: of("HeapInuse"), idle: of("HeapIdle"), released: of("HeapReleased"),
		stacks: of("StackInuse"), stackSys: of("StackSys"), spanSys: of("MSpanSys"), cacheSys: of("MCacheSys"),
		buckets: of("BuckHashSys"), gc: of("GCSys"), otherSys: of("OtherSys"), nextGC: of("NextGC"), collections: of("NumGC"),
	}
	e := evidence.Evidence{}
	if err := e.Read(at, bytes.NewReader(text)); err == nil {
		f.heap = e.Heap[1]
		f.shownLimit, _ = e.Metrics[1].Get(evidence.MetricShownLimit)
	}
	return f, nil
}

// between are the means of two readings: what was read between them saw memory between the two.
func between(a, b *figures) *figures {
	mean := func(x, y int64) int64 { return x + (y-x)/2 }
	m := *b
	m.alloc, m.inuse, m.idle, m.released = mean(a.alloc, b.alloc), mean(a.inuse, b.inuse), mean(a.idle, b.idle), mean(a.released, b.released)
	m.stacks, m.stackSys = mean(a.stacks, b.stacks), mean(a.stackSys, b.stackSys)
	return &m
}

// runtimeSys is what the runtime took for its own tables. It returns none of it, so that nearly all of it is resident.
func (f *figures) runtimeSys() int64 {
	return f.spanSys + f.cacheSys + f.buckets + f.gc + f.otherSys + max(f.stackSys-f.stacks, 0)
}

// expected is what the Go heap's mappings hold by these figures.
func (f *figures) expected() int64 { return f.inuse + f.idle - f.released + f.stacks }

// metricsOf reads what else the program serves: gctune's handler, expvar, and Prometheus's text. The first source of a value counts.
func metricsOf(ctx context.Context, s *debugport.Server) (m evidence.Metrics, vars []byte) {
	for _, at := range []string{gctune.HandlerPath, debugport.Metrics, debugport.Vars} {
		data, err := s.Get(ctx, at, 0)
		if err != nil {
			continue // it is not served
		}
		if at == debugport.Vars {
			vars = data
		}
		var e evidence.Evidence
		if err := e.Read(at, bytes.NewReader(data)); err == nil {
			m = m.With(e.Metrics[1])
		}
	}
	return m, vars
}

// purposesOf reads freehold's accounts from the answer of /debug/vars, whatever the variable's name is.
func purposesOf(vars []byte) (list []Part) {
	var all map[string]json.RawMessage
	if json.Unmarshal(vars, &all) != nil {
		return nil
	}
	for _, raw := range all {
		var v struct {
			Offheap struct {
				Purposes map[string]struct {
					Held int64 `json:"held"`
				} `json:"purposes"`
			} `json:"offheap"`
		}
		if json.Unmarshal(raw, &v) == nil {
			for name, p := range v.Offheap.Purposes {
				if p.Held > 0 {
					list = append(list, Part{name, p.Held})
				}
			}
		}
	}
	slices.SortFunc(list, largest)
	return list
}

// settings are the collector's, as far as they are known.
type settings struct {
	gogc     float64 // percent; +Inf if it is off
	told     bool    // by the runtime itself
	limit    int64   // 0 if there is none
	scanned  float64 // bytes of stacks and globals that the last collection read, -1 if that is not known
	globals  int64
	liveTold float64 // /gc/heap/live:bytes, 0 if it is not served
}

func settingsOf(g *program, m evidence.Metrics, f *figures) settings {
	s := settings{gogc: g.gogc, limit: g.limit, scanned: -1, globals: g.globals}
	if v, ok := m.Get(evidence.MetricGOGC); ok {
		s.gogc, s.told = v, true
		if v < 0 || v > 1<<40 {
			s.gogc = math.Inf(1)
		}
	}
	if v, ok := m.Get(evidence.MetricMemoryLimit); ok {
		if s.limit = 0; v < math.MaxInt64/2 {
			s.limit = int64(v)
		}
	}
	stack, ok1 := m.Get(evidence.MetricScanStack)
	global, ok2 := m.Get(evidence.MetricScanGlobals)
	if ok1 && ok2 {
		s.scanned = stack + global
	}
	s.liveTold, _ = m.Get(evidence.MetricLiveHeap)
	// A goal that follows from a limit shows the limit: a whole number of MiB, as people set it.
	const exact = 512
	if whole := math.Round(f.shownLimit/(1<<20)) * (1 << 20); s.limit == 0 && whole > 0 && math.Abs(f.shownLimit-whole) <= exact {
		s.limit = int64(whole)
	}
	return s
}

// binds reports whether the limit decides when the next collection begins.
func (s *settings) binds(f *figures) bool {
	const alike = 64 << 10
	return s.limit > 0 && math.Abs(f.shownLimit-float64(s.limit)) <= alike
}

// lowest is the smallest heap that GOGC=100 aims at (runtime.heapMinimum).
const lowest = 4 << 20

// liveOf finds what the last collection marked, by the best source that is there. low is the smallest HeapAlloc that was seen
// since the last collection, 0 if the collection was not seen.
func liveOf(f *figures, s settings, low int64) *Live {
	if s.liveTold > 0 {
		n := min(int64(s.liveTold), f.alloc)
		return &Live{n, n, n, "/gc/heap/live:bytes"}
	}
	sampled := sampledLive(f)
	g := s.gogc / 100
	if !s.binds(f) && g > 0 && !math.IsInf(g, 1) && float64(f.nextGC) > 1.01*lowest*g && f.nextGC < math.MaxInt64/4 {
		l := byGoal(f, s, g)
		const slack = 2 << 20
		possible := l.Low <= f.alloc+slack // what was marked is still there
		if s.told || possible && (sampled == nil || l.fits(sampled)) {
			l.Bytes, l.Low, l.High = min(l.Bytes, f.alloc), min(l.Low, f.alloc), min(l.High, f.alloc)
			return l
		}
		if sampled == nil {
			sampled = &Live{f.alloc, 0, f.alloc, "HeapAlloc, which is the most that it can be"}
		}
		sampled.Source += fmt.Sprintf("; the heap's goal does not fit GOGC=%.0f: the program sets GOGC itself", s.gogc)
	}
	if n := min(low, f.alloc); n > 0 && (sampled == nil || sampled.Bytes > n) {
		l := &Live{n, 0, n, "the lowest HeapAlloc just after a collection"}
		if sampled != nil {
			l.Low = min(sampled.Low, n)
		}
		return l
	}
	if sampled != nil {
		return sampled
	}
	return &Live{f.alloc, 0, f.alloc, "HeapAlloc, which is the most that it can be"}
}

// byGoal computes the live heap from the goal of the next collection: live + (live + stacks + globals) × GOGC/100.
func byGoal(f *figures, s settings, g float64) *Live {
	of := func(scanned float64) int64 {
		return max(int64((float64(f.nextGC)-scanned*g)/(1+g)), 0)
	}
	l := &Live{Source: fmt.Sprintf("NextGC and GOGC=%.0f", s.gogc)}
	if s.scanned >= 0 {
		l.Bytes = of(s.scanned)
		l.Low, l.High = l.Bytes, l.Bytes
		return l
	}
	// A collection reads the part of a stack that is in use.
	l.Low, l.High = of(float64(f.stacks+s.globals)), of(float64(s.globals))
	l.Bytes = of(float64(f.stacks/2 + s.globals))
	return l
}

// sampledLive is the live heap by the heap profile, with an interval of two standard errors; nil without a profile that can be right.
func sampledLive(f *figures) *Live {
	if f.heap == nil || f.heap.Period <= 0 {
		return nil
	}
	objects, bytes := evidence.SampleIndex(f.heap, "inuse_objects"), evidence.SampleIndex(f.heap, "inuse_space")
	if objects < 0 || bytes < 0 {
		return nil
	}
	sum, variance := 0.0, 0.0
	for _, s := range f.heap.Sample {
		n, size := float64(s.Value[objects]), float64(s.Value[bytes])
		if n <= 0 {
			continue
		}
		sum += size
		// Of n blocks of a size the share p was sampled, 1-exp(-size/rate).
		p := -math.Expm1(-size / n / float64(f.heap.Period))
		variance += n * (size / n) * (size / n) * (1 - p) / p
	}
	// Blocks of sites that were never sampled are in the rate.
	err := 2 * math.Sqrt(variance+float64(f.heap.Period)*float64(f.heap.Period))
	if sum-err > float64(f.alloc) {
		return nil // the profile is older than the last collection, which freed much
	}
	return &Live{
		Bytes: min(int64(sum), f.alloc), Low: max(int64(sum-err), 0), High: min(int64(sum+err), f.alloc),
		Source: "the sampled heap profile",
	}
}

// fits reports whether the figure l, by the goal, and that of the profile can both be right. The profile is as old as the collection
// before the last one, and what was allocated during a collection counts as marked: if the figures differ by less than half or twice,
// the interval of l becomes as wide as to hold both.
func (l *Live) fits(sampled *Live) bool {
	const slack = 2 << 20
	if l.High+slack < sampled.Low/2 || l.Low-slack > 2*sampled.High {
		return false
	}
	if near := l.Bytes/8 + slack; l.High+near < sampled.Low || l.Low-near > sampled.High {
		l.Low, l.High = min(l.Low, sampled.Low), max(l.High, sampled.High)
	}
	return true
}

// sitesOf are the functions whose memory lives, the largest first.
func sitesOf(p *profile.Profile) (list []Part) {
	if p == nil {
		return nil
	}
	i := evidence.SampleIndex(p, "inuse_space")
	if i < 0 {
		return nil
	}
	sums := map[string]int64{}
	for _, s := range p.Sample {
		if name := siteOf(s); name != "" && s.Value[i] > 0 {
			sums[name] += s.Value[i]
		}
	}
	for name, n := range sums {
		list = append(list, Part{name, n})
	}
	slices.SortFunc(list, largest)
	return list[:min(len(list), mostSites)]
}

// siteOf is the first function of a stack that is not the runtime's, with file and line, and the function that called it.
func siteOf(s *profile.Sample) string {
	site := ""
	for _, l := range s.Location {
		for _, line := range l.Line {
			switch f := line.Function; {
			case f == nil || strings.HasPrefix(f.Name, "runtime.") || strings.HasPrefix(f.Name, "internal/runtime/"):
			case site == "":
				site = fmt.Sprintf("%s (%s:%d)", f.Name, path.Base(f.Filename), line.Line)
			default:
				return site + ", called by " + f.Name
			}
		}
	}
	return site
}
