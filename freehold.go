// SPDX-License-Identifier: Apache-2.0

package freehold

import "errors"

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
	// collector has every value then. Guard and Sample report and overwrite freed values in such
	// arenas, too. The word noreuse.
	NoReuse bool

	// Guard puts each off-heap block and each arena value without pointers on pages of its own,
	// between inaccessible pages: an access behind it, or after its free, faults at once and is
	// explained. Values with pointers stay in memory that the collector scans; when they are freed,
	// each of their pointers is replaced by one that faults. An allocation takes some 10 µs and at
	// least one page. Guarded pages have a budget: half of the mappings that the system allows
	// (vm.max_map_count on Linux), and a quarter of the memory, at most 4 GiB (128 MiB on systems of
	// 32 bits). Near its end chance decides which blocks get guarded pages. A block without them, on a
	// system without such pages every block, has a canary behind it, which is checked when the block
	// is freed and on demand; patterns fill its memory when it is freed, and when it is allocated
	// without zeroing. The word guard.
	Guard bool

	// Leaks keeps the Go stack of each allocation, and lists the memory that was not freed at the
	// end of the process. The word leaks.
	Leaks bool

	// Pointers searches off-heap memory for addresses of the Go heap, which the collector does not
	// see there. The word pointers.
	Pointers bool

	// Sample guards single allocations, for production; 0 guards none. [SampleDefault] picks one
	// allocation in 1000 and guards at most 1,000 a second; samples that were not used in the last 16
	// seconds may be used at once. N guards one allocation in N, without a bound. Sample picks from
	// off-heap blocks and from values without pointers and bools in arenas on Go memory. The words
	// sample and sample=N.
	Sample int
}

// SampleDefault, as Options.Sample, is the word sample without a number.
const SampleDefault = -1

// The meaning of SampleDefault. At 10 µs for a guarded block, 1,000 a second are a hundredth of a
// processor.
const (
	defaultSample     = 1000
	defaultSampleRate = 1000
)

// ErrStarted says that [Configure] came too late: a package has allocated already, so the modes
// cannot change any more.
var ErrStarted = errors.New("freehold: the modes are in use already; call Configure before the first allocation")
