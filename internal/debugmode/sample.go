package debugmode

import (
	"sync/atomic"
	"time"

	"github.com/freehold-go/freehold/internal/vmem"
)

// sampler bounds the samples of each second. The zero value is ready.
type sampler struct {
	second  atomic.Int64 // the current one, since start
	taken   atomic.Int64 // in it
	skipped atomic.Uint64
}

// samples is the sampler of this process.
var samples sampler

// start is what seconds are counted from, on the monotonic clock.
var start = time.Now()

// TakeSample reports whether an allocation that was chosen by its number may be guarded now: fewer than Config.SampleRate were in this
// second. If not, it is counted as skipped.
func TakeSample() bool {
	return samples.take(Current().SampleRate, int64(time.Since(start)/time.Second))
}

// arenas is what sampled blocks in arenas hold of the budgets.
var arenas half

// HoldSample is TakeSample for a block of so many bytes in an arena. Arenas need not be freed, so that such blocks may stay for good: they
// get half of each budget, and other samples the rest. What does not fit is counted as skipped, which the operator is told the first time.
// DropSample must follow when the block is freed, or did not come to be.
func HoldSample(size uintptr) bool {
	if !arenas.take(size, Current()) {
		return false
	}
	if TakeSample() {
		return true
	}
	DropSample(size)
	return false
}

// DropSample takes back what HoldSample counted.
func DropSample(size uintptr) { arenas.drop(size) }

// half is one of each budget.
type half struct {
	maps, bytes atomic.Int64
	told        atomic.Bool
}

// take counts a block unless there would be more than half of a budget.
func (h *half) take(size uintptr, c Config) bool {
	maps, bytes := h.maps.Add(mapsPerBlock), h.bytes.Add(pageBytes(size))
	if maps <= int64(c.GuardMaps)/2 && bytes <= c.GuardBytes/2 {
		return true
	}
	h.drop(size)
	samples.skipped.Add(1)
	if h.told.CompareAndSwap(false, true) {
		say("values in arenas that are not freed take their half of the budget of guarded memory (guardmaps=%d, guardbytes=%d): further ones are not sampled",
			c.GuardMaps, c.GuardBytes)
	}
	return false
}

func (h *half) drop(size uintptr) {
	h.maps.Add(-mapsPerBlock)
	h.bytes.Add(-pageBytes(size))
}

// pageBytes is what a guarded block of so many bytes takes of Config.GuardBytes.
func pageBytes(size uintptr) int64 { return int64(pagesOf(size) * vmem.PageSize()) }

// SkippedSamples returns how many samples the rate forbade, or the share of the budgets that arenas have.
func SkippedSamples() uint64 { return samples.skipped.Load() }

// take counts a sample in the second. At its turn, samples of both seconds may be counted for the new one: the bound holds.
func (s *sampler) take(rate int, second int64) bool {
	if rate <= 0 {
		return true
	}
	if last := s.second.Load(); last < second && s.second.CompareAndSwap(last, second) {
		s.taken.Store(0)
	}
	if s.taken.Add(1) > int64(rate) {
		s.skipped.Add(1)
		return false
	}
	return true
}
