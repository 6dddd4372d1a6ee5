// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestTurn: the large batches of one response at a time are in memory, but none waits without end.
func TestTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		large := newTurn()
		one, two, other := make([]byte, 1), make([]byte, 1), make([]byte, 1)
		if !large.begin(1) || !large.begin(1) {
			t.Fatal("two batches of one response do not have the turn")
		}
		began := make(chan bool)
		next := func() { go func() { began <- large.begin(2) }() }
		waits := func(why string) {
			t.Helper()
			synctest.Wait()
			select {
			case <-began:
				t.Fatalf("the next response has the turn while %s", why)
			default:
			}
		}
		next()
		waits("two batches are being decompressed")
		large.keep(one)
		large.keep(two)
		large.end(other)
		large.end(one)
		waits("the records of a batch are not given back")
		large.end(two)
		if !<-began {
			t.Fatal("the next response does not have its turn")
		}
		large.keep(nil) // It could not be decompressed.
		large.end(one)
		if !large.begin(3) {
			t.Fatal("a batch that failed keeps the turn")
		}
		large.keep(one)
		at := time.Now()
		if next(); <-began {
			t.Fatal("two responses have the turn")
		}
		if waited := time.Since(at); waited != large.beforeUse {
			t.Errorf("waited for %v", waited)
		}
		at = time.Now()
		if large.wait(); time.Since(at) != large.beforeRead {
			t.Errorf("waited for %v", time.Since(at))
		}
		large.end(one)
		at = time.Now()
		if large.wait(); time.Since(at) != 0 {
			t.Errorf("waited for %v when no response has the turn", time.Since(at))
		}
	})
}
