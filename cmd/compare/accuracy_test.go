// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"
)

// TestPlanted counts how often a slowdown of 5 % in a dependency is found, and how often one is found where nothing has changed. make
// compare-accuracy runs it; it takes most of an hour, and asserts nothing.
func TestPlanted(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("FREEHOLD_TEST_PLANTED"))
	if err != nil {
		t.Skip("FREEHOLD_TEST_PLANTED is not the number of runs; make compare-accuracy sets it")
	}
	const work = "package dep\n\nvar keep []byte\n\nvar sum uint64\n\nfunc Work() {\n\tkeep = make([]byte, 512)\n\tfor i := range %d {\n\t\tsum = sum*6364136223846793005 + uint64(i)\n\t}\n}\n"
	for version, rounds := range map[string]int{"v1.5.0": 20000, "v1.6.0": 21000, "v1.7.0": 20000} {
		dependency[version] = depFile(version, "1.22", fmt.Sprintf(work, rounds))
	}
	versionsModule(t, "1.22")
	for _, c := range []struct {
		what, with string
		runs       int
	}{{"5 % more work", "example.com/dep@v1.5.0,v1.6.0", n}, {"the same code", "example.com/dep@v1.5.0,v1.7.0", n * 5 / 2}} {
		slower, gated, width := 0, 0, 0.0
		for i := range c.runs {
			r, err := Run(t.Context(), Options{A: ".", Bench: "Work", Versions: Versions{With: c.with}, Budget: 30 * time.Second, Benchtime: 200 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			if r.Slower(0) {
				slower++
			}
			for measure, share := range map[string]float64{MeasureAllocs: 0.01, MeasureAllocBytes: 0.02, MeasurePeakHeap: 0.1} {
				if names, _ := r.Above(measure, share); len(names) > 0 {
					gated++
					t.Logf("%s, run %d: %s is above its gate: %+v", c.what, i, measure, r.Comparisons[0].Measure(measure))
				}
			}
			width += *r.Comparisons[0].Measure(MeasureCPU).Width
			t.Log(c.what, i, r.Verdict)
		}
		fmt.Printf("%s: B takes more in %d of %d runs; %d gates failed; the interval is ±%.1f %% on average\n", c.what, slower, c.runs, gated, 100*width/float64(c.runs))
	}
}
