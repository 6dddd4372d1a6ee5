// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"os"
	"testing"
	"time"
)

// StressTime is how long a stress test runs: as long as FREEHOLD_TEST_STRESS says, 10m for example,
// or usual, or 300 ms with -short.
func StressTime(t *testing.T, usual time.Duration) time.Duration {
	t.Helper()
	if s := os.Getenv("FREEHOLD_TEST_STRESS"); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil {
			t.Fatalf("FREEHOLD_TEST_STRESS is %q: %v", s, err)
		}
		return d
	}
	if testing.Short() {
		return 300 * time.Millisecond
	}
	return usual
}
