package doctor

import (
	"regexp"
	"strings"
)

// A class is what CPU time was spent on.
type class int

const (
	classMutator  class = iota // the program's own work, and what is not below
	classAlloc                 // the allocator
	classZero                  // clearing memory that is handed out
	classMark                  // workers of the collector
	classMarkIdle              // the same on Ps that had nothing else to do
	classAssist                // marking that allocating goroutines must do
	classSweep                 // sweeping, in the background or on the way of an allocation
	classBarrier               // write barriers
	classPause                 // starting and ending cycles, with the world stopped or about to be
	classScavenge              // giving memory back to the system
	classProfiler              // the profilers' own work
	numClasses
)

var classNames = [numClasses]string{
	"program", "allocation", "zeroing", "mark", "mark (idle)", "assist", "sweep", "write barrier", "pause", "scavenge", "profiler",
}

func (c class) String() string { return classNames[c] }

// isGC reports whether the class is the collector's.
func (c class) isGC() bool { return c >= classMark && c <= classScavenge }

// allocEntry are functions of the runtime by which programs come to the allocator. Since Go 1.27 the compiler calls mallocs that are
// specialised for a size, so runtime.mallocgc alone is not enough. Some of these do work besides, such as copying and hashing.
var allocEntry = regexp.MustCompile(`^runtime\.(malloc|newobject|newarray|makeslice|growslice|rawstring|rawbyteslice|rawruneslice|concatstring|concatbyte|` +
	`slicebytetostring|stringtoslicebyte|stringtoslicerune|slicerunetostring|intstring|mapassign|makemap|makechan|convT|moveSlice)|` +
	`^(reflect|internal/reflectlite)\.(unsafe_New|makemap|mapassign|growslice|makechan)|^internal/bytealg\.MakeNoZero$|^maps\.clone$`)

// allocCore are those that do nothing but allocate.
var allocCore = regexp.MustCompile(`^runtime\.(malloc|newobject|newarray|makeslice|rawstring|rawbyteslice|rawruneslice)|^reflect\.unsafe_New|^internal/bytealg\.MakeNoZero$`)

// oneOf are the classes that a single function on the stack decides, wherever it stands. The first that fits counts: assists happen below the
// allocator, the profiler's flush below the end of a cycle.
var oneOf = []struct {
	class    class
	prefixes []string
}{
	{classProfiler, []string{"runtime.mProf_", "runtime.profilealloc", "runtime.(*cpuProfile)", "runtime.sigprof", "runtime/pprof.profileWriter",
		"runtime/pprof.(*profileBuilder)", "runtime/pprof.newProfileBuilder", "runtime/pprof.(*Profile)", "runtime/pprof.writeHeap", "runtime/pprof.StartCPUProfile",
		"runtime/pprof.StopCPUProfile", "runtime/pprof.allFrames", "runtime/pprof.WriteHeapProfile", "net/http/pprof."}},
	{classAssist, []string{"runtime.gcAssistAlloc"}},
	{classMarkIdle, []string{"runtime.gcDrainMarkWorkerIdle"}},
	{classMark, []string{"runtime.gcBgMarkWorker", "runtime.gcDrainMarkWorker"}},
	{classPause, []string{"runtime.gcStart", "runtime.gcMarkDone", "runtime.gcMarkTermination", "runtime.gcstopm"}},
	{classScavenge, []string{"runtime.bgscavenge", "runtime.(*scavengerState)", "runtime.(*pageAlloc).scavenge"}},
	{classSweep, []string{"runtime.bgsweep", "runtime.(*sweepLocked).sweep", "runtime.sweepone", "runtime.deductSweepCredit", "runtime.(*mheap).reclaim"}},
	{classBarrier, []string{"runtime.gcWriteBarrier", "runtime.wbBufFlush", "runtime.wbMove", "runtime.wbZero", "runtime.bulkBarrierPreWrite", "runtime.typeBitsBulkBarrier"}},
}

// rankProfiler is the profiler's index in oneOf.
const rankProfiler = 0

// rankOf is the index in oneOf of the class that the function decides, len(oneOf) if it decides none.
func rankOf(fn string) int {
	if strings.HasPrefix(fn, "runtime") || strings.HasPrefix(fn, "net/http/pprof.") {
		for i, o := range oneOf {
			for _, p := range o.prefixes {
				if strings.HasPrefix(fn, p) {
					return i
				}
			}
		}
	}
	return len(oneOf)
}

// A placement is what a stack is counted as.
type placement struct {
	class class
	entry string // outermost function of the allocator among the runtime's innermost frames, "" if there is none
	site  int    // index of the frame that called it, -1 if there is none
}

// place sorts a stack, innermost frame first.
func place(frames []*frame) placement {
	best := len(oneOf)
	for _, f := range frames {
		best = min(best, f.rank)
	}
	p := placement{site: -1}
	core, zero, last := false, false, -1
	for i, f := range frames {
		if !f.runtime {
			break
		}
		if f.entry {
			p.entry, last = f.fn, i
		}
		core = core || f.core
		zero = zero || strings.HasPrefix(f.fn, "runtime.memclrNoHeapPointers")
	}
	for i := last + 1; last >= 0 && i < len(frames); i++ {
		if !frames[i].runtime {
			p.site = i
			break
		}
	}
	switch {
	case best < len(oneOf):
		p.class = oneOf[best].class
	case core && zero:
		p.class = classZero
	case core:
		p.class = classAlloc
	}
	return p
}
