// SPDX-License-Identifier: Apache-2.0

package debugmode

import (
	"sync/atomic"
	"time"

	"github.com/freehold-go/freehold/internal/realtime"
	"github.com/freehold-go/freehold/internal/vmem"
)

// sampler bounds the samples of a second. Samples not used in the last burst seconds may be used
// at once, so that the blocks that a program makes at its start are as likely to be sampled as
// later ones; beyond 7/8 of that chance decides (see thin.go). The zero value is ready.
type sampler struct {
	// used is the moment, in nanoseconds since start, until which the samples taken so far would
	// have come one by one, at the rate.
	used    atomic.Int64
	skipped atomic.Uint64
}

// burst is how much unused rate is kept: 16 seconds of it.
const burst = 16 * time.Second

// samples is the sampler of this process.
var samples sampler

// TakeSample reports whether an allocation that was chosen by its number may be guarded now, as far
// as Config.SampleRate goes. If not, it is counted as skipped. In a bubble of testing/synctest,
// whose clock says nothing about the rate, time stands still at the last sample.
func TakeSample() bool {
	now, ok := realtime.Elapsed()
	if !ok {
		now = time.Duration(samples.used.Load())
	}
	return samples.take(Current().SampleRate, now)
}

// take counts a sample at a moment.
func (s *sampler) take(rate int, now time.Duration) bool {
	if rate <= 0 {
		return true
	}
	each := int64(time.Second) / int64(rate)
	for {
		used := s.used.Load()
		ahead := max(0, used-int64(now))
		if !lucky(float64(ahead) / float64(burst)) {
			s.skipped.Add(1)
			return false
		}
		if s.used.CompareAndSwap(used, int64(now)+ahead+each) {
			return true
		}
	}
}

// arenas is what sampled blocks in arenas hold of the budgets.
var arenas portion

// HoldSample is TakeSample for a value of so many bytes in an arena. Values live until their arena
// ends, so they get the part of each budget up to which other blocks are served without chance. A
// value that does not fit is counted as skipped, and the first time one line says so. NewObject
// takes the count back when the value ends. If the value is not made, the caller must call
// DropSample.
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

// portion is what some blocks hold of thinFrom of each budget.
type portion struct {
	maps, bytes atomic.Int64
	told        atomic.Bool
}

// take counts a block if there is room for it and chance is for it.
func (h *portion) take(size uintptr, c Config) bool {
	maps, bytes := h.maps.Add(mapsPerBlock), h.bytes.Add(pageBytes(size))
	mostMaps, mostBytes := thinFrom*float64(c.GuardMaps), thinFrom*float64(liveBytes(c.GuardBytes))
	fill := max(float64(maps-mapsPerBlock)/mostMaps, float64(bytes-pageBytes(size))/mostBytes)
	if float64(maps) <= mostMaps && float64(bytes) <= mostBytes && lucky(fill) {
		return true
	}
	h.drop(size)
	samples.skipped.Add(1)
	if h.told.CompareAndSwap(false, true) {
		say("values in arenas that are not freed have nearly used their part of the budget of guarded memory (%d mappings, %d bytes): "+
			"from now on fewer are sampled, the more of them there are", c.GuardMaps, c.GuardBytes)
	}
	return false
}

func (h *portion) drop(size uintptr) {
	h.maps.Add(-mapsPerBlock)
	h.bytes.Add(-pageBytes(size))
}

// pageBytes is what a guarded block of so many bytes takes of Config.GuardBytes.
func pageBytes(size uintptr) int64 { return int64(pagesOf(size) * vmem.PageSize()) }

// SkippedSamples returns how many samples the rate forbade, or the share of the budgets that arenas
// have.
func SkippedSamples() uint64 { return samples.skipped.Load() }
