// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"math"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"
)

// TestPeakRSS runs children that need more memory than this process ever did: then the system's
// figure is theirs, up to some MiB: where there are many processors it is too low.
func TestPeakRSS(t *testing.T) {
	before := ownPeak()
	n := int(before/(1<<20)) + 128
	r, err := Run(t.Context(), Options{A: own(t, "touch="+strconv.Itoa(n)), B: own(t, "touch="+strconv.Itoa(n+64)), Count: 1})
	if err != nil {
		t.Fatal(err)
	}
	least := before + 64<<20 // Half of what they need more: 64 MiB are for the kernel's error, and neither is this process's own figure.
	if m := r.Comparisons[0].Measure(MeasurePeakRSS); m == nil || m.A < least || m.B < least || m.B > 4<<30 {
		t.Errorf("peak RSS of %d and %d MiB: %+v", n, n+64, m)
	}
}

// TestPeakWatch watches a child that needs less memory than this process. The system's figure is
// then useless, so the peak is the figure that the watch read while the child ran.
func TestPeakWatch(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), actVariable+"=hang")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	seen := 0.0
	for begin := time.Now(); seen < 1<<16 && time.Since(begin) < time.Minute; { // until the watch has had its turn and the child its first pages
		w := watchPeak(cmd.Process.Pid)
		time.Sleep(5 * time.Millisecond)
		seen = w.stop()
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // killed
	if peak := childPeak(cmd.ProcessState, math.Inf(1), seen); seen < 1<<16 || peak != seen {
		t.Errorf("seen are %g bytes, and the peak is %g", seen, peak)
	}
	if peak := childPeak(cmd.ProcessState, 0, 0); peak < 1<<16 {
		t.Errorf("the system's figure is %g bytes", peak)
	}
}
