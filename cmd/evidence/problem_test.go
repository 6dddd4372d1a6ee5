// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/freehold-go/freehold/cmd/internal/profiletest"
)

// Each fault of the evidence is named once, and evidence without faults has none.
func TestProblems(t *testing.T) {
	const begin = int64(1_790_000_000e9)
	of := func(file, id string) []*profile.Mapping {
		return []*profile.Mapping{{ID: 1, File: "/opt/bin/" + file, BuildID: id}}
	}
	for _, c := range []struct {
		name   string
		change func(cpu, heap *profile.Profile)
		want   string
	}{
		{"one program", func(cpu, heap *profile.Profile) {}, ""},
		{"the same build at another place", func(cpu, heap *profile.Profile) { heap.Mapping = of("copy", "abc") }, ""},
		{"no build ID", func(cpu, heap *profile.Profile) { heap.Mapping = of("shop", "") }, ""},
		{"names of the system", func(cpu, heap *profile.Profile) { heap.Mapping = of("[vdso]", "") }, ""},
		{"another build", func(cpu, heap *profile.Profile) { heap.Mapping = of("shop", "def") }, "the CPU profile and the heap profile are of two builds of shop (build IDs abc and def)"},
		{"another program", func(cpu, heap *profile.Profile) { heap.Mapping = of("store", "") }, "are of different programs (shop and store)"},
		{"taken by hand", func(cpu, heap *profile.Profile) { heap.TimeNanos = begin + 100e9 }, ""},
		{"taken an hour later", func(cpu, heap *profile.Profile) { heap.TimeNanos = begin + 3610e9 }, "was taken 1h0m0s after the end of the CPU profile"},
		{"taken an hour before", func(cpu, heap *profile.Profile) { heap.TimeNanos = begin - 3600e9 }, "was taken 1h0m0s before the CPU profile"},
		{"without a time", func(cpu, heap *profile.Profile) { heap.TimeNanos = 0 }, ""},
	} {
		f := profiletest.Program()
		f.CPU.TimeNanos, f.Heap.TimeNanos = begin, begin+10e9
		f.CPU.Mapping, f.Heap.Mapping = of("shop", "abc"), of("shop", "abc")
		c.change(f.CPU, f.Heap)
		e := &Evidence{CPU: f.CPU}
		e.Heap[1] = f.Heap
		list := e.Problems()
		if c.want == "" && len(list) > 0 || c.want != "" && (len(list) != 1 || !strings.Contains(list[0].What, c.want) || list[0].How == "") {
			t.Errorf("%s: %q, want %q", c.name, list, c.want)
		}
	}
}

func TestProblemTimesOfTwo(t *testing.T) {
	const begin = int64(1_790_000_000e9)
	f := profiletest.Program()
	f.CPU.TimeNanos, f.Heap.TimeNanos = begin, begin+11e9
	first := f.Heap.Copy()
	e := &Evidence{CPU: f.CPU, Heap: [2]*profile.Profile{first, f.Heap}}
	first.TimeNanos = begin - 1e9
	if list := e.Problems(); len(list) != 0 {
		t.Errorf("around the CPU profile: %v", list)
	}
	first.TimeNanos = begin + 10.5e9
	if list := e.Problems(); len(list) != 1 || !strings.Contains(list[0].What, "are of different times") {
		t.Errorf("both after the CPU profile: %v", list)
	}
}

// A file that is given twice counts once, and CPU profiles of two programs are named.
func TestProblemTwice(t *testing.T) {
	f := profiletest.Program()
	cpu, heap := profiletest.Written(t, f.CPU, true), profiletest.Written(t, f.Heap, true)
	e := readAll(t, [][]byte{cpu, heap, cpu, heap, []byte(profiletest.TraceText), []byte(profiletest.TraceText)}, []int{0, 1, 2, 3, 4, 5})
	if profiletest.Sums(e.CPU)[0] != 1000 || e.Heap[0] != nil || len(e.Trace.Cycles) != 3 {
		t.Errorf("files count twice: %+v", e)
	}
	if text := fmt.Sprint(e.Problems()); len(e.Problems()) != 3 || !strings.Contains(text, "file2 has the same contents as file0, and is left out") {
		t.Error(text)
	}
	other := f.CPU.Copy()
	f.CPU.Mapping, other.Mapping = []*profile.Mapping{{ID: 1, File: "a", BuildID: "1"}}, []*profile.Mapping{{ID: 1, File: "b", BuildID: "2"}}
	e = readAll(t, [][]byte{profiletest.Written(t, f.CPU, true), profiletest.Written(t, other, true)}, []int{0, 1})
	if text := fmt.Sprint(e.Problems()); !strings.Contains(text, "the CPU profiles are of different programs (a and b)") {
		t.Error(text)
	}
}
