// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"runtime/debug"
	"testing"
)

// TestLowerGCPercent: a test makes the collector run more often, never less often than make stress
// wants it.
func TestLowerGCPercent(t *testing.T) {
	set := func(percent int) int { return debug.SetGCPercent(percent) }
	defer set(set(100))
	for _, c := range []struct{ before, asked, during int }{{100, 20, 20}, {1, 20, 1}, {20, 20, 20}, {-1, 20, 20}, {0, 20, 0}} {
		set(c.before)
		t.Run("", func(t *testing.T) {
			LowerGCPercent(t, c.asked)
			if got := set(c.during); got != c.during {
				t.Errorf("GOGC %d, asked for %d: it is %d, want %d", c.before, c.asked, got, c.during)
			}
		})
		if got := set(100); got != c.before {
			t.Errorf("GOGC %d, asked for %d: it is %d after the test", c.before, c.asked, got)
		}
	}
}
