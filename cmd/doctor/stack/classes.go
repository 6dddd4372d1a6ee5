// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"regexp"
	"slices"
	"strings"
)

// A Class says what used CPU time: the program itself, the allocator, or a part of the collector.
type Class int

// The classes.
const (
	Mutator  Class = iota // the program's own work, and all time in no other class
	Alloc                 // the allocator
	Zero                  // clearing memory that is being allocated
	Mark                  // workers of the collector
	MarkIdle              // the same on Ps that had nothing else to do
	Assist                // marking that allocating goroutines must do
	Sweep                 // sweeping, in the background or inside an allocation
	Barrier               // write barriers
	Pause                 // starting and ending cycles, and stopping goroutines for that
	Scavenge              // giving memory back to the system
	Profiler              // the profilers' own work
	NumClasses
)

var classNames = [NumClasses]string{
	"program", "allocation", "zeroing", "mark", "mark (idle)", "assist", "sweep", "write barrier", "pause", "scavenge", "profiler",
}

// String returns the class's name in reports, such as "mark (idle)".
func (c Class) String() string { return classNames[c] }

// IsGC reports whether the class is the collector's.
func (c Class) IsGC() bool { return c >= Mark && c <= Scavenge }

// allocEntry are functions of the runtime by which programs call the allocator. Since Go 1.27 the
// compiler calls mallocs that are specialised for a size, so runtime.mallocgc alone is not enough.
// Some of these functions do other work, too, such as copying and hashing.
var allocEntry = regexp.MustCompile(`^runtime\.(malloc|newobject|newarray|makeslice|growslice|rawstring|rawbyteslice|rawruneslice|concatstring|concatbyte|` +
	`slicebytetostring|stringtoslicebyte|stringtoslicerune|slicerunetostring|intstring|mapassign|makemap|makechan|convT|moveSlice)|` +
	`^(reflect|internal/reflectlite)\.(unsafe_New|makemap|mapassign|growslice|makechan)|^internal/bytealg\.MakeNoZero$|^maps\.clone$`)

// allocCore are those of them that only allocate.
var allocCore = regexp.MustCompile(`^runtime\.(malloc|newobject|newarray|makeslice|rawstring|rawbyteslice|rawruneslice)|^reflect\.unsafe_New|^internal/bytealg\.MakeNoZero$`)

// oneOf are the classes that a single function on the stack decides, wherever it stands. The first
// match in this order counts, because the allocator calls assists, and the end of a cycle calls the
// profiler's flush.
var oneOf = []struct {
	class    Class
	prefixes []string
}{
	{Profiler, []string{"runtime.mProf_", "runtime.profilealloc", "runtime.(*cpuProfile)", "runtime.sigprof", "runtime/pprof.profileWriter",
		"runtime/pprof.(*profileBuilder)", "runtime/pprof.newProfileBuilder", "runtime/pprof.(*Profile)", "runtime/pprof.writeHeap", "runtime/pprof.StartCPUProfile",
		"runtime/pprof.StopCPUProfile", "runtime/pprof.allFrames", "runtime/pprof.WriteHeapProfile", "net/http/pprof."}},
	{Assist, []string{"runtime.gcAssistAlloc"}},
	{MarkIdle, []string{"runtime.gcDrainMarkWorkerIdle"}},
	{Mark, []string{"runtime.gcBgMarkWorker", "runtime.gcDrainMarkWorker"}},
	{Pause, []string{"runtime.gcStart", "runtime.gcMarkDone", "runtime.gcMarkTermination", "runtime.gcstopm"}},
	{Scavenge, []string{"runtime.bgscavenge", "runtime.(*scavengerState)", "runtime.(*pageAlloc).scavenge"}},
	{Sweep, []string{"runtime.bgsweep", "runtime.(*sweepLocked).sweep", "runtime.sweepone", "runtime.deductSweepCredit", "runtime.(*mheap).reclaim"}},
	{Barrier, []string{"runtime.gcWriteBarrier", "runtime.wbBufFlush", "runtime.wbMove", "runtime.wbZero", "runtime.bulkBarrierPreWrite", "runtime.typeBitsBulkBarrier"}},
}

// rankProfiler is the profiler's index in oneOf.
const rankProfiler = 0

// rankOf is the index in oneOf of the class that the function decides, len(oneOf) if it decides
// none.
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

// stringEntries are the functions of the runtime that concatenate and convert strings, and the one
// by which strings.Builder and strings.Repeat allocate.
var stringEntries = []string{
	"runtime.concatstring", "runtime.concatbyte", "runtime.slicebytetostring", "runtime.stringtoslicebyte", "runtime.stringtoslicerune", "runtime.slicerunetostring",
	"runtime.intstring", "runtime.rawstring", "runtime.rawbyteslice", "internal/bytealg.MakeNoZero",
}

// MakesText reports whether a function of the runtime makes strings, or slices of bytes and runes
// from strings.
func MakesText(entry string) bool {
	return slices.ContainsFunc(stringEntries, func(p string) bool { return strings.HasPrefix(entry, p) })
}
