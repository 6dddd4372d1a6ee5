// SPDX-License-Identifier: Apache-2.0

package sortbuf

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"math/bits"
	"os"
	"runtime"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/internal/tempfile"
	"github.com/freehold-go/freehold/offheap"
)

// Options configure a Sorter, a Merge, a Save and an Open. The zero value works.
type Options struct {
	// Memory is the budget in bytes, at least 1 MiB; 0 stands for a quarter of the container's limit,
	// or of the machine's memory. All off-heap memory counts: records, their index, the unused ends
	// of chunks, the buffers of spills and merges. A record may have up to a quarter of it.
	Memory int64

	// Purpose is the account of the memory, nil for that of offheap as a whole. Several sorters may
	// share one with a limit. New then reserves 2 MiB for each, or Memory if that is less. A sorter
	// that the limit refuses spills its records and asks the largest other sorter of the Purpose to
	// spill, which that one does in its own next call. If the limit still refuses, Add returns
	// [offheap.ErrLimit].
	Purpose *offheap.Purpose

	// Dir is the folder of spill files. The default is the system's folder for temporary files, or
	// /var/tmp if that folder is on a tmpfs, which is memory.
	Dir string

	// MaxDisk bounds the bytes of the sorter's spill files; 0 stands for no bound.
	MaxDisk int64

	// Parallel is the number of goroutines that sort; 0 stands for GOMAXPROCS, at most 8. From 2 on, a
	// run is sorted and written while the next one is filled.
	Parallel int

	// Compare orders keys: it is negative if a is before b, 0 if they are equal. nil compares bytes,
	// which takes a tenth of the time; see AppendInt64 and its like for keys that compare as bytes.
	// Compare may be called by several goroutines at once. It must not call the sorter, and must not
	// change or keep its arguments. If it is no strict weak order, the order is unspecified.
	Compare func(a, b []byte) int

	// Combine makes one record of records with equal keys, of which the first key remains. It appends
	// the combination of the values a and b, of which a arrived first, to dst and returns the result.
	// It is called before records are written to a spill file, and when they are read. The restrictions
	// of Compare hold.
	Combine func(dst, a, b []byte) []byte

	// Limit keeps the first Limit records of the order, and drops the others as soon as possible; 0
	// keeps all. With Combine it counts the combined records.
	Limit int64

	// Codec compresses the blocks of spill files and of the files of Save; nil compresses nothing. A
	// file must be opened with the Codec that wrote it.
	Codec *Codec

	// Progress is called now and then, at most once for each block or chunk. It must be fast, must not
	// call the sorter, and may be called by several goroutines at once.
	Progress func(Progress)

	open  int                   // The most runs that are open, for tests.
	chunk int                   // The bytes of a chunk, for tests.
	block int                   // The bytes of a block, for tests.
	fault func(op string) error // Called before each call to memory and file system, for tests.
}

// A Codec compresses blocks. Its functions must be safe for concurrent use.
type Codec struct {
	// Name is written to each file, at most 31 bytes.
	Name string
	// Compress appends the compressed src to dst.
	Compress func(dst, src []byte) []byte
	// Decompress appends the bytes to dst that Compress made src of. dst has the capacity for all of
	// them.
	Decompress func(dst, src []byte) ([]byte, error)
}

// A Phase is what a Sorter does.
type Phase uint8

// The phases, in their usual order.
const (
	PhaseSort  Phase = iota + 1 // Records are sorted in memory.
	PhaseSpill                  // A run is written.
	PhaseMerge                  // Runs are merged to a longer run.
	PhaseSave                   // A file is written by Save.
	PhaseRead                   // The caller gets the records.
)

// String is the name of the phase.
func (p Phase) String() string {
	names := [...]string{"", "sort", "spill", "merge", "save", "read"}
	if int(p) < len(names) {
		return names[p]
	}
	return fmt.Sprintf("Phase(%d)", uint8(p))
}

// Progress is how far a phase is.
type Progress struct {
	Phase   Phase
	Records int64 // Records of this phase so far.
	Total   int64 // Records that the phase will have, 0 if unknown.
}

// A Record is a key and its value. Both are valid until the next step of the iteration, and must not
// be changed.
type Record struct {
	Key, Value []byte
}

// A Group is the records of one key. Key and the values are valid until the next step of their
// iteration. Values can be iterated once; the values that the caller leaves are skipped.
type Group struct {
	Key    []byte
	Values iter.Seq2[[]byte, error]
}

var (
	// ErrClosed says that the Sorter or the Run was closed.
	ErrClosed = errors.New("sortbuf: closed")
	// ErrSorted says that records were added after Sorted.
	ErrSorted = errors.New("sortbuf: Add after Sorted")
	// ErrBusy says that another iteration of the same Sorter is under way.
	ErrBusy = errors.New("sortbuf: another iteration of the Sorter is under way")
	// ErrTooLarge says that a record is larger than a quarter of the budget, or than 2 GiB.
	ErrTooLarge = errors.New("sortbuf: record too large")
	// ErrOrder says that the input of Save is out of order.
	ErrOrder = errors.New("sortbuf: input out of order")
	// ErrDamaged says that a file is damaged, or of a version that this package does not know. A
	// [*DamagedError] has the place.
	ErrDamaged = errors.New("sortbuf: damaged file")
	// ErrMaxDisk says that Options.MaxDisk is reached. A [*SpillError] wraps it.
	ErrMaxDisk = errors.New("sortbuf: MaxDisk is reached")

	errNoRoom = offheap.ErrLimit
)

