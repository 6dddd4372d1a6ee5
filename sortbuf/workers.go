// SPDX-License-Identifier: Apache-2.0

package sortbuf

import (
	"sync"
	"sync/atomic"
)

// workers calls f(0) to f(n-1) on up to `most` goroutines. A panic of f reaches the caller after all
// goroutines have ended.
func workers(most, n int, f func(i int)) {
	if most = min(most, n); most <= 1 {
		for i := range n {
			f(i)
		}
		return
	}
	var next atomic.Int64
	var caught caught
	run := func() {
		defer caught.recover()
		for {
			i := int(next.Add(1)) - 1
			if i >= n || caught.any() {
				return
			}
			f(i)
		}
	}
	var wg sync.WaitGroup
	for range most - 1 {
		wg.Go(run)
	}
	run()
	wg.Wait()
	caught.panic()
}

// A caught keeps the first panic of several goroutines for the one that waits for them.
type caught struct {
	mu    sync.Mutex
	value any
	is    atomic.Bool
}

func (c *caught) any() bool { return c.is.Load() }

// recover is deferred.
func (c *caught) recover() {
	v := recover()
	if v == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.is.Swap(true) {
		c.value = v
	}
}

// panic panics with the value that was caught.
func (c *caught) panic() {
	if c.any() {
		panic(c.value)
	}
}
