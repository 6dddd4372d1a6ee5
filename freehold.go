// SPDX-License-Identifier: Apache-2.0

package freehold

import (
	"errors"
	"fmt"
)

// Options are the modes of the whole program. The zero value is right for nearly every program.
// Each field is also a word of the variable FREEHOLD; if both give a number, the variable's counts.
type Options struct {
	// Heap is the kill switch: every block comes from the Go heap, and everything still works, at
	// the Go heap's cost. So it shows whether freehold causes a fault or a cost. The word heap. The
	// debug modes below have no effect with it.
	Heap bool

	// NoMemLimit leaves Go's soft memory limit (GOMEMLIMIT) alone, for a program that sets the
	// limit itself. The word nomemlimit.
	NoMemLimit bool

	// NoReuse makes all arenas on Go memory leave their freed memory to the collector. A value that
	// is used after its arena's Free, Reset or Rewind does not change, and a data race through it
	// cannot tear another owner's data. Off-heap memory is still reused; if there is an off-heap
	// arena, one line on standard error says so. With Heap the mode changes nothing, because the
	// collector has every value then. Guard, Poison and Sample report and overwrite freed values in
	// such arenas, too. The word noreuse.
	NoReuse bool

	// Guard puts each off-heap block and each arena value without pointers on pages of its own,
	// between inaccessible pages: an access behind it, or after its free, faults at once and is
	// explained. Values with pointers stay in memory that the collector scans; when they are freed,
	// each of their pointers is replaced by one that faults. An allocation takes some 10 µs and at
	// least one page. The word guard.
	Guard bool

	// Poison fills freed memory, and fresh memory of allocations without zeroing, with patterns. It
	// puts a canary behind each block, which is checked when the block is freed and on demand. The
	// word poison.
	Poison bool

	// Leaks keeps the Go stack of each allocation, and lists the memory that was not freed at the
	// end of the process. The word leaks.
	Leaks bool

	// Pointers searches off-heap memory for addresses of the Go heap, which the collector does not
	// see there. The word pointers.
	Pointers bool

	// Sample guards one allocation in Sample, for production; 0 guards none. It picks from off-heap
	// blocks and from values without pointers and bools in arenas on Go memory. The word sample=N.
	Sample int

	// SampleRate bounds the allocations that Sample guards in a second: 0 means 1000, a negative
	// number no bound. Samples that were not used in the last 16 seconds may be used at once. The
	// word samplerate=R, where R 0 means no bound.
	SampleRate int

	// GuardMaps bounds the mappings of guarded blocks: each block in use takes two. When 7/8 of the
	// bound are used, chance decides which blocks are guarded: the probability halves 16 times up
	// to the bound and is never 0 below it. Blocks without guard are counted, and one line on
	// standard error says so. 0 means half of the mappings that the system allows (vm.max_map_count
	// on Linux). Sampled values in arenas take at most 7/8 of the bound. The word guardmaps=N.
	GuardMaps int

	// GuardBytes bounds the bytes of guarded blocks in use and of freed blocks that stay
	// inaccessible, each counted in whole pages. When the bound is reached, the addresses freed
	// first are used again. Blocks in use take at most 7/8 of the bound; near that, chance decides
	// which are guarded, as with GuardMaps. 0 means a quarter of the memory that the process may
	// use, at most 4 GiB (128 MiB on systems of 32 bits); with Sample and without Guard it means an
	// eighth, at most 256 MiB. The word guardbytes=SIZE, with K, M, G or T for powers of 1024.
	GuardBytes int64

	// Evidence is a folder for crash reports, with Guard, Poison, Leaks or Sample. The process
	// makes a folder in it with the table of blocks, their stacks, and the text of the crash.
	// [ExplainEvidence] or freehold explain makes a report of it later, if a report at once is not
	// possible: for process 1 of a container, and if standard error is lost. The latest 20 folders
	// of each program are kept. "" keeps none. The word evidence=DIR, in which DIR has no comma. It
	// works on Unix.
	Evidence string
}

// defaultSampleRate is the meaning of SampleRate 0: at 10 µs for a guarded block, a hundredth of a
// processor.
const defaultSampleRate = 1000

// validate names every field with a meaningless value.
func (o Options) validate() error {
	var errs []error
	for _, f := range []struct {
		name  string
		value int64
	}{{"Sample", int64(o.Sample)}, {"GuardMaps", int64(o.GuardMaps)}, {"GuardBytes", o.GuardBytes}} {
		if f.value < 0 {
			errs = append(errs, fmt.Errorf("freehold: Options.%s is %d; want 0 or more", f.name, f.value))
		}
	}
	return errors.Join(errs...)
}

// ErrStarted says that [Configure] came too late: a package has allocated already, so the modes
// cannot change any more.
var ErrStarted = errors.New("freehold: the modes are in use already; call Configure before the first allocation")
