// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"math"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
)

// gain estimates the CPU time saved if the collector had none of the sites' allocations. rest is
// the CPU time in nanoseconds that the replacement costs: an arena still clears memory (zeroCPU), a
// pool whose users reset by hand costs next to nothing.
//
// With a and l the sites' bytes allocated in the window and in use at its end, σ the part of l that
// is scanned, A, L, R and S the account's allocBytes, live, roots and scan, M and W its mark and
// sweep:
//
//	fa   = 1 - a/A
//	n'/n = fa·(L+R)/(L+R-l)    collections left at the same GOGC
//	n'/n = fa                  collections left in the same total memory
//	gain = CPU of the allocator for the sites, and of first writes to what it gave + M·(1+b)·(1 - n'/n·(S-σ)/S) + W·(1-fa) - rest
//
// This is the model of the guide to Go's collector (go.dev/doc/gc-guide): a cycle begins when
// (L+R)·GOGC/100 bytes were allocated, and costs in proportion to the bytes that it scans. To it comes
// b, the account's beside: what marking costs the program beside the collector's own time. The model
// leaves out that large heaps disturb the processor's caches.
func (a *account) gain(sites []*site, rest float64) Gain {
	if a.total == 0 {
		return Gain{}
	}
	t := a.sum(sites)
	return a.gainOf(t, rest)
}

// A toll is the sum of the figures of several sites.
type toll struct {
	allocBytes, allocObjects, inuseBytes, scanned, cpu, zero, touch float64
	// guessed are the bytes in use of which it is not known whether they hold pointers.
	guessed float64
	// blur is the variance that sampling gives to inuseBytes.
	blur float64
}

// sum adds up sites.
func (a *account) sum(sites []*site) (t toll) {
	for _, s := range sites {
		t.allocBytes += s.allocBytes
		t.allocObjects += s.allocObjects
		t.inuseBytes += s.inuseBytes
		t.scanned += s.inuseBytes * s.scan
		t.cpu += s.cpuNow()
		t.zero += s.zeroCPU
		t.touch += s.touchCPU
		if !s.scanKnown {
			t.guessed += s.inuseBytes
		}
		t.blur += s.inuseBytes * a.heapRate * math.Exp(-s.objectSize()/max(a.heapRate, 1))
	}
	return t
}

func (a *account) gainOf(t toll, rest float64) Gain {
	if a.total == 0 {
		return Gain{}
	}
	left := 1.0
	if a.allocBytes > 0 {
		left = 1 - min(t.allocBytes/a.allocBytes, 1)
	} else if all := a.cpu[stack.Alloc] + a.cpu[stack.Zero]; all > 0 {
		left = 1 - min(t.cpu/all, 1) // without a heap profile the allocator's time stands for the bytes
	}
	unscanned := 1.0
	if a.scan > 0 {
		unscanned = 1 - min(t.scanned/a.scan, 1)
	}
	// The estimate of the remaining heap has at least the error of the removed part, and a heap
	// below 4 MiB is collected like one of 4 MiB.
	fewer, base := left, a.live+a.roots
	if base > 0 {
		fewer = left * base / min(max(base-t.inuseBytes, math.Sqrt(t.blur), smallestHeap), base)
	}
	of := func(cycles float64) float64 {
		return a.share(t.cpu + t.touch + a.marking()*(1-cycles*unscanned) + a.sweep*(1-left) - rest)
	}
	g := Gain{SameGOGC: of(fewer), SameMemory: of(left)}
	g.Error = a.gainError(t, g)
	return g
}

// modelError is the error of the formula itself, as a part of the gain: the root mean square of
// (predicted-measured)/measured, without the measurements' own noise, over 33 gains of settings that
// programs of other people had. See docs/doctor-accuracy.md.
const modelError = 0.2

// guessDoubt is the part of guessed bytes by which the bytes that a collection reads may be off.
const guessDoubt = 0.5

// nineInTen is how many standard deviations on both sides hold nine cases of ten.
const nineInTen = 1.645

// gainError combines independent errors: the sampling error of the CPU profile, that of the heap
// profile, that of guesses, and the model's own.
func (a *account) gainError(t toll, g Gain) float64 {
	size := math.Max(math.Abs(g.SameGOGC), math.Abs(g.SameMemory))
	sampled := a.share(a.samplingError(size * a.total))
	heap := 0.0
	if a.ev.Heap[1] != nil {
		// A site's bytes are known from bytes/rate samples. If objects are larger than the rate,
		// each object is a sample.
		samples := max(t.allocBytes, t.inuseBytes) / max(a.heapRate, 1)
		heap = size / math.Sqrt(max(samples, 1))
	} else {
		heap = a.share(a.mark) / 2 // nothing is known of what lives
	}
	// Of guessed bytes all or none may be read by each collection.
	guess := 0.0
	if a.scan > 0 && !a.scanTold {
		guess = a.share(a.mark) * min(guessDoubt*t.guessed/a.scan, 1)
	}
	beside := a.besideError(size)
	return nineInTen * math.Sqrt(sampled*sampled+heap*heap+guess*guess+beside*beside+modelError*size*modelError*size)
}

