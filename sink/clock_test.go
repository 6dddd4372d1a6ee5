// SPDX-License-Identifier: Apache-2.0

package sink

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestClockJumps: if the machine's clock is set, epochs still end about when the clock is to end them, and no record is lost or stored twice.
func TestClockJumps(t *testing.T) {
	for name, r := range map[string]Rotation{"age": {Age: 10 * time.Second}, "every": {Every: 15 * time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			src, to := newFakeSource(), newFakeStore()
			var set atomic.Int64
			h := start(t, src, to, func(o *Options) {
				o.Rotation = r
				o.now = func() time.Time { return time.Now().Round(0).Add(time.Duration(set.Load())) }
			})
			h.assign(p0)
			for i, by := range []time.Duration{time.Hour, -time.Hour, -48 * time.Hour, 48 * time.Hour, time.Millisecond} {
				h.send(p0, int64(i), fmt.Sprint(i))
				synctest.Wait()
				set.Add(int64(by))
				time.Sleep(16 * time.Second)
				synctest.Wait()
				if at := src.at(p0); at != int64(i+1) || len(to.puts) != i+1 {
					t.Errorf("%s: after a jump by %v %d records are committed, in %q", name, by, at, to.puts)
				}
			}
			if err := h.end(); err != nil {
				t.Error(err)
			}
		})
	}
}
