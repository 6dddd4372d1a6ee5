// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"iter"

	"github.com/freehold-go/freehold/internal/allocsample"
)

// A Sample is the sampled blocks of one size that were allocated with one stack for one purpose
// while one period was in force. Package adapters/memprof makes a profile of them.
type Sample struct {
	// Stack is the stack of the allocation, as runtime.Callers gives it, innermost first. It must
	// not be changed.
	Stack []uintptr
	// Purpose is the name of the blocks' Purpose, "" if they have none.
	Purpose string
	// Size is the bytes of each block: its size class, as in Stats.
	Size int64
	// Weight is how many blocks of the program one sampled block stands for: the reciprocal of the
	// probability that the block was sampled.
	Weight float64
	// Allocs is how many sampled blocks were allocated, and Frees how many of these were freed.
	Allocs, Frees int64
}

// Samples returns the samples of blocks that were ever allocated, in no order, as of the moment at
// which the range over them begins. There are none before [SetSamplePeriod].
func Samples() iter.Seq[Sample] {
	return func(yield func(Sample) bool) {
		for _, s := range allocsample.Sites() {
			if !yield(Sample{s.Stack, s.Purpose, int64(s.Size), s.Weight(), s.Allocs, s.Frees}) {
				return
			}
		}
	}
}

// SetSamplePeriod sets the average number of bytes allocated between two samples, and returns the
// old period. A block of n bytes is sampled with the probability 1-exp(-n/period). 0, the default,
// means no samples; a period of 1 samples each block. A negative number changes nothing and returns
// the period.
//
// It takes effect at once, except in a Local: a Local reads the period when it samples a block, when
// it needs more blocks, and every 65536 allocations of a size. Earlier samples keep the weight of the
// period that was in force when they were taken. SetSamplePeriod stops the world for some
// microseconds. It may be called from any goroutine.
func SetSamplePeriod(bytes int64) (old int64) {
	if bytes < 0 {
		return allocsample.Period()
	}
	return allocsample.SetPeriod(bytes)
}
