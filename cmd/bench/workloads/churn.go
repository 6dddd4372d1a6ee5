// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"slices"
	"sync"

	"github.com/freehold-go/freehold/cmd/bench"
)

func churnWorkloads() []bench.Workload {
	w := bench.Workload{
		Name: "churn",
		Doc: "Two goroutines with n live blocks each replace the oldest or the newest block by one of 16 B to 64 KiB " +
			"(log-uniform), not zeroed where there is a choice.",
		Op:    "pair",
		Size:  "live blocks",
		Quick: []int{4096},
		Full:  []int{4096},
		Ops:   func(int) int { return churnGoroutines * churnSteps },
		Contestants: slices.Concat([]bench.Contestant{
			{Name: heapName, Note: "make([]byte, n), which zeroes", Prepare: Churn(shared(heapBytes), false)},
			{Name: "sync.Pool", Note: "one for each power of two", Prepare: Churn(shared(poolBytes), false)},
			{Name: boundName, Note: "unchecked free lists of size classes, one set for each goroutine", Prepare: Churn(boundBytes, false)},
		}, own(
			bench.Contestant{Name: "offheap", Note: "AllocUninit and Free", Prepare: Churn(offheapUninit, false)},
			bench.Contestant{Name: "offheap Local", Note: "AllocUninit and Free of a Local for each goroutine", Prepare: Churn(offheapLocal, false)},
		), sampled("offheap", Churn(offheapUninit, false))),
		Bars: sampledBars("churn", "offheap", 1.03, 1.03),
	}
	zeroed := w
	zeroed.Name = "churn/zeroed"
	zeroed.Doc = "The same with every block zeroed."
	zeroed.Contestants = slices.Concat([]bench.Contestant{
		{Name: heapName, Note: "make([]byte, n)", Prepare: Churn(shared(heapBytes), true)},
		{Name: "sync.Pool", Note: "one for each power of two, and clear", Prepare: Churn(shared(func() Bytes { return Zeroed(poolBytes()) }), true)},
		{Name: boundName, Note: "unchecked free lists of size classes, and clear", Prepare: Churn(func() Bytes { return Zeroed(boundBytes()) }, true)},
	}, own(
		bench.Contestant{Name: "offheap", Note: "Alloc and Free", Prepare: Churn(offheapZeroed, true)},
		bench.Contestant{Name: "offheap Local", Note: "Alloc and Free of a Local for each goroutine", Prepare: Churn(offheapLocalZeroed, true)},
	), sampled("offheap", Churn(offheapZeroed, true)))
	zeroed.Bars = sampledBars("churn/zeroed", "offheap", 1.02, 1.01)
	return []bench.Workload{w, zeroed}
}

const (
	churnGoroutines = 2
	churnSteps      = 1 << 13 // a goroutine in a round
	churnLow        = 16
	churnHigh       = 64 << 10
)

// shared makes all goroutines use one instance of a way, which must be safe for that.
func shared(newWay func() Bytes) func() Bytes {
	return sync.OnceValue(newWay)
}

// Churn is the Prepare of a contestant of the workloads churn, or churn/zeroed if zeroed. newWay is called once for
// each goroutine.
func Churn(newWay func() Bytes, zeroed bool) func(r *bench.Run) func() uint64 {
	return func(r *bench.Run) func() uint64 {
		churners := make([]*churner, churnGoroutines)
		for i := range churners {
			churners[i] = newChurner(newWay(), uint64(i), r.N, zeroed)
			r.Cleanup(churners[i].free)
		}
		return func() uint64 {
			sums := make([]uint64, len(churners))
			var wg sync.WaitGroup
			for i, c := range churners {
				wg.Go(func() { sums[i] = c.round() })
			}
			wg.Wait()
			var sum uint64
			for i, s := range sums {
				sum += s * uint64(i+1)
			}
			return sum
		}
	}
}

// A churner is one goroutine's part. Its live blocks stand in a ring and outlive the rounds.
type churner struct {
	way    Bytes
	zeroed bool
	steps  []churnStep
	ring   [][]byte // a power of two of them
	first  int      // of the oldest live block; positions are taken modulo the ring
	next   int      // behind the newest one
	stamp  uint64
}

// A churnStep is prepared in advance, so that drawing sizes is not measured.
type churnStep struct {
	size   uint32
	oldest bool
}

func newChurner(way Bytes, seed uint64, live int, zeroed bool) *churner {
	random := newRandom(seed)
	c := &churner{way: way, zeroed: zeroed, steps: make([]churnStep, churnSteps)}
	for i := range c.steps {
		c.steps[i] = churnStep{uint32(logUniform(random, churnLow, churnHigh)), random.Uint32()&1 == 0}
	}
	room := 1
	for room < live+1 {
		room *= 2
	}
	c.ring = make([][]byte, room)
	for i := range live {
		c.add(int(c.steps[i%churnSteps].size))
	}
	return c
}

// add allocates a block, writes its ends, and returns the previous value of the last byte, which is
// 0 if the block was zeroed.
func (c *churner) add(size int) (stale uint64) {
	b := c.way.Alloc(size)
	if c.zeroed {
		stale = uint64(b[len(b)-1]) + uint64(b[0])
	}
	c.stamp++
	b[0], b[len(b)-1] = byte(c.stamp), byte(c.stamp>>8)
	c.ring[c.next&(len(c.ring)-1)] = b
	c.next++
	return stale
}

func (c *churner) round() (sum uint64) {
	mask := len(c.ring) - 1
	for _, step := range c.steps {
		var slot *[]byte
		if step.oldest {
			slot = &c.ring[c.first&mask]
			c.first++
		} else {
			c.next--
			slot = &c.ring[c.next&mask]
		}
		b := *slot
		*slot = nil
		sum = sum*31 + uint64(b[0]) + uint64(b[len(b)-1])
		c.way.Free(b)
		sum += c.add(int(step.size)) << 32
	}
	return sum
}

// free frees the live blocks.
func (c *churner) free() {
	for ; c.first != c.next; c.first++ {
		c.way.Free(c.ring[c.first&(len(c.ring)-1)])
	}
}
