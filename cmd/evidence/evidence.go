// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"crypto/sha256"
	"time"

	"github.com/google/pprof/profile"
)

// Evidence is all that was collected of one program. Any part may be missing; a report then names
// the piece that would raise its confidence.
type Evidence struct {
	// Source names the inputs in the report's words: files, an address, a command.
	Source string
	// CPU is the CPU profile over the window.
	CPU *profile.Profile
	// Heap are the heap profiles at both ends of the window, with the four sample types of Go. The
	// first may be nil: then the second counts for all the time since the program's start.
	Heap [2]*profile.Profile
	// Curve are the bytes in use over the window, from its start to its end, nil unless heap
	// profiles in between were read.
	Curve []float64
	// Delta says that Heap[1] has the allocations of the window alone, as heap?seconds=N gives them,
	// and NoInUse that its bytes in use are unknown and therefore 0.
	Delta, NoInUse bool
	// Window is the time between the heap profiles, 0 if that is not known.
	Window time.Duration
	// Metrics are the runtime's values at both ends of the window. The first may be empty: then
	// counters count since the program's start.
	Metrics [2]Metrics
	// Trace is the output of GODEBUG=gctrace=1.
	Trace *GCTrace
	// Benchmarks are the results of go test -bench.
	Benchmarks []Benchmark
	// Main is the path of the program's main module, "" if that is not known. A site's owner is the
	// first frame in it.
	Main string
	// Root is the directory of the main module's source if it is at hand, "" otherwise: for escape
	// reasons and the layout of structs.
	Root string
	// Go is the version of Go that built the program, as runtime.Version has it, "" if that is not
	// known.
	Go string

	// PeriodAssumed says that the CPU profile counts samples without the time that each stands for, so
	// that its seconds are assumed.
	PeriodAssumed bool
	// Label is the label by which reports split the CPU time. [Evidence.ChooseLabel] sets it.
	Label Label

	// Per says how operations are counted. It must be set before inputs are read. [Evidence.Work] is
	// their number.
	Per Per

	// Failure is how the program that was run failed, such as "exit status 3", "" if it did not. The
	// evidence then covers what it did before.
	Failure string

	read  map[string][]Metrics // the metrics that Read found, by source
	heaps heaps
	seen  map[[sha256.Size]byte]string // the names of inputs, by their contents
	noted []Problem
	// uncounted is why an input lacks the counter of Per.
	uncounted error
}

// heaps are the heap profiles that Read found.
type heaps struct {
	// binary are the profiles in pprof's format, by their times.
	binary []*profile.Profile
	// texts are profiles in the text form, at most two. They count only if there is no binary one,
	// because a text is given beside a binary profile for the sake of its statistics.
	texts []*profile.Profile
	// deltas are the allocations of windows, by their ends.
	deltas []*profile.Profile
	// fell says that a counter of allocations falls from one whole profile to the next, and falls
	// whether it does by pairs that were compared: large profiles take long.
	fell  bool
	falls map[[2]*profile.Profile]bool
}

// A Problem is a fault of the evidence that a report must mention: the figures are less sure for
// it, or wrong.
type Problem struct {
	// What names the problem, and How the remedy. Both are sentences without their ends.
	What, How string
}
