// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestStaleValues: without reuse each use of a freed value reads the old value, as
// it does on the Go heap, with a collector that runs all the time, checks itself, and overwrites
// what it frees. Where memory is reused it reads something else, which shows that the programs can
// tell.
func TestStaleValues(t *testing.T) {
	program := build(t, nil)
	env := []string{"GOGC=1", "GODEBUG=gccheckmark=1,clobberfree=1"}
	want := run(t, "heap", nil, program, "-stale")
	if want.status != 0 || want.stderr != "" || strings.Count(want.stdout, "\n") < 40 {
		t.Fatalf("on the Go heap: %v", want)
	}
	if got := run(t, "noreuse", env, program, "-stale"); got != want {
		t.Errorf("without reuse: %v\non the Go heap: %v", got, want)
	}
	if got := run(t, "", env, program, "-stale"); got.stdout == want.stdout {
		t.Errorf("memory that is reused reads as that of the Go heap: %v", got)
	}
	if !slices.Contains(strings.Split(os.Getenv("FREEHOLD_TEST_SANITIZERS"), ","), string(Race)) {
		return
	}
	// Giving up writes nothing, so that a use that nothing orders is no race.
	k := kits[Race]
	program = build(t, k.env, k.flags...)
	if got := run(t, "noreuse", []string{"GOGC=1"}, program, "-stale"); got != want {
		t.Errorf("without reuse, with the race detector: %v\non the Go heap: %v", got, want)
	}
}
