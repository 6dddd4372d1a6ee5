// SPDX-License-Identifier: Apache-2.0

package realtime

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

func inBubble() bool {
	_, ok := Elapsed()
	return !ok
}

// TestInBubble holds the runtime to GC-12: a bubble's clock is far from the process's, also after
// hours in the bubble.
func TestInBubble(t *testing.T) {
	if inBubble() {
		t.Error("the test is in no bubble")
	}
	synctest.Test(t, func(t *testing.T) {
		if !inBubble() {
			t.Error("the test is in a bubble")
		}
		if time.Sleep(100 * time.Hour); !inBubble() {
			t.Error("the test is still in a bubble")
		}
	})
}

// TestAfterFunc: a timer that was started in a bubble fires after the bubble's end, in real time,
// and holds the bubble up neither in Wait nor at its end.
func TestAfterFunc(t *testing.T) {
	fired, bubble := make(chan bool), false
	for _, in := range []func(f func()){
		func(f func()) { f() },
		func(f func()) {
			synctest.Test(t, func(*testing.T) {
				f()
				synctest.Wait()
				time.Sleep(time.Hour)
			})
		},
	} {
		in(func() {
			AfterFunc(time.Millisecond, func() {
				bubble = inBubble()
				fired <- true
			})
		})
		for waiting := true; waiting; {
			runtime.GC()
			select {
			case <-fired:
				waiting = false
			case <-time.After(time.Millisecond):
			}
		}
		if bubble {
			t.Error("the timer fired in the bubble")
		}
	}
}