// A DamagedError is a damaged place of a file. It is ErrDamaged.
type DamagedError struct {
	File   string
	Block  int64 // The number of the block, -1 outside the blocks.
	Offset int64 // Where the block, or the damaged part, begins.
	Cause  string
}

// Error has the file, the place and the cause.
func (e *DamagedError) Error() string {
	if e.Block < 0 {
		return fmt.Sprintf("%v: %s, offset %d: %s", ErrDamaged, e.File, e.Offset, e.Cause)
	}
	return fmt.Sprintf("%v: %s, block %d, offset %d: %s", ErrDamaged, e.File, e.Block, e.Offset, e.Cause)
}

// Is reports that e is ErrDamaged.
func (e *DamagedError) Is(target error) bool { return target == ErrDamaged }

// A SpillError is a run that could not be written. Its records stay in memory and can be read. The
// next call that needs memory tries again.
type SpillError struct {
	Path    string // The folder of the spill file, or the path of Save.
	Written int64  // The bytes of the file that were written; they are free again.
	Err     error
}

// Error has the path, the bytes that were written and the cause.
func (e *SpillError) Error() string {
	return fmt.Sprintf("sortbuf: writing to %s failed after %d bytes: %v", e.Path, e.Written, e.Err)
}

// Unwrap is the cause.
func (e *SpillError) Unwrap() error { return e.Err }

const (
	leastMemory = 1 << 20
	mostReserve = 2 << 20   // What New reserves.
	mostChunk   = 256 << 10 // Of a Sorter. A chunk of each Writer is open, so it should not be large.
	mostBlock   = 32 << 10
	mostRuns    = 512 // Spill files that are open at once, if the process may have so many.
	mostWorkers = 8
	mostRecord  = math.MaxInt32
	mostCodec   = 31
)

// withDefaults is o with all values, or an error.
func (o Options) withDefaults() (Options, error) {
	var errs []error
	check := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf("sortbuf: "+format, args...))
		}
	}
	check(o.Memory != 0 && o.Memory < leastMemory, "Options.Memory is %d bytes, fewer than %d", o.Memory, leastMemory)
	check(o.MaxDisk < 0, "Options.MaxDisk is %d", o.MaxDisk)
	check(o.Limit < 0, "Options.Limit is %d", o.Limit)
	check(o.Parallel < 0, "Options.Parallel is %d", o.Parallel)
	if c := o.Codec; c != nil {
		check(c.Name == "" || len(c.Name) > mostCodec, "Options.Codec.Name is %q, of %d bytes, not 1 to %d", c.Name, len(c.Name), mostCodec)
		check(c.Compress == nil || c.Decompress == nil, "Options.Codec %q lacks a function", c.Name)
	}
	if o.Memory == 0 {
		m := freehold.ReadMachine()
		o.Memory = m.CgroupLimit
		if m.CgroupVersion == 0 || m.Memory > 0 && m.Memory < o.Memory {
			o.Memory = m.Memory
		}
		if o.Memory <= 0 || o.Memory == math.MaxInt64 {
			o.Memory = 1 << 30 // The system does not say.
		}
		o.Memory = max(o.Memory/4, leastMemory)
	}
	o.Memory = min(o.Memory, math.MaxInt/2)
	if o.Parallel == 0 {
		o.Parallel = min(runtime.GOMAXPROCS(0), mostWorkers)
	}
	if o.chunk == 0 {
		o.chunk = int(min(max(o.Memory/128, 4<<10), mostChunk))
	}
	o.chunk = 1 << (bits.Len(uint(o.chunk)) - 1)
	if o.block == 0 {
		o.block = int(min(o.Memory/64, mostBlock))
	}
	if o.open == 0 {
		o.open = min(max(openFiles()/4, 4), mostRuns)
	}
	if o.fault == nil {
		o.fault = func(string) error { return nil }
	}
	return o, errors.Join(errs...)
}

// dir is the folder of spill files.
func (o *Options) dir() string {
	if o.Dir != "" {
		return o.Dir
	}
	dir := os.TempDir()
	if tempfile.IsMemory(dir) {
		if info, err := os.Stat(largeTemp); err == nil && info.IsDir() && !tempfile.IsMemory(largeTemp) {
			return largeTemp
		}
	}
	return dir
}

// largeTemp is the folder for temporary files that is on a disk.
const largeTemp = "/var/tmp"

// report calls Progress.
func (o *Options) report(p Phase, records, total int64) {
	if o.Progress != nil {
		o.Progress(Progress{Phase: p, Records: records, Total: total})
	}
}

// mostRecord is the most bytes of key and value of a record.
func (o *Options) mostRecord() int64 { return min(o.Memory/4, mostRecord) }

// tooLarge is the error for a record of n bytes.
func tooLarge(n uint64, o *Options) error {
	return fmt.Errorf("%w: %d bytes; with Options.Memory %d at most %d", ErrTooLarge, n, o.Memory, o.mostRecord())
}
