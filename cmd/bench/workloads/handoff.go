// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"fmt"
	"sync"

	"github.com/freehold-go/freehold/cmd/bench"
	"github.com/freehold-go/freehold/cmd/bench/bound"
	"github.com/freehold-go/freehold/cmd/bench/usage"
	"github.com/freehold-go/freehold/cmd/terminal"
	"github.com/freehold-go/freehold/offheap"
)

func handoffWorkloads() []bench.Workload {
	return []bench.Workload{{
		Name: "handoff",
		Doc: "One goroutine allocates n blocks of 32 bytes, another reads and frees them; they go over in batches of 512 " +
			"through a channel. A contestant \"at home\" gets the batches back and frees them where they were allocated.",
		Op:    "block",
		Size:  "blocks",
		Quick: []int{500 * handoffBatch},
		Full:  []int{2000 * handoffBatch},
		Ops:   func(n int) int { return n },
		Contestants: append([]bench.Contestant{
			{Name: heapName, Note: "new; freed by the collector", Prepare: Handoff(handoffHeap, false)},
			{Name: "sync.Pool", Note: "Get here, Put there", Prepare: Handoff(handoffPool, false)},
			{Name: boundName, Note: "the batches themselves are the free list", Prepare: Handoff(handoffBound, false)},
		}, own(
			bench.Contestant{Name: handoffNew, Note: "New here, Delete there", Prepare: Handoff(handoffOffheap, false)},
			bench.Contestant{Name: handoffHome, Note: "New here, Delete here, after the same way there and back", Prepare: Handoff(handoffOffheap, true)},
		)...),
		Bars: []bench.Bar{
			bench.AtMost("handoff, offheap New by the local pair in the same shape", 2, bench.TimeRatio("handoff", 0, handoffNew, handoffHome)),
			bench.AtMost("handoff, growth of the resident set while it runs, MiB", handoffGrowth>>20, handoffGrowthOf(handoffNew)),
		},
	}}
}

const (
	handoffNew  = "offheap New"
	handoffHome = "offheap New, at home"
)

const (
	handoffBatch   = 512
	handoffBatches = 8
	// handoffGrowth is the growth up to which memory counts as bounded. The blocks in transit are
	// 128 KiB, and a run passes gigabytes.
	handoffGrowth = 16 << 20
)

// HandoffBlock is a block that goes from one goroutine to the other.
type HandoffBlock struct {
	Seq uint64
	_   [24]byte
}

// A HandoffBatch is a batch of blocks. Entries are nil where the block was freed.
type HandoffBatch [handoffBatch]*HandoffBlock

// HandoffWay is a way to fill and to empty batches. They are called once a batch, so each way
// writes its own loop.
type HandoffWay struct {
	// Fill allocates the blocks of the batch; the first gets Seq seq, the next one seq+1.
	Fill func(b *HandoffBatch, seq uint64)
	// Empty frees the blocks of the batch.
	Empty func(b *HandoffBatch)
}

// Handoff is the Prepare of a contestant of the workload handoff. If atHome, the allocating goroutine frees as well.
func Handoff(newWay func() HandoffWay, atHome bool) func(r *bench.Run) func() uint64 {
	return handoffOf(handoffBatches, newWay, atHome)
}

// handoffOf is Handoff with at most so many batches on their way at once.
func handoffOf(onTheWay int, newWay func() HandoffWay, atHome bool) func(r *bench.Run) func() uint64 {
	return func(r *bench.Run) func() uint64 {
		way := newWay()
		rounds, before := 0, 0.0
		empty := make(chan *HandoffBatch, onTheWay)
		for range onTheWay {
			empty <- new(HandoffBatch)
		}
		r.Cleanup(func() {
			r.Report("rss_growth_bytes", max(0, usage.RSS()-before))
			r.Report("handed_over_bytes", float64(rounds)*float64(r.N)*32)
		})
		if r.N%handoffBatch != 0 {
			r.Fail(fmt.Errorf("bench: handoff needs a multiple of %d blocks, not %d", handoffBatch, r.N))
		}
		return func() uint64 {
			sum := handoffRound(way, empty, r.N/handoffBatch, atHome)
			rounds++
			if rounds == 1 {
				before = usage.RSS()
			}
			return sum
		}
	}
}

// handoffRound takes all batches from empty, and returns them there.
func handoffRound(way HandoffWay, empty chan *HandoffBatch, batches int, atHome bool) uint64 {
	full := make(chan *HandoffBatch, cap(empty))
	var sum uint64
	var wg sync.WaitGroup
	wg.Go(func() {
		for b := range full {
			for _, p := range b {
				sum = sum*31 + p.Seq
				p.Seq = 0
			}
			if !atHome {
				way.Empty(b)
			}
			empty <- b
		}
	})
	for i := range batches {
		b := <-empty
		if atHome && b[0] != nil {
			way.Empty(b)
		}
		way.Fill(b, uint64(i)*handoffBatch)
		full <- b
	}
	close(full)
	wg.Wait()
	for range cap(empty) {
		b := <-empty
		if atHome && b[0] != nil {
			way.Empty(b)
		}
		empty <- b
	}
	return sum
}

func handoffHeap() HandoffWay {
	return HandoffWay{
		Fill: func(b *HandoffBatch, seq uint64) {
			for i := range b {
				p := new(HandoffBlock)
				p.Seq = seq + uint64(i)
				b[i] = p
			}
		},
		Empty: func(b *HandoffBatch) { clear(b[:]) },
	}
}

func handoffPool() HandoffWay {
	pool := &sync.Pool{New: func() any { return new(HandoffBlock) }}
	return HandoffWay{
		Fill: func(b *HandoffBatch, seq uint64) {
			for i := range b {
				p := pool.Get().(*HandoffBlock)
				p.Seq = seq + uint64(i)
				b[i] = p
			}
		},
		Empty: func(b *HandoffBatch) {
			for i, p := range b {
				pool.Put(p)
				b[i] = nil
			}
		},
	}
}

// handoffBound leaves the blocks in the batch when it empties it, and finds them there when it fills it again. The
// blocks of new batches come from a stack that only the allocating goroutine touches.
func handoffBound() HandoffWay {
	stack := bound.NewStack(handoffBatches*handoffBatch, 32)
	return HandoffWay{
		Fill: func(b *HandoffBatch, seq uint64) {
			for i, p := range b {
				if p == nil {
					p = bound.Pop[HandoffBlock](stack)
					b[i] = p
				}
				p.Seq = seq + uint64(i)
			}
		},
		Empty: func(*HandoffBatch) {},
	}
}

func handoffOffheap() HandoffWay {
	return HandoffWay{
		Fill: func(b *HandoffBatch, seq uint64) {
			for i := range b {
				p := offheap.New[HandoffBlock]()
				p.Seq = seq + uint64(i)
				b[i] = p
			}
		},
		Empty: func(b *HandoffBatch) {
			for i, p := range b {
				offheap.Delete(p)
				b[i] = nil
			}
		},
	}
}

func handoffGrowthOf(contestant string) bench.Value {
	return func(rows bench.Rows) (float64, string, bool) {
		r := rows.Find("handoff", 0, contestant)
		if r == nil {
			return 0, "", false
		}
		growth, ok := r.Extra["rss_growth_bytes"]
		return growth / (1 << 20), fmt.Sprintf("%s: %s more after handing over %s", contestant, terminal.Bytes(growth), terminal.Bytes(r.Extra["handed_over_bytes"])), ok
	}
}
