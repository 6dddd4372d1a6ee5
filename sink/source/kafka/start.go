// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/freehold-go/freehold/sink/source"
)

// Head starts.
//
// If all partitions are far behind, their objects fill together, and the first one is stored when the last one is nearly full. So partitions that
// are far behind when the process gets them have a head start one after the other:
//
//  1. A partition's first records show that it is far behind. If none of its leader's partitions has a head start, it begins one. Otherwise it is paused.
//  2. The head start ends after headStart bytes, or when the partition is no longer far behind.
//  3. The next paused partition of that leader is resumed, and has its head start. Those before it go on beside it.
//  4. After headStartTime all paused partitions are resumed, so that none waits for long: there may be many, or the one that is ahead may have no leader.
//
// Each partition has one head start. From then on, all partitions are fetched alike.
const (
	headStart     = 64 << 20 // the size of an epoch by default
	headStartTime = 5 * time.Second
)

// headStarts are the head starts of a source. Run's goroutine begins and ends them; the client's callbacks call forget while no poll is under way.
type headStarts struct {
	client pauser // set by Run
	bytes  int64
	now    func() time.Time

	mu     sync.Mutex
	known  map[source.Partition]*start // partitions that have had records
	ahead  map[int32]*start            // that has its head start, by its leader
	paused []*start
	n      atomic.Int32 // of paused
	until  time.Time
}

// pauser is what head starts need of the client.
type pauser interface {
	PauseFetchPartitions(map[string][]int32) map[string][]int32
	ResumeFetchPartitions(map[string][]int32)
	PartitionLeader(topic string, partition int32) (leader, epoch int32, err error)
}

// start is the head start of a partition.
type start struct {
	p      source.Partition
	leader int32
	left   int64 // bytes
}

func newHeadStarts() headStarts {
	return headStarts{bytes: headStart, now: time.Now, ahead: map[int32]*start{}, known: map[source.Partition]*start{}}
}

// fetched notes records of a partition: their number and size, and how many are behind them.
func (h *headStarts) fetched(p source.Partition, records int, bytes, lag int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	// The next fetch is under way. It must find records, or the broker would wait for some and not answer with those of other partitions.
	far := lag >= 2*int64(records)
	s := h.known[p]
	if s == nil {
		leader, _, _ := h.client.PartitionLeader(p.Topic, p.Number) // Without a leader it is -1, which is as good as one.
		s = &start{p: p, leader: leader}
		h.known[p] = s
		switch {
		case !far:
		case h.ahead[leader] == nil:
			if len(h.ahead) == 0 {
				h.until = h.now().Add(headStartTime)
			}
			h.begin(s)
		default:
			h.paused = append(h.paused, s)
			h.n.Add(1)
			h.client.PauseFetchPartitions(one(p))
		}
	}
	if h.ahead[s.leader] != s {
		return
	}
	if s.left -= bytes; s.left <= 0 || !far {
		h.end(s)
	}
}

// next resumes all partitions after headStartTime.
func (h *headStarts) next() {
	if h.n.Load() == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.now().Before(h.until) {
		return
	}
	for len(h.paused) > 0 {
		h.resume(0)
	}
	clear(h.ahead)
}

func (h *headStarts) begin(s *start) {
	s.left = h.bytes
	h.ahead[s.leader] = s
}

// end ends a head start, and begins the next one.
func (h *headStarts) end(s *start) {
	delete(h.ahead, s.leader)
	i := slices.IndexFunc(h.paused, func(next *start) bool { return next.leader == s.leader })
	if i < 0 {
		return
	}
	next := h.paused[i]
	h.resume(i)
	h.begin(next)
}

func (h *headStarts) resume(i int) {
	p := h.paused[i].p
	h.paused = slices.Delete(h.paused, i, i+1)
	h.n.Add(-1)
	h.client.ResumeFetchPartitions(one(p))
}

// forget says that a partition is not this process's any more.
func (h *headStarts) forget(p source.Partition) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.known[p]
	if s == nil {
		return
	}
	delete(h.known, p)
	if i := slices.Index(h.paused, s); i >= 0 {
		h.resume(i)
	} else if h.ahead[s.leader] == s {
		h.end(s)
	}
}

// isPaused reports whether a partition waits for its head start.
func (h *headStarts) isPaused(topic string, partition int32) bool {
	if h.n.Load() == 0 {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.paused, func(s *start) bool { return s.p.Number == partition && s.p.Topic == topic })
}

// poll is the context of a poll. If partitions are paused, it ends in time for next.
func (h *headStarts) poll(ctx context.Context) (context.Context, context.CancelFunc) {
	if h.n.Load() == 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, headStartTime)
}

func one(p source.Partition) map[string][]int32 { return map[string][]int32{p.Topic: {p.Number}} }
