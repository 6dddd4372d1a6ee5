// SPDX-License-Identifier: Apache-2.0

package sourcetest

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/freehold-go/freehold/sink/record"
	"github.com/freehold-go/freehold/sink/source"
)

// trial is a topic with its members.
type trial struct {
	*testing.T
	s   Suite
	log Log

	mu      sync.Mutex
	owner   map[int32]*member
	changed chan struct{} // closed at each change
}

func (s Suite) open(t *testing.T, partitions int) *trial {
	return &trial{T: t, s: s, log: s.Open(t, partitions), owner: map[int32]*member{}, changed: make(chan struct{})}
}

// change notes something that until waits for. The caller holds the lock.
func (t *trial) change() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// until waits until a condition holds.
func (t *trial) until(what string, holds func() bool) {
	t.Helper()
	late := time.After(patience)
	for {
		t.mu.Lock()
		ok, changed := holds(), t.changed
		t.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-late:
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// member is a handler with the source that calls it. It compares what comes with what was made.
type member struct {
	t        *trial
	src      source.Source
	onRevoke func(p source.Partition)
	cancel   context.CancelFunc
	done     chan error
	ended    bool

	// Guarded by the lock of the trial.
	next      map[int32]int64 // the offset behind the last record
	begun     map[int32]bool  // whether a batch has come since the partition was assigned
	committed map[int32]source.Position
	calls     map[int32]bool // whether a call is under way
	held      []held         // batches that were not released
	gate      chan struct{}  // if it is not nil, Ready waits for it
	waiting   bool           // whether Ready does
	closed    bool
}

// held is a batch.
type held struct {
	p       int32
	records []record.Record
	release func()
}

// join has a member read.
func (t *trial) join() *member {
	t.Helper()
	m := &member{t: t, src: t.log.Member(t.T), done: make(chan error, 1), next: map[int32]int64{}, begun: map[int32]bool{}, committed: map[int32]source.Position{}, calls: map[int32]bool{}}
	ctx, cancel := context.WithCancel(context.Background())
	m.cancel = cancel
	go func() { m.done <- m.src.Run(ctx, m) }()
	t.Cleanup(func() { m.leave() })
	return m
}

// leave ends the member. It returns Run's error.
func (m *member) leave() error {
	if m.ended {
		return nil
	}
	m.ended = true
	m.cancel()
	var err error
	select {
	case err = <-m.done:
	case <-time.After(patience):
		m.t.Fatalf("Run has not returned %v after its context ended", patience)
	}
	m.release()
	if err := m.src.Close(); err != nil {
		m.t.Errorf("Close: %v", err)
	}
	m.t.mu.Lock()
	defer m.t.mu.Unlock()
	m.closed = true
	// Close gives up what the member has, with or without calls of Revoked.
	maps.DeleteFunc(m.t.owner, func(_ int32, o *member) bool { return o == m })
	return err
}

// release compares the batches that are held once more, and releases them, the last one first.
func (m *member) release() {
	m.t.mu.Lock()
	batches := m.held
	m.held = nil
	m.t.mu.Unlock()
	var all sync.WaitGroup
	for i := len(batches) - 1; i >= 0; i-- {
		b := batches[i]
		m.compare(b)
		all.Go(b.release)
	}
	all.Wait()
}

func (m *member) compare(b held) {
	for i := range b.records {
		r := &b.records[i]
		if why := m.t.s.differ(r, &m.t.s.made(b.p, int(r.Offset), 1)[0]); why != "" {
			m.t.Errorf("partition %d, offset %d: %s", b.p, r.Offset, why)
		}
	}
}

// called notes the beginning of a call. The result notes its end.
func (m *member) called(what string, p source.Partition) func() {
	m.t.mu.Lock()
	defer m.t.mu.Unlock()
	switch {
	case p.Topic != m.t.log.Topic():
		m.t.Errorf("%s for the topic %q", what, p.Topic)
	case m.calls[p.Number]:
		m.t.Errorf("%s for partition %d, while another call for it goes on", what, p.Number)
	case m.closed:
		m.t.Errorf("%s for partition %d after Close", what, p.Number)
	}
	m.calls[p.Number] = true
	return func() {
		m.t.mu.Lock()
		defer m.t.mu.Unlock()
		m.calls[p.Number] = false
		m.t.change()
	}
}

// Assigned implements source.Handler.
func (m *member) Assigned(p source.Partition) {
	defer m.called("Assigned", p)()
	m.t.mu.Lock()
	defer m.t.mu.Unlock()
	if m.t.owner[p.Number] != nil {
		m.t.Errorf("partition %d was assigned, and has an owner", p.Number)
	}
	m.t.owner[p.Number] = m
	m.begun[p.Number] = false
	delete(m.committed, p.Number)
}

// Committed implements source.Handler.
func (m *member) Committed(p source.Partition, at source.Position) {
	defer m.called("Committed", p)()
	m.t.mu.Lock()
	defer m.t.mu.Unlock()
	if m.t.owner[p.Number] != m || m.begun[p.Number] {
		m.t.Errorf("Committed for partition %d comes before Assigned or after a Batch", p.Number)
	}
	m.committed[p.Number] = at
	m.next[p.Number] = at.Next
}

// Ready implements source.Handler.
func (m *member) Ready(ctx context.Context) error {
	m.t.mu.Lock()
	gate := m.gate
	m.waiting = gate != nil
	m.t.change()
	m.t.mu.Unlock()
	if gate == nil {
		return ctx.Err()
	}
	select {
	case <-gate:
	case <-ctx.Done():
	}
	m.t.mu.Lock()
	defer m.t.mu.Unlock()
	m.waiting = false
	return ctx.Err()
}

// Batch implements source.Handler.
func (m *member) Batch(p source.Partition, records []record.Record, next source.Position, release func()) {
	defer m.called("Batch", p)()
	b := held{p.Number, records, release}
	m.compare(b)
	m.t.mu.Lock()
	defer m.t.mu.Unlock()
	if m.t.owner[p.Number] != m {
		m.t.Errorf("a batch of partition %d, which was not assigned", p.Number)
	}
	if m.waiting {
		m.t.Errorf("a batch of partition %d while Ready waits", p.Number)
	}
	m.begun[p.Number] = true
	for i := range records {
		r := &records[i]
		if r.Topic != p.Topic || r.Partition != p.Number || r.Offset != m.next[p.Number] {
			m.t.Errorf("partition %d: the record %s/%d/%d comes, want offset %d", p.Number, r.Topic, r.Partition, r.Offset, m.next[p.Number])
		}
		m.next[p.Number] = r.Offset + 1
	}
	if next.Next != m.next[p.Number] {
		m.t.Errorf("partition %d: the position behind a batch is %d, want %d", p.Number, next.Next, m.next[p.Number])
	}
	m.held = append(m.held, b)
}

// Revoked implements source.Handler.
func (m *member) Revoked(_ context.Context, p source.Partition) {
	defer m.called("Revoked", p)()
	if m.onRevoke != nil {
		m.onRevoke(p)
	}
	m.disown("Revoked", p)
}

// Lost implements source.Handler.
func (m *member) Lost(p source.Partition) {
	defer m.called("Lost", p)()
	m.disown("Lost", p)
}

func (m *member) disown(what string, p source.Partition) {
	m.t.mu.Lock()
	defer m.t.mu.Unlock()
	if m.t.owner[p.Number] != m {
		m.t.Errorf("%s for partition %d, which was not assigned", what, p.Number)
		return
	}
	delete(m.t.owner, p.Number)
}

// has waits until the member has the records before an offset in some partitions.
func (m *member) has(next int64, partitions ...int32) {
	m.t.Helper()
	m.t.until(fmt.Sprintf("all records before %d of partitions %d", next, partitions), func() bool {
		for _, p := range partitions {
			if m.next[p] < next {
				return false
			}
		}
		return true
	})
}

// write appends records to a partition.
func (t *trial) write(partition int32, from, n int) {
	t.Helper()
	t.log.Write(t.T, partition, t.s.made(partition, from, n))
}

func (t *trial) partition(n int32) source.Partition {
	return source.Partition{Topic: t.log.Topic(), Number: n}
}
