// SPDX-License-Identifier: Apache-2.0

package sink

import "sync/atomic"

// work counts what is being worked on: batches, members, epochs that are being stored. If there is nothing, no memory will become free by itself.
type work struct {
	busy atomic.Int64
	idle chan struct{} // has an element when busy may have become 0
}

func newWork() *work { return &work{idle: make(chan struct{}, 1)} }

// more says that something begins.
func (w *work) more() { w.busy.Add(1) }

// less says that something is done.
func (w *work) less() {
	if w.busy.Add(-1) == 0 {
		select {
		case w.idle <- struct{}{}:
		default:
		}
	}
}

// none reports whether nothing is being worked on.
func (w *work) none() bool { return w.busy.Load() == 0 }
