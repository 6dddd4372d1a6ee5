// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"sync"
	"time"
)

// largeBatch is the size, compressed, of batches that take turns. Brokers accept them only for topics that are set up for large records.
const largeBatch = 4 << 20

// turn lets the large batches of one response be in memory at a time, decompressed. Those of the next response wait, compressed, until the records of
// all of them are given back. Otherwise the client would decompress the next large record while one is being written. A turn may be used by
// several goroutines at once.
type turn struct {
	// patience bounds the wait: records may not be given back for long, because the store does not answer, and the client's goroutine must not
	// stand still then.
	patience time.Duration

	mu     sync.Mutex
	number uint64             // the response that has the turn
	blocks map[*byte]struct{} // of its batches that are decompressed
	busy   int                // batches that are being decompressed
	free   chan struct{}      // closed when the turn ends
}

func newTurn() turn {
	return turn{patience: 5 * time.Second, blocks: map[*byte]struct{}{}}
}

// begin waits until a response has the turn. It reports false if the wait was too long; then the batch is decompressed without a turn.
func (t *turn) begin(number uint64) bool {
	var late <-chan time.Time
	for {
		t.mu.Lock()
		if t.free == nil {
			t.number, t.free = number, make(chan struct{})
		}
		if t.number == number {
			t.busy++
			t.mu.Unlock()
			return true
		}
		free := t.free
		t.mu.Unlock()
		if late == nil {
			late = time.After(t.patience)
		}
		select {
		case <-free:
		case <-late:
			return false
		}
	}
}

// keep says that a batch of the response that has the turn is decompressed to a block, which is nil if that failed.
func (t *turn) keep(block []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.busy--
	if len(block) > 0 {
		t.blocks[&block[0]] = struct{}{}
	}
	t.pass()
}

// end says that the records of a block are given back.
func (t *turn) end(block []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.blocks) > 0 && len(block) > 0 {
		delete(t.blocks, &block[0])
		t.pass()
	}
}

// pass ends the turn if nothing of it is left.
func (t *turn) pass() {
	if t.busy == 0 && len(t.blocks) == 0 && t.free != nil {
		close(t.free)
		t.free = nil
	}
}
