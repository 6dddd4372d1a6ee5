// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/freehold-go/freehold/cmd/doctor/source"
	"github.com/freehold-go/freehold/cmd/doctor/stack"
	"github.com/freehold-go/freehold/cmd/evidence"
)

// An account holds the cost of a program's memory management, by class and by site. Recognisers see
// nothing else. After newAccount only the claims on sites change.
type account struct {
	ev   *evidence.Evidence
	code *stack.Table
	src  lazySource
	// lines reads single lines of source where the profiles say that they lie.
	lines *source.Lines

	// CPU time in nanoseconds: in all, and by class. Zero without a CPU profile.
	total float64
	cpu   [stack.NumClasses]float64
	// period is the CPU time between samples of the profile.
	period float64
	// samples are those of the CPU profile.
	samples []*sample
	// sites are all places that allocate, the one with the most CPU time first.
	sites []*site

	// window is the time that the heap profiles span, 0 if not known.
	window time.Duration
	// Allocations in the window.
	allocBytes, allocObjects float64
	// Bytes: the live heap after a collection, the roots (stacks and globals), and all that a
	// collection scans: heap, stacks, globals.
	live, roots, scan float64
	// scanTold says that the runtime told how much a collection scans; otherwise scan is estimated.
	scanTold bool
	// mark and sweep are the collector's CPU time, M and W of the formulas in gain.go; W has the
	// scavenger's, too. beside is the CPU time that the program's own work takes longer because of
	// marking, as a part of mark.
	mark, sweep, beside float64
	// cycles is the number of collections in the window, 0 if not known, and cyclesEstimated says
	// that nothing counted them. heapRate is the bytes between two samples of the heap profile.
	cycles, heapRate float64
	cyclesEstimated  bool
	// pace is how often collections run.
	pace pace
	// overtraced is the collector's CPU time in nanoseconds by its trace, if that exceeds
	// processCPU, the CPU time of the whole process; otherwise 0.
	overtraced, processCPU float64
	// growth is the mean of the bytes in use over the window divided by those at its end, 0 if the
	// heap did not grow or that is not known.
	growth float64
	// unknown says why the CPU profile does not show where the time goes, "" if it does or if there is
	// none.
	unknown string
	// noInuse says that the bytes in use are unknown, and exitHeap that the heap profile's, which are
	// exitInuse, were left out because it was taken at the program's exit.
	noInuse, exitHeap bool
	exitInuse         float64
	// traced are values computed from the collector's trace. They stand in for values that the
	// metrics lack.
	traced evidence.Metrics
}

// A sample is a sample of the CPU profile.
type sample struct {
	frames []*stack.Frame // innermost first
	ns     float64        // CPU time
	class  stack.Class
	site   *site  // the place that called the allocator, nil outside; assists have one, too
	entry  string // the outermost function of the allocator, such as runtime.growslice; "" outside
}

// A site is a line that allocates. A line with several owners is several sites.
type site struct {
	at    *stack.Frame // first frame outside the runtime
	owner *stack.Frame // first frame in the user's module; the site itself if there is none
	// frames is the stack that allocates most here, innermost first, from the site outwards.
	frames []*stack.Frame
	// traces are the stacks of the heap profile at the window's end that allocate here.
	traces []trace
	// In the window, by the heap profiles.
	allocBytes, allocObjects float64
	// At the window's end, by the heap profile.
	inuseBytes, inuseObjects float64
	// CPU time in nanoseconds: in the allocator, in zeroing new memory, and in the other work of
	// functions such as runtime.growslice and runtime.mapassign (copying, hashing).
	allocCPU, zeroCPU, copyCPU float64
	// touchCPU is the line's CPU time outside the allocator, at most as much as inside. Most of it
	// is the first write to new memory, a cache miss.
	touchCPU float64
	// entries is the sum of these three by the function of the runtime that the program called,
	// such as runtime.growslice.
	entries map[string]float64
	// sizes are the objects allocated in the window, by the size in bytes that the profile gives.
	sizes map[int64]float64
	// scan is the part of the bytes that holds pointers, between 0 and 1, and scanKnown whether the
	// profile or the source tells; otherwise it is a guess.
	scan      float64
	scanKnown bool
	// age is how long an object lives on average, by Little's law: objects in use over objects
	// allocated in a second. It is negative if it is not known.
	age time.Duration
	// claimed is the id of the finding that has the site, "" as long as there is none.
	claimed string
}

