// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"
)

// smallSet allocates 10 MiB in blocks of 16 B to 64 KiB, from one goroutine for each P. Each goroutine
// frees half of its blocks and allocates as many anew, 19 times. The result is the blocks in use.
func smallSet(ps int) (blocks [][]byte) {
	sizes := make([][]int, ps)
	rng := rand.New(rand.NewPCG(1, 2))
	for i, sum := 0, 0; sum < 10<<20; i++ {
		octave := 16 << rng.IntN(12)
		n := octave + rng.IntN(octave)
		sizes[i%ps] = append(sizes[i%ps], n)
		sum += n
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for w, sizes := range sizes {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 2))
			mine := make([][]byte, len(sizes))
			for round := range 20 {
				for i, b := range mine {
					if round > 0 && rng.IntN(2) == 0 {
						Free(b)
						mine[i] = nil
					}
				}
				for i, n := range sizes {
					if mine[i] == nil {
						mine[i] = Alloc(n) // Written, so that its pages are resident.
					}
					if rng.IntN(16) == 0 {
						runtime.Gosched()
					}
				}
				time.Sleep(time.Millisecond)
			}
			mu.Lock()
			blocks = append(blocks, mine...)
			mu.Unlock()
		})
	}
	wg.Wait()
	return blocks
}

// BenchmarkSmallSet reports the memory that a small set of blocks takes of the machine, by the bytes
// of the blocks, with few Ps and with many.
func BenchmarkSmallSet(b *testing.B) {
	needSlabs(b)
	for _, ps := range []int{2, 64} {
		b.Run(fmt.Sprintf("%dPs", ps), func(b *testing.B) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(ps))
			taken := func() int64 { return resident(b) + ReadStats().Metadata }
			ratio, rounds := 0.0, 0
			for b.Loop() {
				Purge()
				before, live := taken(), 0
				blocks := smallSet(ps)
				for _, block := range blocks {
					live += len(block)
				}
				ratio += float64(taken()-before) / float64(live)
				rounds++
				for _, block := range blocks {
					Free(block)
				}
			}
			b.ReportMetric(ratio/float64(rounds), "resident/live")
		})
	}
}
