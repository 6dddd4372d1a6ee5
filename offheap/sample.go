// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"iter"

	"github.com/freehold-go/freehold/internal/allocsample"
	"github.com/freehold-go/freehold/internal/debugmode"
)

// Sampling.
//
// Some allocations, chosen at random, are sampled: for the profile, in which every byte has the
// same probability to make its block a sample, and for guarded pages, one in a number of blocks.
// Each slot counts down the blocks that it allocates before the next sampled one (slot.left, in one
// word with its free blocks), so that exactly that allocation takes the slow path. Without sampling
// it counts down, too, from a number so large that the slow path's cost is negligible. At zero the
// slow path checks whether sampling is on now.
//
// All blocks of a slot have one size. That the number of blocks before the next sampled one is
// drawn anew for each slot, each time, therefore gives what a single stream of bytes with
// exponential gaps would: each block is sampled with a probability that depends on its size alone,
// whatever happened before.
//
// A sampled block comes from a bin of its own, that of its kind for sampled blocks, which has no
// slots. So a free of it finds no slot, takes the slow way, and there the record of the block is
// dropped. Large blocks take the slow way anyway, and bear a mark.

// idle is the number of blocks that a slot allocates before the slow path checks whether sampling
// is on. It is small, so that a Local, whose cache only its user may touch, notices soon. It is
// large enough for the check to cost nothing measurable.
const idle = 1 << 16

func init() { allocsample.OnChange(std.setRates) }

// setRates makes the sampler's rates those of the heap. What Ps have checked out is taken back,
// so that they notice at once.
func (h *heap) setRates(r *allocsample.Rates) {
	h.rates.Store(r)
	if h.bins.Load() != nil {
		h.flushPs()
	}
}

// due says whether the allocation for which the slot is asked, in the slow way, is to be sampled
// with the rates r. It draws the slot's next count if the last has run out or was drawn for
// something else.
func (s *slot) due(r *allocsample.Rates) bool {
	want := drawnIdle
	if r != nil {
		want = drawnSampling
	}
	if s.left() != 0 && s.drawn == want {
		return false
	}
	return s.draw(r, want)
}

//go:noinline
func (s *slot) draw(r *allocsample.Rates, want drawing) bool {
	if r == nil {
		s.setLeft(idle)
		s.drawn = want
		return false
	}
	gap := r.Gap(uintptr(s.size))
	due := s.drawn == want
	if !due && gap == 0 {
		due, gap = true, r.Gap(uintptr(s.size))
	}
	s.setLeft(gap)
	s.drawn = want
	return due
}

// chosen says whether a block of n bytes that comes from no slot is to be in the profile.
func (h *heap) chosen(n uintptr) bool {
	r := h.rates.Load()
	return r != nil && r.ByBytes(n)
}

// sample serves one allocation of b's blocks that is sampled. It returns 0 if it cannot: sampling
// never makes an allocation fail.
func (h *heap) sample(b *bin, q request) (addr uintptr) {
	r := h.rates.Load()
	if r == nil {
		return 0
	}
	profile, guard := r.Pick(uintptr(b.size))
	if guard {
		addr = h.guardOne(q)
	}
	if addr == 0 && profile {
		addr, _ = h.allocShared(h.bin(h.sampledKind(b.kind), b.class)) // An error leaves 0.
	}
	if addr != 0 && profile {
		allocsample.Add(addr, uintptr(b.size), b.kind.account())
	}
	return addr
}

// guardOne serves an allocation on guarded pages, if their bounds and the limits allow it, or
// returns 0.
func (h *heap) guardOne(q request) uintptr {
	if h.guards == nil || q.n > largestAlloc || !debugmode.TakeSample() {
		return 0
	}
	b := block{size: q.n, room: q.n, kind: q.kind, desc: q.desc}
	if b.kind.typed() && b.desc == nil {
		return 0
	}
	// At a limit the ordinary way may still have a free block.
	if h.charge(b.kind, b.size, h.guards.counter(b.kind)) != nil {
		return 0
	}
	if !h.guards.guard(&b, q.align) {
		h.guards.unaccount(&b)
		return 0
	}
	b.stack = debugmode.Callers(0)
	h.guards.enter(&b, true)
	return b.addr
}

