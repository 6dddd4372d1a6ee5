// SPDX-License-Identifier: Apache-2.0

package sortbuf

import (
	"testing"

	"github.com/freehold-go/freehold/internal/checks/testenv"
)

// apiTests maps each function and method of the API, as api/sortbuf.txt has it up to its parameters,
// to the tests that hold it to its documentation. The tests stand here and in internal/checks/suite.
var apiTests = map[string]string{
	"New": "TestBadOptions TestMemoryRefused TestFaults", "(s *Sorter) Add": "FuzzSorter TestFaults TestTooLarge TestBadFolder TestClosed TestSortsHardInput",
	"(s *Sorter) Reserve": "FuzzSorter TestTooLarge", "(s *Sorter) Writer": "FuzzSorter TestSorterSpills TestManyWriters", "(s *Sorter) Sorted": "FuzzSorter TestSortsHardInput TestContext TestClosed",
	"(s *Sorter) Stats": "FuzzSorter TestSorterStats", "(s *Sorter) Close": "FuzzSorter TestClosed TestClosedWithin TestDropped TestSorterStats",
	"(w *Writer) Add": "FuzzSorter TestClosed", "(w *Writer) Reserve": "FuzzSorter TestSorterSpills TestClosed",

	"Groups": "FuzzSorter TestGroups", "Merge": "FuzzSorter TestContext TestBadOpen", "Save": "FuzzSorter TestBadOrder TestFaults TestFullDisk TestContext TestSortKill",
	"Open": "FuzzSorter TestBadOpen TestLaterVersion TestDamage", "(r *Run) All": "FuzzSorter TestDamage TestClosed", "(r *Run) Range": "FuzzSorter", "(r *Run) Find": "FuzzSorter TestDamage TestClosed",
	"(r *Run) Verify": "FuzzSorter TestDamage TestContext", "(r *Run) Close": "TestClosed TestRunDropped", "(r *Run) Len": "FuzzSorter TestSpillsAndSaves",

	"(b *Buffer) All": "FuzzSortBuffer TestBadPos", "(b *Buffer) Append": "FuzzSortBuffer TestSortBufferRefused", "(b *Buffer) At": "FuzzSortBuffer TestBadPos", "(b *Buffer) Bytes": "FuzzSortBuffer",
	"(b *Buffer) Free": "FuzzSortBuffer TestBufferGivesBack", "(b *Buffer) Len": "FuzzSortBuffer", "(b *Buffer) Reserve": "FuzzSortBuffer TestBadPos", "(b *Buffer) Reset": "FuzzSortBuffer TestBufferGivesBack",
	"(b *Buffer) Sorted": "FuzzSortBuffer TestBufferGivesBack", "BufferFor": "FuzzSortBuffer TestSortBufferRefused",

	"AppendInt64": "FuzzOrderedKeys", "AppendUint64": "FuzzOrderedKeys", "AppendFloat64": "FuzzOrderedKeys", "AppendString": "FuzzOrderedKeys", "Descending": "FuzzOrderedKeys",
	"(e *DamagedError) Error": "TestDamage TestSpilledDamage", "(e *DamagedError) Is": "TestDamage", "(e *SpillError) Error": "TestBadFolder", "(e *SpillError) Unwrap": "TestBadFolder TestFullDisk",
	"(p Phase) String": "TestSorterStats",
}

// optionTests maps each exported field of Options and Codec to its tests.
var optionTests = map[string]string{
	"Memory": "FuzzSorter TestTooLarge TestBadOptions TestDefaults", "Purpose": "TestMemoryRefused TestDropped", "Dir": "TestBadFolder TestDefaults", "MaxDisk": "TestReadableWhenDiskIsFull",
	"Parallel": "FuzzSorter TestSortsHardInput TestPanics", "Compare": "FuzzSorter TestSortsHardInput TestBadComparator", "Combine": "FuzzSorter TestPanics TestShrinks", "Limit": "FuzzSorter TestShrinks",
	"Codec": "FuzzSorter TestBadCodec TestBadOpen TestDamage", "Progress": "TestSorterStats",
	"Name": "TestBadOptions TestBadOpen", "Compress": "FuzzSorter", "Decompress": "FuzzSorter TestBadCodec",
}

// badInput is what each mistake, or refusal, does, and its tests.
var badInput = map[string]string{
	"comparator without a strict weak order":                            "TestBadComparator",
	"comparator or Combine that panics":                                 "TestPanics",
	"record above a quarter of the budget; budget below 1 MiB":          "TestTooLarge TestBadOptions",
	"folder missing, not writable, full; MaxDisk reached":               "TestBadFolder TestFullDisk TestReadableWhenDiskIsFull",
	"context cancelled":                                                 "TestContext",
	"run file cut, flipped, of a later version":                         "TestDamage TestLaterVersion TestSpilledDamage",
	"each call to memory and file system fails":                         "TestFaults",
	"file system without files that have no name":                       "TestOtherFileSystems",
	"process killed; disk of 64 MiB full":                               "TestSortKill TestSortFullDisk",
	"Add after Sorted; calls after Close; two iterations":               "FuzzSorter TestClosed TestClosedWithin",
	"Save of input out of order; file opened with other Options":        "TestBadOrder TestBadOpen",
	"made-up Pos; copy of a Buffer; negative length":                    "TestBadPos",
	"codec that fails":                                                  "TestBadCodec",
	"Sorter or Run dropped without Close":                               "TestDropped TestRunDropped",
	"more runs than descriptors or buffers allow":                       "FuzzSorter TestManyRuns",
	"purpose without room: refused, spills, asks the largest, ErrLimit": "TestMemoryRefused TestAsksTheLargest",
}

// bars are the workloads of freehold bench that measure each bar.
var bars = []string{
	"sort/memory", "sort/compare", "sort/parallel", "sort/prefix", "sort/equal", "sort/two", "sort/sorted", "sort/reversed", "sort/urls", "sort/spill", "sort/find", "sort/purpose", "sort/lines",
}

// TestPromises: each line of the API and of the tables has a test that exists.
func TestPromises(t *testing.T) {
	testenv.Promises{
		API: "../api/sortbuf.txt", Functions: apiTests,
		Types: "Options|Codec", Fields: optionTests,
		Rows: badInput, Workloads: "../cmd/bench/workloads/sort*.go", Bars: bars, Variants: true,
	}.Check(t)
}
