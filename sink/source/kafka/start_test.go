// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/freehold-go/freehold/sink/record"
	"github.com/freehold-go/freehold/sink/source"
)

// pauses is a pauser. Partitions below 10 have one leader, the others another.
type pauses map[int32]bool

func (p pauses) PauseFetchPartitions(by map[string][]int32) map[string][]int32 {
	for _, n := range by["t"] {
		p[n] = true
	}
	return by
}

func (p pauses) ResumeFetchPartitions(by map[string][]int32) {
	for _, n := range by["t"] {
		delete(p, n)
	}
}

func (p pauses) PartitionLeader(_ string, n int32) (leader, epoch int32, err error) {
	return n / 10, 0, nil
}

// TestHeadStarts says which partitions are paused after which fetches.
func TestHeadStarts(t *testing.T) {
	paused, now := pauses{}, time.Unix(0, 0)
	h := newHeadStarts()
	h.client, h.bytes, h.now = paused, 1000, func() time.Time { return now }
	part := func(n int32) source.Partition { return source.Partition{Topic: "t", Number: n} }
	fetch := func(n int32, bytes, lag int64) { h.fetched(part(n), 10, bytes, lag) }
	for i, step := range []struct {
		name string
		do   func()
		want []int32
	}{
		{"the first one goes ahead, and one that is not far behind goes beside it", func() { fetch(0, 400, 9999); fetch(1, 400, 0); fetch(2, 400, 19) }, nil},
		{"others wait", func() { fetch(3, 400, 20); fetch(4, 400, 9999); fetch(5, 400, 9999); fetch(6, 400, 9999) }, []int32{3, 4, 5, 6}},
		{"another leader has one of its own", func() { fetch(10, 400, 9999); fetch(11, 400, 9999) }, []int32{3, 4, 5, 6, 11}},
		{"one that was near may fall behind later", func() { fetch(1, 400, 9999) }, []int32{3, 4, 5, 6, 11}},
		{"bytes end it", func() { fetch(0, 600, 9000) }, []int32{4, 5, 6, 11}},
		{"the one before goes on", func() { fetch(0, 5000, 8000) }, []int32{4, 5, 6, 11}},
		{"the end of the backlog ends it", func() { fetch(3, 10, 19) }, []int32{5, 6, 11}},
		{"a paused partition is given up", func() { h.forget(part(6)) }, []int32{5, 11}},
		{"it comes back", func() { fetch(6, 400, 9999) }, []int32{5, 6, 11}},
		{"the one that is ahead is given up", func() { h.forget(part(4)) }, []int32{6, 11}},
		{"one that is unknown is given up", func() { h.forget(part(7)) }, []int32{6, 11}},
		{"there is time left", func() { now = now.Add(headStartTime - 1); h.next() }, []int32{6, 11}},
		{"the time is over", func() { now = now.Add(1); h.next() }, nil},
		{"others come later", func() { fetch(7, 400, 9999); fetch(8, 400, 9999); h.next() }, []int32{8}},
	} {
		step.do()
		var got []int32
		for n := range paused {
			got = append(got, n)
		}
		slices.Sort(got)
		if !slices.Equal(got, step.want) {
			t.Fatalf("step %d, %s: %v are paused, want %v", i, step.name, got, step.want)
		}
		for n := range int32(12) {
			if h.isPaused("t", n) != paused[n] {
				t.Errorf("step %d, %s: isPaused says otherwise of %d", i, step.name, n)
			}
		}
	}
}

// progress is a collector that notes how far each partition was at each batch.
type progress struct {
	*collector
	at []map[int32]int64
}

func (h *progress) Batch(p source.Partition, records []record.Record, next source.Position, release func()) {
	h.collector.Batch(p, records, next, release)
	h.mu.Lock()
	defer h.mu.Unlock()
	now := map[int32]int64{}
	for p, next := range h.next {
		now[p.Number] = next
	}
	h.at = append(h.at, now)
}

// TestFarBehind: of the partitions of a leader that are far behind, one is read ahead of the others, then all are read to their end, once and in order.
func TestFarBehind(t *testing.T) { bothPaths(t, testFarBehind) }

func testFarBehind(t *testing.T, by path) {
	const partitions, records, rounds = 6, 100, 20
	c := cluster(t, partitions)
	for i := range rounds {
		for p := range int32(partitions) {
			produce(t, c, p, i*records, records)
		}
	}
	leaders := map[int32][]int32{}
	for p := range int32(partitions) {
		leader := c.LeaderFor("t", p)
		leaders[leader] = append(leaders[leader], p)
	}
	h := &progress{collector: newCollector(t)}
	_, stop := by.run(t, c, h, func(o *Options) {
		o.FetchPartitionBytes = 4 << 10 // A response has all partitions.
		o.headStarts = func(h *headStarts) {
			h.bytes = 200 << 10
			h.now = func() time.Time { return time.Time{} }
		}
	})
	h.until("all records", func() bool {
		for p := range int32(partitions) {
			if h.next[source.Partition{Topic: "t", Number: p}] < records*rounds {
				return false
			}
		}
		return true
	})
	stop()
	for _, of := range leaders {
		// Half of a partition is more than 200 KiB.
		i := slices.IndexFunc(h.at, func(at map[int32]int64) bool {
			return slices.ContainsFunc(of, func(p int32) bool { return at[p] >= records*rounds/4 })
		})
		ahead := 0
		for _, p := range of {
			if h.at[i][p] > records*rounds/8 {
				ahead++
			}
		}
		if ahead != 1 {
			t.Errorf("%d of the partitions %v are ahead: %s", ahead, of, fmt.Sprint(h.at[i]))
		}
	}
}
