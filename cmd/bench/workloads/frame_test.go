// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"testing"
	"time"

	"github.com/freehold-go/freehold/cmd/bench"
)

// TestLateFrames runs frames that take longer than their time, and frames that have no rate.
func TestLateFrames(t *testing.T) {
	slow := func() uint64 { time.Sleep(2 * time.Millisecond); return 0 }
	r := new(bench.Run)
	times := make([]time.Duration, 5)
	if late := runFrames(r, slow, time.Second/10_000, times); late != len(times)-1 {
		t.Errorf("%d of %d frames were late", late, len(times)-1)
	}
	if late := runFrames(r, slow, 0, times); late != 0 {
		t.Errorf("without a rate %d frames were late", late)
	}
	if len(r.Sample().Checksums) != 2*len(times) {
		t.Errorf("%d checksums of %d frames", len(r.Sample().Checksums), 2*len(times))
	}
}

// TestFramePeriod: 60 frames a second in a full run, no pauses in a quick one, and what the flag says in both.
func TestFramePeriod(t *testing.T) {
	for _, c := range []struct {
		quick bool
		flag  string
		want  time.Duration
	}{{false, "", time.Second / 60}, {true, "", 0}, {false, "0", 0}, {true, "100", 10 * time.Millisecond}} {
		r := &bench.Run{Spec: bench.Spec{Quick: c.quick, Flags: map[string]string{frameHzName: c.flag}}}
		if got, err := framePeriod(r); err != nil || got != c.want {
			t.Errorf("quick %t, -frame-hz %q: %v, %v, want %v", c.quick, c.flag, got, err, c.want)
		}
	}
}
