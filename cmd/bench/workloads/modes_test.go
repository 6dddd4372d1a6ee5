// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/freehold-go/freehold/cmd/bench"
)

// TestWorkloadsInModes runs freehold's contestants of every workload, at the sizes of the quick selection, in each debug mode:
// programs without a mistake, in which no mode may find one. To guard a block takes tens of microseconds, so it is make modes.
func TestWorkloadsInModes(t *testing.T) {
	if os.Getenv("FREEHOLD_TEST_MODES") == "" {
		t.Skip("takes long: make modes")
	}
	for _, w := range all.Workloads() {
		places, _, err := w.Places(&bench.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range w.Contestants {
			if !c.Own || len(c.Env) > 0 { // sample=N is one of the modes
				continue
			}
			for _, at := range places {
				for _, mode := range []string{"guard", "leaks", "pointers", "sample=3"} {
					spec := bench.Spec{Workload: w.Name, N: at.N, Input: at.Input, Contestant: c.Name, MinTime: time.Nanosecond, Quick: true}
					begin := time.Now()
					silentChild(t, spec, mode)
					t.Logf("%s, %s, %s, %s: %.1f s", w.Name, w.PlaceText(at.N, at.Input.Name), c.Name, mode, time.Since(begin).Seconds())
				}
			}
		}
	}
}

// silentChild runs a child, and fails the test if it fails or says anything but that a budget is used up.
func silentChild(t *testing.T, spec bench.Spec, mode string) {
	t.Helper()
	task, err := bench.ChildEnv(spec)
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "FREEHOLD="+mode, task)
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		t.Errorf("%s of %s at %d, FREEHOLD=%s: %v\n%s", spec.Contestant, spec.Workload, spec.N, mode, err, stderr.String())
		return
	}
	for line := range strings.Lines(stderr.String()) {
		if !strings.Contains(line, "the budget of guarded memory") {
			t.Errorf("%s of %s at %d, FREEHOLD=%s, said:\n%s", spec.Contestant, spec.Workload, spec.N, mode, stderr.String())
			return
		}
	}
}