// A trace is a stack that allocates, from the site outwards, with its bytes allocated since the
// program's start and its bytes in use.
type trace struct {
	frames                 []*stack.Frame
	allocBytes, inuseBytes float64
}

// calledByUser reports whether the user's code allocates, or calls a function of the standard library
// that does, in its own package or for package fmt. What the code of others makes, by the standard
// library or itself, its caller cannot leave out.
func (s *site) calledByUser() bool {
	i := slices.IndexFunc(s.frames, func(f *stack.Frame) bool { return f.User })
	if i <= 0 {
		return i == 0
	}
	called := s.frames[i-1]
	return called.Std && (called.Package == strings.TrimPrefix(s.at.Package, "internal/") || called.Package == "fmt" && s.at.Std)
}

// library is the first function on the site's stack that belongs to a package of others, or to the
// standard library if there is no such package.
func (s *site) library() *stack.Frame {
	for _, f := range s.frames {
		if !f.Std && !f.Runtime && !f.User {
			return f
		}
	}
	return s.at
}

// cpuNow is the CPU time that the allocator spends for the site.
func (s *site) cpuNow() float64 { return s.allocCPU + s.zeroCPU }

// objectSize is the mean size of an object in bytes, 0 if nothing is known.
func (s *site) objectSize() float64 {
	switch {
	case s.allocObjects > 0:
		return s.allocBytes / s.allocObjects
	case s.inuseObjects > 0:
		return s.inuseBytes / s.inuseObjects
	}
	return 0
}

// mainSize is the object size, in bytes, that has the largest part of the site's bytes. If the
// profile has no sizes, it is the mean size.
func (s *site) mainSize() float64 {
	top, most := s.objectSize(), 0.0
	for size, n := range s.sizes {
		if bytes := n * float64(size); bytes > most || bytes == most && float64(size) > top {
			top, most = float64(size), bytes
		}
	}
	return top
}

// share is CPU time as a share of the program's, 0 without a CPU profile.
func (a *account) share(ns float64) float64 {
	if a.total == 0 {
		return 0
	}
	return ns / a.total
}

// metric is a value at the window's end, and whether it is known.
func (a *account) metric(name string) (float64, bool) {
	if v, ok := a.ev.Metrics[1].Get(name); ok {
		return v, true
	}
	return a.traced.Get(name)
}

// counter is how much a value grew in the window, and whether that is known.
func (a *account) counter(name string) (float64, bool) {
	e := a.ev
	end, ok := e.Metrics[1].Get(name)
	if !ok {
		return a.traced.Get(name)
	}
	if e.Window == 0 && e.Heap[0] == nil && e.Heap[1] != nil && !e.Delta {
		return end, true // The window began with the program.
	}
	if start, ok := e.Metrics[0].Get(name); ok {
		return end - start, end >= start
	}
	if e.Heap[0] == nil && !e.Delta {
		return end, true
	}
	// The value counts from the program's start, and the window lies between the heap profiles. If
	// the program's rate was constant, the window has this part of the value.
	up, ok := e.Metrics[1].Get(evidence.MetricUptime)
	if !ok || up <= 0 {
		return 0, false
	}
	return end * min(a.window.Seconds()/up, 1), true
}

// liveAndGoal are the live heap and the size at which a collection begins, and whether both are
// known.
func (a *account) liveAndGoal() (live, goal float64, ok bool) {
	goal, ok = a.metric(evidence.MetricHeapGoal)
	return a.live, goal, ok && a.live > 0
}

// between is the time from one collection to the next, 0 if it is not known.
func (a *account) between() time.Duration {
	if a.cycles == 0 {
		return 0
	}
	return time.Duration(float64(a.window) / a.cycles)
}

// lazySource is an account's source, read when a recogniser first asks for it.
type lazySource struct {
	ctx    context.Context // of the diagnosis
	tried  bool
	module *source.Module
	err    error
	limit  time.Duration // how long reading its types may take
}

// sourceLimit is how long reading the source may take. Tests set more: with an empty build cache
// the go command compiles the imports.
const sourceLimit = 20 * time.Second

// uncollected reports whether the program is known to have run without a collection.
func (a *account) uncollected() bool {
	cycles, ok := a.metric(evidence.MetricCyclesTotal)
	return ok && cycles == 0 && a.ev.Trace == nil
}

// maxAge is the age of a site whose objects are in use, but none of which was allocated in the
// window.
const maxAge = 1000 * time.Hour