// guardLarge serves a large block on guarded pages if chance picks it and the bounds allow it, or
// returns 0.
func (h *heap) guardLarge(q request) (addr uintptr) {
	r := h.rates.Load()
	if r == nil || !r.ByCount() {
		return 0
	}
	if addr = h.guardOne(q); addr != 0 && h.chosen(q.n) {
		allocsample.Add(addr, q.n, q.kind.account())
	}
	return addr
}

// resolveGuarded is resolve for a guardedRef. It panics if a block of that kind was freed, and
// returns false for any other Ref.
func (h *heap) resolveGuarded(off uint64, d *typeDesc, n uintptr) (uintptr, bool) {
	if off&guardedRef == 0 {
		return 0, false
	}
	addr := uintptr(off &^ guardedRef)
	t := h.sampledGuard(addr)
	if t == nil || uint64(addr)|guardedRef != off {
		return 0, false
	}
	if at, ok := t.lookUp(addr, d, n); ok {
		return at, true
	}
	t.staleRef(uint64(addr), d, n)
	panic(badRef(off, d, uint64(n)))
}

// sampledGuard is the recorder with the record of the block at addr, if that is a sampled block on
// guarded pages, in use or freed. For other addresses it is nil.
func (h *heap) sampledGuard(addr uintptr) *recorder {
	if h.guards == nil {
		return nil
	}
	if b, ok := debugmode.Find(addr); !ok || !b.Guarded || b.Owner != "offheap" {
		return nil
	}
	return h.guards
}

// recorderOf is the recorder with the record of the block at addr, or nil for a block in a span.
func (h *heap) recorderOf(addr uintptr) *recorder {
	if t := h.serving(); t != nil {
		return t
	}
	return h.sampledGuard(addr)
}

// freeGuarded frees a sampled guarded block. It reports false if addr has nothing to do with any.
func (h *heap) freeGuarded(addr uintptr, op string) bool {
	t := h.guards
	if t == nil {
		return false
	}
	_, alive := t.blocks.find(addr)
	if !alive && h.sampledGuard(addr) != t {
		return false
	}
	if alive {
		allocsample.Remove(addr)
	}
	t.freeBlock(addr, op) // It panics if no block begins there.
	return true
}

// startSampling guards one allocation in n from now on.
func (h *heap) startSampling(n int) {
	h.guards = newRecorder(h)
	h.guards.debug(debugmode.Config{Sample: n})
	allocsample.SetEvery(n)
}

// sampleLarge notes that the large block of sp, which no other goroutine knows yet, is sampled.
func (h *heap) sampleLarge(k *kind, sp *span) {
	sp.full.Store(1)
	allocsample.Add(sp.base, sp.bytes(), k.account())
}

// resampleLarge notes that the large block of sp was resized from old bytes. Whether it is sampled
// is as likely then as if it had been of its largest size from the beginning. touched has that
// size, in granules, once the block was resized: bytes that it gains anew were drawn for already.
func (h *heap) resampleLarge(k *kind, sp *span, old uintptr) {
	n, most := sp.bytes(), max(uintptr(sp.touched.Load())*granule, old)
	sp.touched.Store(uint32(max(n, most) / granule))
	if sp.full.Load() != 0 {
		allocsample.Resize(sp.base, n)
	} else if n > most && h.chosen(n-most) {
		h.sampleLarge(k, sp)
	}
}

// forget drops the record of the block at addr, if there is one. It comes before the block is
// freed, or else the next block there might lose its record. remember undoes it, if the block is
// not freed after all.
func (b *bin) forget(addr uintptr) (remember func()) {
	if b.kind.ordinary == nil {
		return func() {}
	}
	return allocsample.Remove(addr)
}

// sampledKind is the kind that serves sampled blocks of k.
func (h *heap) sampledKind(k *kind) *kind {
	if t := k.sampled.Load(); t != nil {
		return t
	}
	t := k.like()
	t.ordinary = k
	k.sampled.CompareAndSwap(nil, t)
	return k.sampled.Load()
}

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
// It takes effect at once, except in a Local: a Local reads the period when it samples a block,
// when it needs more blocks, and every 65536 allocations of a size. Earlier samples keep the weight
// of the period that was in force when they were taken. SetSamplePeriod stops the world for some
// microseconds. It may be called from any goroutine.
func SetSamplePeriod(bytes int64) (old int64) {
	if bytes < 0 {
		return allocsample.Period()
	}
	return allocsample.SetPeriod(bytes)
}
