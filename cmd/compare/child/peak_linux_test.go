// SPDX-License-Identifier: Apache-2.0

package child

import (
	"math"
	"os/exec"
	"testing"
	"time"
)

// TestPeakWatch watches a child that needs less memory than this process. The system's figure is
// then useless, so the peak is the figure that the watch read while the child ran.
func TestPeakWatch(t *testing.T) {
	cmd := exec.Command("sleep", "600")
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
