// SPDX-License-Identifier: Apache-2.0

package allocsample

import (
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
)

// Rates say how likely blocks are sampled, for which purpose. They never change.
type Rates struct {
	perByte  float64 // sample points, for the profile
	perBlock float64 // the rate whose exponential variate is below 1 with the probability that a block is to be guarded
}

// maxGap is the largest gap: so many blocks and a few more must fit 32 bits.
const maxGap = 1 << 30

// Gap draws the number of blocks of size bytes that are not sampled, for neither purpose, before
// one that is. It does not block and may be called by a goroutine that is pinned to a P.
func (r *Rates) Gap(size uintptr) uint32 {
	// The whole part of an exponential variate is distributed as the number of failures before a
	// success.
	gap := exponential() / (r.perByte*float64(size) + r.perBlock)
	if gap < maxGap {
		return uint32(gap)
	}
	return maxGap
}

// Pick says what a block of size bytes is sampled for, of which it is known that it is: for the
// profile, to be guarded, or both.
func (r *Rates) Pick(size uintptr) (profile, guard bool) {
	if r.perBlock == 0 || r.perByte == 0 {
		return r.perByte != 0, r.perBlock != 0
	}
	p, g := -math.Expm1(-r.perByte*float64(size)), -math.Expm1(-r.perBlock)
	at := -math.Expm1(-exponential()) * (p + g - p*g) // Uniform below the probability of either: first both, then the profile alone.
	return at < p, at < p*g || at >= p
}

// ByBytes draws whether a block of size bytes is sampled for the profile, of which nothing is known
// yet.
func (r *Rates) ByBytes(size uintptr) bool { return exponential() < r.perByte*float64(size) }

// ByCount draws whether a block is to be guarded, of which nothing is known yet.
func (r *Rates) ByCount() bool { return r.perBlock != 0 && exponential() < r.perBlock }

// exponential draws from the exponential distribution of mean 1.
func exponential() float64 {
	if f := source.Load(); f != nil {
		return (*f)()
	}
	return rand.ExpFloat64()
}

var source atomic.Pointer[func() float64]

// SetSource lets a test draw from f, in place of the exponential distribution of mean 1, until it
// calls restore.
func SetSource(f func() float64) (restore func()) {
	old := source.Swap(&f)
	return func() { source.Store(old) }
}

var settings struct {
	mu       sync.Mutex
	period   int64 // bytes, for the profile
	every    int   // blocks, to be guarded
	onChange []func(*Rates)
}

// OnChange has f called with the rates, nil for none, now and whenever they change.
func OnChange(f func(*Rates)) {
	settings.mu.Lock()
	defer settings.mu.Unlock()
	settings.onChange = append(settings.onChange, f)
	f(current())
}

// SetPeriod sets the mean number of bytes between sample points, 0 for none at all, and returns
// that before. Blocks sampled earlier keep the weight that they were sampled with.
func SetPeriod(bytes int64) (old int64) {
	settings.mu.Lock()
	defer settings.mu.Unlock()
	old = settings.period
	if bytes == old {
		return old
	}
	settings.period = bytes
	period.Store(bytes)
	tell()
	return old
}

// SetEvery sets that one block in n is to be guarded, 0 for none.
func SetEvery(n int) {
	settings.mu.Lock()
	defer settings.mu.Unlock()
	settings.every = n
	tell()
}

// tell passes the rates to the functions that OnChange registered. The caller holds the lock of the
// settings.
func tell() {
	for _, f := range settings.onChange {
		f(current())
	}
}

// period is that of the settings, for those without the lock.
var period atomic.Int64

// Period is what SetPeriod set.
func Period() int64 { return period.Load() }

// current makes the rates of the settings. The caller holds their lock.
func current() *Rates { return ratesOf(settings.period, settings.every) }

// ratesOf are the rates for a period and one guarded block in every, nil if both are 0.
func ratesOf(period int64, every int) *Rates {
	var r Rates
	if period > 0 {
		r.perByte = 1 / float64(period)
	}
	if every > 0 {
		r.perBlock = -math.Log1p(-1 / float64(every)) // Infinite for each block.
	}
	if r == (Rates{}) {
		return nil
	}
	return &r
}

// Probability is how likely a block of size bytes is sampled with a period.
func Probability(size uintptr, period int64) float64 {
	return -math.Expm1(-float64(size) / float64(period))
}
