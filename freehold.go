package freehold

import (
	"errors"
	"fmt"
)

// Options are the modes of the whole program. The zero value is what nearly every program wants. Each field is also a word of the variable
// FREEHOLD; where both give a number, the variable's counts.
type Options struct {
	// Heap is the kill switch: every block comes from the Go heap and everything still works, at the Go heap's price. It tells
	// whether a fault or a cost is freehold's. The same as the word heap in FREEHOLD or the build tag freehold_heap. The debug
	// modes below do nothing with it.
	Heap bool

	// NoMemLimit leaves Go's soft memory limit (GOMEMLIMIT) alone, for a program that keeps the account itself. The same as the
	// word nomemlimit in FREEHOLD.
	NoMemLimit bool

	// NoReuse makes all arenas on Go memory leave what they give up to the collector: a value that is used after its arena's Free,
	// Reset or Rewind stays what it was, and a data race through it can tear nothing of another owner's. Off-heap memory is reused as
	// ever; one line on standard error says so if there is an off-heap arena. With Heap it changes nothing, because every value is the
	// collector's then; Guard, Poison and Sample report and overwrite values that are used too late in such arenas, too. The word
	// noreuse.
	NoReuse bool

	// Random chooses at random which free block a small allocation (up to 64 KiB) off the heap gets, so
	// that an attacker who controls allocations cannot arrange which blocks are neighbours, or who gets
	// a freed block. Each small allocation takes the slow way, some 50 ns. The word random.
	Random bool

	// Guard puts each off-heap block and each arena value without pointers on pages of its own, between inaccessible ones: an access
	// behind it, or after its free, faults at once and is explained. Values with pointers stay where the collector sees them; when they
	// are given up, each of their pointers is made one that faults. An allocation takes some 10 µs and at least one page. The word
	// guard.
	Guard bool

	// Poison fills fresh memory of allocations that ask for no zeroing, and freed memory, with patterns, and puts a canary
	// behind each block, which is checked when the block is freed and on demand. The word poison.
	Poison bool

	// Leaks keeps the Go stack of each allocation, and lists at the end of the process what was not freed. The word leaks.
	Leaks bool

	// Pointers searches off-heap memory for addresses of the Go heap, which the collector does not see there. The word pointers.
	Pointers bool

	// Sample guards one allocation in Sample, for production; 0 guards none. It picks from off-heap blocks and from values without
	// pointers and bools in arenas on Go memory. The word sample=N.
	Sample int

	// SampleRate bounds the allocations that are guarded because of Sample, in a second: 0 means 1000, a negative number no bound. What
	// was not used of the last 16 seconds may be used at once. The word samplerate=R, where R 0 means no bound.
	SampleRate int

	// GuardMaps bounds the mappings that guarded blocks take of the system: two for each that is in use. When 7/8 of the bound are used,
	// chance decides which blocks are guarded: its probability halves 16 times up to the bound and never is 0 below it. Blocks that come
	// unguarded are counted, and one line on standard error says so. 0 means half of what the system allows (vm.max_map_count on Linux).
	// Sampled values in arenas take at most 7/8 of the bound. The word guardmaps=N.
	GuardMaps int

	// GuardBytes bounds the bytes of guarded blocks in use and of freed ones that are kept inaccessible, each counted in whole pages;
	// when it is reached, the addresses freed first are used again. Blocks in use take at most 7/8 of the bound, and near that are guarded
	// by chance, as with GuardMaps. 0 means a quarter of the memory that the process may use, at most 4 GiB (128 MiB on systems of 32
	// bits), and with Sample and without Guard an eighth, at most 256 MiB. The word guardbytes=SIZE, with K, M, G or T for powers of 1024.
	GuardBytes int64

	// Evidence is a folder in which the process makes one for what a report of a crash needs, with Guard, Poison, Leaks or Sample: the
	// table of blocks, their stacks, and the text of the crash. So there is a report later, by [ExplainEvidence] or freehold explain, where
	// there is none at once: of process 1 of a container, and where standard error is lost. Of each program the latest 20 are kept. "" keeps
	// none. The word evidence=DIR, in which DIR has no comma. It works on Unix.
	Evidence string
}

// defaultSampleRate is what SampleRate 0 stands for: at 10 µs for a guarded block, a hundredth of a processor.
const defaultSampleRate = 1000

// validate names every field that has no meaning.
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

// ErrStarted says that [Configure] came too late: a package has allocated already and the modes cannot change any more.
var ErrStarted = errors.New("freehold: the modes are in use already; call Configure before the first allocation")

// Configure adds o to the modes that FREEHOLD and earlier calls ask for; it never takes one away. Of numbers, the variable's count
// before those of the last call. Once a package has asked for its mode, a call that would change something returns an error that
// errors.Is [ErrStarted] and changes nothing; so does a call with a negative number where there is no meaning to it, with another error.
func Configure(o Options) error { return process.configure(o) }

// Modes returns the modes that are in force so far, without freezing them.
func Modes() Options { return process.current() }

// HeapMode reports whether blocks must come from the Go heap. The first call freezes the modes for the life of the process, so
// only a package that is about to allocate calls it. Later calls cost one atomic load.
func HeapMode() bool { return process.frozen()&modeHeap != 0 }

// NoReuseMode reports whether arenas on Go memory leave what they give up to the collector. It freezes the modes as [HeapMode] does.
func NoReuseMode() bool { return process.frozen()&modeNoReuse != 0 }
