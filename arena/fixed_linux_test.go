// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"runtime"
	"runtime/debug"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFixedFaults: all memory of a fixed arena is there when NewFixed returns, so that filling it
// asks the system for no page.
func TestFixedFaults(t *testing.T) {
	chunked(t)
	if raceEnabled {
		t.Skip("the memory is the Go heap's")
	}
	const size = 16 << 20
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	faults := func() int64 {
		var u unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_THREAD, &u); err != nil {
			t.Fatal(err)
		}
		return int64(u.Minflt) + int64(u.Majflt)
	}
	least := int64(size)
	// The system may take pages back for a moment of its own accord, to balance nodes or to swap,
	// but hardly again and again.
	for round := 0; round < 10 && least > 64; round++ {
		a := NewFixed(size)
		defer a.Free() // Not before: each round needs memory that no other had.
		before := faults()
		for range size / 4096 {
			New[[512]int64](a)[511] = 1
		}
		least = min(least, faults()-before)
	}
	// Huge pages would hide that they come late only where the system grants them unasked.
	if least > 64 {
		t.Errorf("filling %d pages that NewFixed has promised took %d page faults", size/4096, least)
	}
}
