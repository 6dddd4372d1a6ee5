// SPDX-License-Identifier: Apache-2.0

package alloctest

import (
	"errors"
	"fmt"
	"math/bits"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// Errors of the reference allocator.
var (
	errNoMemory = errors.New("reference: out of memory")
	errLimit    = errors.New("reference: limit reached")
)

// faults are the ways in which the reference allocator can be made to break its contract. Each must
// make the suite fail.
type faults struct {
	dirty          bool // TryAlloc gives memory back as the last holder left it.
	dirtyAligned   bool
	alias          bool // Now and then a block is handed out twice.
	short          bool // A block is one byte short.
	loseTail       bool // TryRealloc does not copy the last byte.
	dirtyTail      bool // TryRealloc that shrinks and grows shows the bytes cut off.
	reallocFrees   bool // TryRealloc that fails has freed the block.
	leak           bool // TryRealloc forgets to count the old block as free.
	undercount     bool // InUse counts half.
	misalign       bool // Alignments above 64 are not kept.
	anyAlign       bool // An alignment that is no power of two is accepted.
	negativeIsZero bool // A negative length gives an empty block.
	overflow       bool // Rounding up a huge length overflows to a small block.
	wrongError     bool // An error that is not the promised one.
	ignoreDouble   bool // A second Free is ignored.
	ignoreInterior bool // Free inside a block is ignored.
	ignoreForeign  bool // Free of foreign memory is ignored.
	freeInterior   bool // Free inside a block panics, but has freed it.
	vague          bool // The panic does not say which misuse it is.
	shortFree      bool // Free(b[:0]) is ignored.
	rejectEmpty    bool // Free(nil) panics.
	purgeLive      bool // Purge wipes live blocks.
	noLimit        bool // Limits are ignored.
	limitSticks    bool // A limit once reached refuses everything for ever.
	stuck          bool // After an error of the system nothing works.
	failLeaks      bool // An error of the system leaves its bytes counted.
	panicOnFail    bool // An error of the system is a panic.
	torn           bool // Two goroutines at once can get the same block.
}

// refBlock is one block of the reference allocator, live or free.
type refBlock struct {
	memory []byte // With room to align in.
	b      []byte // The block.
	class  int
	live   bool
}

// reference is a correct allocator over the Go heap, with faults to order. Blocks are powers of
// two; free ones are kept in one list a class and are found by their address.
type reference struct {
	faults
	mu      sync.Mutex
	blocks  map[uintptr]*refBlock // By the address of b.
	free    [48][]*refBlock
	inUse   int64
	limit   int64
	stopped bool
	calls   int
	failAt  int // The system call that fails, 0 for none.
	failed  atomic.Bool
	count   int
}

// newReference returns an allocator with the faults given.
func newReference(f faults) *reference {
	return &reference{faults: f, blocks: map[uintptr]*refBlock{}, limit: 1 << 60}
}

const refMax = 1 << 28 // The largest block, in bytes.

// system stands for a call to the operating system.
func (r *reference) system(n int) ([]byte, error) {
	r.calls++
	if r.calls == r.failAt || r.stuck && r.failed.Load() {
		r.failed.Store(true)
		if r.panicOnFail {
			panic("reference: the system failed")
		}
		if r.failLeaks {
			r.inUse += int64(n)
		}
		return nil, fmt.Errorf("%w: the system refused %d bytes", errNoMemory, n)
	}
	return make([]byte, n), nil
}

// take returns a block of n bytes at a multiple of align, dirty or not, and says which.
func (r *reference) take(n, align int) (k *refBlock, dirty bool, err error) {
	if n < 0 {
		if !r.negativeIsZero {
			panic(fmt.Sprintf("reference: negative length %d", n))
		}
		n = 0
	}
	if align <= 0 || align&(align-1) != 0 {
		if !r.anyAlign {
			panic(fmt.Sprintf("reference: alignment %d is not a power of two", align))
		}
		align = 1
	}
	if r.overflow && n > refMax {
		n = 16
	}
	if n > refMax {
		if r.wrongError {
			return nil, false, errors.New("reference: something else")
		}
		return nil, false, fmt.Errorf("%w: %d bytes", errNoMemory, n)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped || !r.noLimit && r.inUse+int64(n) > r.limit {
		r.stopped = r.limitSticks
		return nil, false, fmt.Errorf("%w: %d bytes in use", errLimit, r.inUse)
	}
	k, dirty, err = r.takeLocked(n, align)
	if err == nil {
		k.live = true
		r.inUse += r.counted(n)
	}
	return k, dirty, err
}

// counted returns what a block of n bytes adds to InUse.
func (r *reference) counted(n int) int64 {
	if r.undercount {
		return int64(n / 2)
	}
	return int64(n)
}

// takeLocked finds a free block or makes one.
func (r *reference) takeLocked(n, align int) (*refBlock, bool, error) {
	class := bits.Len(uint(n))
	r.count++
	if r.alias && r.count%50 == 0 {
		for _, k := range r.blocks {
			if k.live && k.class == class && addr(k.b)%uintptr(align) == 0 {
				return &refBlock{b: k.memory[addr(k.b)-addr(k.memory):][:n:n], class: class}, true, nil
			}
		}
	}
	if k := r.reuse(class, align); k != nil {
		r.resize(k, n)
		return k, true, nil
	}
	if r.misalign {
		align = min(align, 64)
	}
	memory, err := r.system(1<<class + align)
	if err != nil {
		return nil, false, err
	}
	skip := 0
	if rest := int(addr(memory) % uintptr(align)); rest != 0 {
		skip = align - rest
	}
	k := &refBlock{memory: memory, b: memory[skip:][:n:n], class: class}
	if n > 0 {
		r.blocks[addr(k.b)] = k
	}
	return k, false, nil
}

// resize changes the length of a block, at the same address.
func (r *reference) resize(k *refBlock, n int) {
	if n > 0 {
		k.b = k.memory[addr(k.b)-addr(k.memory):][:n:n]
	}
}

// reuse takes a block out of a free list.
func (r *reference) reuse(class, align int) *refBlock {
	fits := func(k *refBlock) bool { return addr(k.b)%uintptr(align) == 0 }
	i := slices.IndexFunc(r.free[class], fits)
	if i < 0 {
		return nil
	}
	k := r.free[class][i]
	if r.torn {
		r.mu.Unlock()
		runtime.Gosched()
		r.mu.Lock()
	}
	r.free[class] = slices.DeleteFunc(r.free[class], func(o *refBlock) bool { return o == k })
	return k
}

// TryAlloc is Allocator's.
func (r *reference) TryAlloc(n int) ([]byte, error) {
	k, dirty, err := r.take(n, 1)
	if err != nil {
		return nil, err
	}
	if dirty && !r.dirty {
		clear(k.b)
	}
	if r.short && n > 100 {
		return k.b[:n-1], nil
	}
	return k.b, nil
}

// TryAllocUninit is Allocator's.
func (r *reference) TryAllocUninit(n int) ([]byte, error) {
	k, _, err := r.take(n, 1)
	if err != nil {
		return nil, err
	}
	return k.b, nil
}

// TryAllocAligned is Allocator's.
func (r *reference) TryAllocAligned(n, align int) ([]byte, error) {
	k, dirty, err := r.take(n, align)
	if err != nil {
		return nil, err
	}
	if dirty && !r.dirtyAligned {
		clear(k.b)
	}
	return k.b, nil
}

// find returns the live block that b starts, or panics.
func (r *reference) find(b []byte) *refBlock {
	p := addr(b)
	if k := r.blocks[p]; k != nil && k.live {
		return k
	} else if k != nil {
		if r.ignoreDouble {
			return nil
		}
		if r.vague {
			panic("reference: bad pointer")
		}
		panic(fmt.Sprintf("reference: double free of %d bytes at %#x", len(k.b), p))
	}
	for _, k := range r.blocks {
		if from := addr(k.memory); p >= from && p < from+uintptr(len(k.memory)) {
			if r.freeInterior && k.live {
				r.release(k)
			}
			if r.ignoreInterior {
				return nil
			}
			panic(fmt.Sprintf("reference: interior pointer %#x, the block is at %#x", p, addr(k.b)))
		}
	}
	if r.ignoreForeign {
		return nil
	}
	panic(fmt.Sprintf("reference: foreign pointer %#x", p))
}

// findLocked is find with the lock held. A panic lets go of it.
func (r *reference) findLocked(b []byte) *refBlock {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.find(b)
}

// release puts a live block into its list.
func (r *reference) release(k *refBlock) {
	k.live = false
	r.inUse -= r.counted(len(k.b))
	r.free[k.class] = append(r.free[k.class], k)
}

// Free is Allocator's.
func (r *reference) Free(b []byte) {
	if cap(b) == 0 {
		if r.rejectEmpty {
			panic("reference: nothing to free")
		}
		return
	}
	if r.shortFree && len(b) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if k := r.find(b); k != nil {
		r.release(k)
	}
}

// TryRealloc is Allocator's.
func (r *reference) TryRealloc(b []byte, n int) ([]byte, error) {
	if cap(b) == 0 {
		return r.TryAlloc(n)
	}
	old := r.findLocked(b)
	if r.dirtyTail && old != nil && n > 0 && n <= 1<<old.class {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.inUse += int64(n - len(old.b))
		r.resize(old, n)
		return old.b, nil
	}
	next, err := r.TryAlloc(n)
	if err != nil {
		if r.reallocFrees && old != nil {
			r.Free(b)
		}
		return nil, err
	}
	kept := copy(next, b)
	if r.loseTail && kept > 1 {
		next[kept-1] = 0
	}
	r.Free(b)
	if r.leak {
		r.inUse += int64(len(b))
	}
	return next, nil
}

// InUse is Allocator's.
func (r *reference) InUse() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.inUse
}

// SetLimit is Limiter's.
func (r *reference) SetLimit(n int64) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.limit
	r.limit = n
	return old
}

// Purge is Purger's. It keeps the addresses, because a second Free must still be found.
func (r *reference) Purge() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, k := range r.blocks {
		if k.live && r.purgeLive {
			clear(k.b)
		}
	}
}
