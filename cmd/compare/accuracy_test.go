// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestPlanted counts how often a slowdown of 5 % in a dependency is found, and how often one is found where nothing has changed, by one
// release of Go and by two. make compare-accuracy runs it; it takes most of an hour, and asserts nothing.
func TestPlanted(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("FREEHOLD_TEST_PLANTED"))
	if err != nil {
		t.Skip("FREEHOLD_TEST_PLANTED is not the number of runs; make compare-accuracy sets it")
	}
	// One size of a block and much arithmetic: what two releases of Go compile and do alike.
	const work = "package dep\n\nvar keep []byte\n\nvar sum uint64\n\nfunc Work() {\n\tkeep = make([]byte, 512)\n\tfor i := range %d {\n\t\tsum = sum*6364136223846793005 + uint64(i)\n\t}\n}\n"
	for version, rounds := range map[string]int{"v1.5.0": 20000, "v1.6.0": 21000, "v1.7.0": 20000} {
		dependency[version] = depFile(version, "1.22", fmt.Sprintf(work, rounds))
	}
	twoReleases := releasesInPath(t)
	versionsModule(t, "1.22")
	const more, same = "example.com/dep@v1.5.0,v1.6.0", "example.com/dep@v1.5.0,v1.7.0"
	for _, c := range []struct {
		what, with string
		releases   []string
		runs       int
	}{
		{"5 % more work", more, nil, n}, {"the same code", same, nil, n * 5 / 2},
		{"5 % more work by " + twoReleases[1], more, twoReleases, n}, {"the same code by " + twoReleases[1], same, twoReleases, n * 5 / 2},
	} {
		t.Run(c.what, func(t *testing.T) {
			slower, gated, width := 0, 0, 0.0
			for i := range c.runs {
				r, err := Run(t.Context(), Options{A: ".", Bench: "Work", Versions: Versions{With: c.with, Go: c.releases}, Budget: 30 * time.Second, Benchtime: 200 * time.Millisecond})
				if err != nil {
					t.Fatal(err)
				}
				if r.Slower(0) {
					slower++
				}
				for measure, share := range map[string]float64{MeasureAllocs: 0.01, MeasureAllocBytes: 0.02, MeasurePeakHeap: 0.1} {
					if names, _ := r.Above(measure, share); len(names) > 0 {
						gated++
						t.Logf("run %d: %s is above its gate: %+v", i, measure, r.Comparisons[0].Measure(measure))
					}
				}
				width += *r.Comparisons[0].Measure(MeasureCPU).Width
				t.Log(i, r.Verdict)
			}
			fmt.Printf("%s: B takes more in %d of %d runs; %d gates failed; the interval is ±%.1f %% on average\n", c.what, slower, c.runs, gated, 100*width/float64(c.runs))
		})
	}
}

// releasesInPath puts two releases of Go into PATH, where GOTOOLCHAIN finds them whatever the module cache is.
func releasesInPath(t *testing.T) []string {
	t.Helper()
	releases, dir := []string{"1.26.8", "1.27.4"}, t.TempDir()
	for _, release := range releases {
		cmd := exec.Command("go", "env", "GOROOT")
		cmd.Env = append(os.Environ(), "GOTOOLCHAIN=go"+release)
		root, err := cmd.Output()
		if err != nil {
			t.Fatalf("go %s: %v", release, err)
		}
		script := fmt.Sprintf("#!/bin/sh\nexec '%s/bin/go' \"$@\"\n", strings.TrimSpace(string(root)))
		if err := os.WriteFile(filepath.Join(dir, "go"+release), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return releases
}
