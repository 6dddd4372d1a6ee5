// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"sync"
	"time"

	"github.com/freehold-go/freehold/offheap"
)

// largeBatch is the size, compressed, of batches that take turns. Brokers accept them only for topics that are set up for large records.
const largeBatch = 4 << 20

// turn lets the large batches of one response be in memory at a time, decompressed. The next large response is not read, and not decompressed, until the
// records of all of them are given back. Otherwise the client would have the next large record ready while one is being written. A turn may
// be used by several goroutines at once.
type turn struct {
	// Bounds of the waits: records may not be given back for long, because the store does not answer, and the client's goroutines must not stand still
	// then. The client waits 10 s for a response.
	beforeRead, beforeUse time.Duration

	mu     sync.Mutex
	number uint64             // the response that has the turn
	blocks map[*byte]struct{} // of its batches that are decompressed
	busy   int                // batches that are being decompressed
	free   chan struct{}      // closed when the turn ends
}

func newTurn() turn {
	return turn{beforeRead: 3 * time.Second, beforeUse: 5 * time.Second, blocks: map[*byte]struct{}{}}
}

// wait waits until no response has the turn.
func (t *turn) wait() {
	t.mu.Lock()
	free := t.free
	t.mu.Unlock()
	if free == nil {
		return
	}
	select {
	case <-free:
	case <-time.After(t.beforeRead):
	}
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
			late = time.After(t.beforeUse)
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

// free frees a block. Memory that is freed stays with the process for a while, but that of a large block is not needed again soon.
func free(block []byte) {
	large := cap(block) > 2*largeBatch
	offheap.Free(block)
	if large {
		offheap.Purge()
	}
}
