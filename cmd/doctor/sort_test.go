// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/freehold-go/freehold/cmd/evidence"
	"github.com/freehold-go/freehold/cmd/internal/profiletest"
)

// sortText is a program that collects records and sorts them. The control is the same program
// without the lines that are marked "// sorts".
const sortText = `package shop

import (
	"bytes"
	"slices"
	"sort"
)

var (
	kept  []string
	sizes []int
)

func collect(lines [][]byte) [][]byte {
	var records [][]byte
	for _, l := range lines {
		records = append(records, l) // grow
	}
	sort.Slice(records, func(i, j int) bool { return bytes.Compare(records[i], records[j]) < 0 }) // sorts
	return records
}

func keep(lines [][]byte) {
	for _, l := range lines {
		kept = append(kept, string(l)) // keep
	}
}

func own(line []byte) string {
	return string(line) // own
}

func call(line []byte) {
	kept[0] = string(bytes.ToUpper(line)) // call
}

func flush() {
	slices.Sort(kept) // sorts
}

func measure(lines [][]byte) {
	for i := range lines {
		sizes = append(sizes, len(lines[i])) // numbers
	}
}

var _, _ = slices.Max([]int{1}), sort.IsSorted
`

// TestSortedRecords: findings about records that the file sorts name sortbuf, and say which line
// sorts. Without the sort, and about a line that makes other values, their remedies do not. All else
// in the finding is the same.
func TestSortedRecords(t *testing.T) {
	t.Setenv("GOWORK", "off")
	growing := func(mark string) func(*fake) {
		return func(f *fake) {
			in := "example.com/shop." + mark + ";main.main"
			f.Ran("runtime.mallocgc;runtime.growslice;"+in, 30)
			f.Ran("runtime.memmove;runtime.growslice;"+in, 10)
			f.Ran("main.work;main.main", 60)
			for i := range 4 {
				f.Made(in, 1024<<i, 1000, 0)
			}
		}
	}
	dropped := func(stack string) func(*fake) {
		return func(f *fake) {
			stack += ";main.serve;net/http.(*conn).serve"
			f.Ran("runtime.mallocgc;runtime.newobject;"+stack, 40)
			f.Ran("example.com/shop.work;main.main", 60)
			f.Made(stack, 64, 1_000_000, 0)
		}
	}
	longLived := func(f *fake) {
		f.Ran("example.com/shop.work;main.main", 500)
		f.Collector(300, 20)
		f.Made("example.com/shop.keep#keep;main.main", 64, 0, 2_000_000)
		f.Made("main.garbage;main.main", 128, 8_000_000, 0)
	}
	for _, c := range []struct {
		name, id string
		fill     func(*fake)
		metrics  map[string]float64
		sorts    string // "" if the finding is about other values
	}{
		{"in the function", "growing-slice", growing("collect#grow"), nil, "If this is the [][]byte that shop.go:19 sorts, "},
		{"in the file", longLivedID, longLived, map[string]float64{evidence.MetricLiveHeap: 128e6, evidence.MetricScanHeap: 128e6, evidence.MetricHeapInUse: 128e6, evidence.MetricScanStack: 1e5, evidence.MetricCyclesTotal: 8},
			"If this is the [][]byte that shop.go:19 sorts, "},
		{"own code", hotPathID, dropped("example.com/shop.own#own"), nil, "If this is the [][]byte that shop.go:19 sorts, "},
		{"a call", hotPathID, dropped("bytes.ToUpper;example.com/shop.call#call"), nil, "If this is the [][]byte that shop.go:19 sorts, "},
		{"numbers", "growing-slice", growing("measure#numbers"), nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			sorted, control := sortFinding(t, c.id, sortText, c.fill, c.metrics), sortFinding(t, c.id, unsorted(sortText), c.fill, c.metrics)
			rest, offer, offers := strings.Cut(sorted.Remedy.Text, " If this is the ")
			if offers != (c.sorts != "") || offers && (!strings.HasPrefix("If this is the "+offer, c.sorts) || !strings.Contains(offer, "sortbuf.Sorter") || !strings.HasSuffix(offer, "(docs/sorting.md).")) {
				t.Errorf("sorted: %s", sorted.Remedy.Text)
			}
			if control.Remedy.Text != rest {
				t.Errorf("not sorted: %s\nwant: %s", control.Remedy.Text, rest)
			}
			if sorted.Gain != control.Gain || sorted.Severity != control.Severity || sorted.Detail != control.Detail {
				t.Errorf("more than the remedy differs:\n%+v\n%+v", sorted, control)
			}
		})
	}
}

// TestSortedProgram diagnoses a real profile of a program that collects the same lines twice: in a
// file that sorts them, and in the control, a file that does not. Only the remedy of the first names
// sortbuf. testdata/sorted-lines/source.txtar has the program, and the command that made the profiles.
func TestSortedProgram(t *testing.T) {
	t.Setenv("GOWORK", "off")
	archive, err := txtar.ParseFile("testdata/sorted-lines/source.txtar")
	if err != nil {
		t.Fatal(err)
	}
	e := keptEvidence(t, "sorted-lines", "cpu.pb.gz", "heap0.pb.gz", "heap1.pb.gz")
	e.Main, e.Root = "example.com/logs", t.TempDir()
	profiletest.Unpack(t, archive, e.Root)
	offers := map[string]bool{}
	for _, f := range diagnosePatiently(e).Findings {
		if f.ID == "growing-slice" {
			offers[filepath.Base(f.Owner.File)] = strings.HasSuffix(f.Remedy.Text, "If this is the [][]byte that sorted.go:15 sorts, and it takes many megabytes, a sortbuf.Sorter keeps the records off the heap and sorts them there (docs/sorting.md).")
		}
	}
	if want := map[string]bool{"sorted.go": true, "control.go": false}; !maps.Equal(offers, want) {
		t.Errorf("remedies that name sortbuf: %v, want %v", offers, want)
	}
}

// unsorted is a program without its sorts, whose lines stay where they are.
func unsorted(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if strings.HasSuffix(l, "// sorts") {
			lines[i] = ""
		}
	}
	return strings.Join(lines, "\n")
}

func sortFinding(t *testing.T, id, text string, fill func(*fake), metrics map[string]float64) *Finding {
	t.Helper()
	e := sourced(t, text, fill)
	for _, fn := range e.Heap[1].Function {
		if filepath.Base(fn.Filename) == "shop.go" {
			e.Root = filepath.Dir(fn.Filename)
		}
	}
	if err := os.WriteFile(filepath.Join(e.Root, "go.mod"), []byte("module example.com/shop\n\ngo 1.26\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	r := diagnosePatiently(with(e, metrics))
	f := findingOf(r, id)
	if f == nil {
		t.Fatalf("%s is not found: %s", id, list(r))
	}
	for _, m := range r.Missing {
		if strings.Contains(m.What, "source") {
			t.Fatalf("%+v", m)
		}
	}
	return f
}
