// SPDX-License-Identifier: Apache-2.0

package sourcetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"testing"

	"github.com/freehold-go/freehold/sink/source"
)

// Run runs the suite. Each part is a subtest.
func (s Suite) Run(t *testing.T) {
	t.Run("Records", s.records)
	t.Run("Resume", s.resume)
	t.Run("Ready", s.ready)
	t.Run("Commits", s.commits)
	t.Run("End", s.end)
	if !s.Alone {
		t.Run("Members", s.members)
	}
}

func (s Suite) records(t *testing.T) {
	x := s.open(t, 3)
	x.write(0, 0, 500)
	x.write(2, 0, 1)
	m := x.join()
	m.has(500, 0)
	m.has(1, 2)
	// What comes later comes, too, though nothing was released.
	for i := range 5 {
		x.write(0, 500+20*i, 20)
		x.write(1, 20*i, 20)
		m.has(int64(520+20*i), 0)
		m.has(int64(20+20*i), 1)
	}
	if len(m.committed) > 0 {
		t.Errorf("Committed was called, and nothing was committed: %v", m.committed)
	}
	if err := m.leave(); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("Run: %v", err)
	}
}

func (s Suite) resume(t *testing.T) {
	x := s.open(t, 2)
	x.write(0, 0, 100)
	x.write(1, 0, 100)
	m := x.join()
	m.has(100, 0, 1)
	commit := func(n int32, at source.Position) {
		t.Helper()
		if err := m.src.Commit(t.Context(), map[source.Partition]source.Position{x.partition(n): at}); err != nil {
			t.Fatalf("Commit: %v", err)
		}
	}
	commit(0, source.Position{Next: 30, Epoch: -1, Metadata: "first"})
	commit(0, source.Position{Next: 60, Epoch: -1, Metadata: "a place, and more: \u00e9"})
	commit(1, source.Position{Next: 100, Epoch: -1})
	for range 2 { // It is not gone when it was read once.
		m.leave()
		m = x.join()
		m.has(100, 0)
		if at := m.committed[0]; at.Next != 60 || at.Metadata != "a place, and more: \u00e9" {
			t.Errorf("Committed says %+v", at)
		}
	}
	x.write(1, 100, 5)
	m.has(105, 1)
	if at := m.committed[1]; at.Next != 100 || at.Metadata != "" {
		t.Errorf("Committed says %+v", at)
	}
}

func (s Suite) ready(t *testing.T) {
	x := s.open(t, 1)
	x.write(0, 0, 10)
	m := x.join()
	m.has(10, 0)
	for i := range 3 {
		gate := make(chan struct{})
		x.mu.Lock()
		m.gate = gate
		x.mu.Unlock()
		// One fetch may be under way, after which Ready is called again. The record has it return.
		x.write(0, 10+50*i, 1)
		x.until("Ready to be called before the next fetch", func() bool { return m.waiting })
		x.write(0, 11+50*i, 49)
		x.mu.Lock()
		m.gate = nil
		x.mu.Unlock()
		close(gate)
		m.has(int64(60+50*i), 0)
	}
}

func (s Suite) commits(t *testing.T) {
	const n = 6
	x := s.open(t, n)
	for p := range int32(n) {
		x.write(p, 0, 50)
	}
	m := x.join()
	m.has(50, 0, 1, 2, 3, 4, 5)
	var all sync.WaitGroup
	for p := range int32(n) {
		all.Go(func() {
			for next := range int64(8) {
				at := source.Position{Next: 10*int64(p)/2 + next, Epoch: -1, Metadata: fmt.Sprint(p)}
				if err := m.src.Commit(t.Context(), map[source.Partition]source.Position{x.partition(p): at}); err != nil {
					t.Errorf("Commit: %v", err)
				}
			}
		})
	}
	all.Wait()
	m.leave()
	m = x.join()
	m.has(50, 0, 1, 2, 3, 4, 5)
	for p := range int32(n) {
		if at := m.committed[p]; at.Next != 10*int64(p)/2+7 || at.Metadata != fmt.Sprint(p) {
			t.Errorf("partition %d: Committed says %+v", p, at)
		}
	}
}

func (s Suite) end(t *testing.T) {
	x := s.open(t, 1)
	if err := x.log.Member(t).Close(); err != nil {
		t.Errorf("Close without Run: %v", err)
	}
	x.write(0, 0, 10)
	m := x.join()
	x.mu.Lock()
	m.gate = make(chan struct{}) // which nobody opens
	x.mu.Unlock()
	x.write(0, 10, 1) // All before it may have come by now; this has a fetch that is under way return.
	x.until("Ready to be called", func() bool { return m.waiting })
	if err := m.leave(); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("Run: %v", err)
	}
}

func (s Suite) members(t *testing.T) {
	const n = 4
	x := s.open(t, n)
	var written [n]int
	more := func() {
		for p := range int32(n) {
			x.write(p, written[p], 40)
			written[p] += 40
		}
	}
	// A member commits what it has when it gives a partition up, so each record comes to one member.
	join := func() *member {
		m := x.join()
		m.onRevoke = func(p source.Partition) {
			x.mu.Lock()
			at := source.Position{Next: m.next[p.Number], Epoch: -1}
			x.mu.Unlock()
			if at.Next == 0 {
				return
			}
			if err := m.src.Commit(context.Background(), map[source.Partition]source.Position{p: at}); err != nil {
				t.Errorf("Commit while partition %d is revoked: %v", p.Number, err)
			}
		}
		return m
	}
	owned := func(m *member) (k int) {
		for _, o := range x.owner {
			if o == m {
				k++
			}
		}
		return k
	}
	more()
	first := join()
	first.has(40, 0, 1, 2, 3)
	second := join()
	x.until("both members to own two partitions", func() bool { return owned(first) == 2 && owned(second) == 2 })
	more()
	x.until("both members to have their records", func() bool {
		for p, m := range maps.Clone(x.owner) {
			if m.next[p] != 80 {
				return false
			}
		}
		return true
	})
	first.leave()
	x.until("the second member to own all", func() bool { return owned(second) == n })
	more()
	second.has(120, 0, 1, 2, 3)
	for p := range int32(n) {
		if got := second.committed[p].Next; first.next[p] > 40 && got != 80 {
			t.Errorf("partition %d: the first member had %d records, and Committed says %d", p, first.next[p], got)
		}
	}
}
