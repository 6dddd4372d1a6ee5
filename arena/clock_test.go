// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// TestStoreClockInBubble: the clock of a store that starts in a bubble of testing/synctest ticks on
// when the bubble has ended, and the bubble does not wait for it.
func TestStoreClockInBubble(t *testing.T) {
	if testing.Short() {
		t.Skip("a tick takes a second")
	}
	s := &chunkStore{}
	synctest.Test(t, func(*testing.T) {
		s.wake()
		synctest.Wait()
	})
	for s.timing.Load() { // It has nothing to do, so that the first tick ends it.
		runtime.GC()
		time.Sleep(10 * time.Millisecond)
	}
}
