// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"strconv"
	"syscall"
	"testing"
)

// TestPeakRSS runs children that need more memory than this process ever did: then the system's
// figure is theirs, up to some MiB: where there are many processors it is too low.
func TestPeakRSS(t *testing.T) {
	before := highWater(t)
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

// highWater is the largest resident set of this process.
func highWater(t *testing.T) float64 {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return float64(usage.Maxrss) * 1024
}