// samplingError is the standard deviation of CPU time in nanoseconds as the profile gives it: the
// period times the root of the number of samples.
func (a *account) samplingError(ns float64) float64 {
	if a.period == 0 {
		return 0.1 * math.Abs(ns) // no profile but the runtime's own clocks
	}
	return a.period * math.Sqrt(math.Abs(ns)/a.period)
}

// faultCPU is the CPU time in nanoseconds that the system takes for the first write to a byte of new
// memory: about 1 µs for a page of 4 KiB. On a virtual machine it was 1.7 µs; without one it is about
// half a microsecond.
const faultCPU = 1000.0 / 4096

// cyclesTo is the gain of a setting that leaves the part of collections that is given, 1 for as
// many as now. A cycle sweeps the whole heap, which is larger if there are fewer cycles; the scavenger
// works after each cycle. A program that was watched from its start pays for the first writes to the
// larger heap in that time.
func (a *account) cyclesTo(left float64) Gain {
	swept, faults := left, 0.0
	if room := a.pace.room; room > 0 && left > 0 {
		now := a.live + room
		swept = left * (now - room + room/left) / now
		if a.ev.Heap[0] == nil {
			faults = (room/left - room) * faultCPU
		}
	}
	scavenged := a.cpu[stack.Scavenge]
	g := a.share((a.marking()+scavenged)*(1-left) + (a.sweep-scavenged)*(1-swept) - faults)
	e := Gain{SameGOGC: g, SameMemory: 0}
	sampled, beside := a.share(a.samplingError(g*a.total)), a.besideError(g)
	e.Error = nineInTen * math.Sqrt(sampled*sampled+beside*beside+modelError*g*modelError*g)
	return e
}

// Gain is the CPU time saved, as a share of the program's CPU time now. It is negative
// where the change costs.
type Gain struct {
	// SameGOGC is the gain if GOGC stays as it is.
	SameGOGC float64 `json:"same_gogc"`
	// SameMemory is the gain if GOGC or the limit is then set so that the program takes the memory
	// that it takes now.
	SameMemory float64 `json:"same_memory"`
	// Error is the half-width of the interval around both that holds in nine cases of ten.
	Error float64 `json:"error"`
}

// Best is the larger of the two gains.
func (g Gain) Best() float64 { return max(g.SameGOGC, g.SameMemory) }

// cost is the CPU time of a site now: its allocator's time and its part of the collector's, as
// Attributed charges it.
func (a *account) cost(s *site) float64 {
	allocated, scanned := a.weights(s)
	return s.cpuNow() + a.mark/2*(allocated+scanned) + a.sweep*allocated
}

func (t toll) plus(u toll) toll {
	return toll{t.allocBytes + u.allocBytes, t.allocObjects + u.allocObjects, t.inuseBytes + u.inuseBytes, t.scanned + u.scanned, t.cpu + u.cpu, t.zero + u.zero, t.touch + u.touch, t.guessed + u.guessed, t.blur + u.blur}
}

// times returns the part k of a toll.
func (t toll) times(k float64) toll {
	return toll{allocBytes: k * t.allocBytes, allocObjects: k * t.allocObjects, inuseBytes: k * t.inuseBytes, scanned: k * t.scanned, cpu: k * t.cpu, zero: k * t.zero, touch: k * t.touch, guessed: k * t.guessed, blur: k * k * t.blur}
}

// dead is the toll without the bytes in use. If memory dies and is allocated anew, only the
// allocation can be saved.
func (t toll) dead() toll {
	t.inuseBytes, t.scanned, t.guessed = 0, 0, 0
	return t
}

// gainWith is the gain of removing a toll, and besides ns nanoseconds of CPU time outside the
// allocator. The part doubt of ns is uncertain, in addition to the sampling error. ns includes the
// time of the sites' lines, so the toll's is not counted.
func (a *account) gainWith(t toll, ns, doubt float64) Gain {
	t.touch = 0
	g := a.gainOf(t, 0)
	share, sampled := a.share(ns), a.share(a.samplingError(ns))
	g.SameGOGC += share
	g.SameMemory += share
	g.Error = math.Sqrt(g.Error*g.Error + nineInTen*nineInTen*(sampled*sampled+doubt*share*doubt*share))
	return g
}
