// SPDX-License-Identifier: Apache-2.0

package sortbuf

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
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

// sources is the text of the files that match.
func sources(t *testing.T, patterns ...string) string {
	t.Helper()
	var all strings.Builder
	for _, pattern := range patterns {
		names, _ := filepath.Glob(pattern)
		if len(names) == 0 {
			t.Fatalf("no file is %s", pattern)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(text)
		}
	}
	return all.String()
}

// TestPromises: each line of the API and of the tables has a test that exists.
func TestPromises(t *testing.T) {
	tests := sources(t, "*_test.go", "../internal/checks/suite/*_test.go")
	exists := func(promise, names string) {
		for name := range strings.FieldsSeq(names) {
			if !strings.Contains(tests, "\nfunc "+name+"(") {
				t.Errorf("%s: there is no test %s", promise, name)
			}
		}
		if names == "" {
			t.Errorf("%s has no test", promise)
		}
	}
	held := func(what, pattern, text string, table map[string]string) {
		var found []string
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
			found = append(found, m[1])
			if _, ok := table[m[1]]; !ok {
				t.Errorf("%s is in the API and has no test here", m[1])
			}
		}
		for name, names := range table {
			if !slices.Contains(found, name) {
				t.Errorf("%s is no %s of the API", name, what)
			}
			exists(name, names)
		}
	}
	api := sources(t, "../api/sortbuf.txt")
	held("function", `(?m)^func ((?:\([^)]*\) )?\w+)`, api, apiTests)
	var fields string
	for _, m := range regexp.MustCompile(`(?ms)^type (?:Options|Codec) struct \{.*?^\}`).FindAllString(api, -1) {
		fields += m
	}
	held("field", `(?m)^\t([A-Z]\w*) `, fields, optionTests)
	for row, names := range badInput {
		exists(row, names)
	}
	workloads := sources(t, "../cmd/bench/workloads/sort*.go")
	for _, name := range bars {
		kind := strings.TrimPrefix(name, "sort/") // The hard inputs are a list.
		if !strings.Contains(workloads, `"`+name+`"`) && !strings.Contains(workloads, `{"`+kind+`", "`) {
			t.Errorf("no workload is %s", name)
		}
	}
}
