// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"runtime/debug"
	"testing"
)

// LowerGCPercent sets GOGC to percent until the test ends, unless it is lower already, as under
// make stress.
func LowerGCPercent(t *testing.T, percent int) {
	t.Helper()
	old := debug.SetGCPercent(percent)
	if old >= 0 && old < percent {
		debug.SetGCPercent(old)
	}
	t.Cleanup(func() { debug.SetGCPercent(old) })
}
