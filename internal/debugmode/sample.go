// SPDX-License-Identifier: Apache-2.0

package debugmode

import (
	"sync/atomic"
	"time"

	"github.com/freehold-go/freehold/internal/realtime"
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

// SkippedSamples returns how many samples the rate forbade, or the share of the budgets that arenas
// have.
func SkippedSamples() uint64 { return samples.skipped.Load() }
