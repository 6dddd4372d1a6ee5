// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/freehold-go/freehold/internal/invariants"
	"github.com/freehold-go/freehold/internal/realtime"
	"github.com/freehold-go/freehold/internal/sanitize"
	"github.com/freehold-go/freehold/internal/sizeclass"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/internal/vmem"
)

// allocSpan makes a span of n granules for bin b and shows it in the page map. setup writes the
// group words before anyone sees the span. dirty lists what of the span may hold old data. The
// caller calls followGrowth once it holds no lock.
func (h *heap) allocSpan(b *bin, n int, align uintptr, setup func(*span)) (s *span, dirty dirtyRuns, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s, err = h.allocSpanLocked(b, n, align, setup, &dirty)
	return s, dirty, err
}

// followGrowth makes the memory limit follow if much was taken since it last did. The caller holds
// no lock.
func (h *heap) followGrowth() {
	if h.grown.Load() && h.grown.Swap(false) {
		h.onGrowth()
	}
}

func (h *heap) allocSpanLocked(b *bin, n int, align uintptr, setup func(*span), dirty *dirtyRuns) (*span, error) {
	bytes := int64(n) * granule
	if err := b.kind.checkLimit(bytes); err != nil {
		return nil, err
	}
	s, err := h.record(b)
	if err != nil {
		return nil, err
	}
	g, err := h.allocGranules(b, n, align, dirty)
	if err != nil {
		b.records = append(b.records, s.addr())
		return nil, err
	}
	invariants.Window()
	atomic.StoreUintptr(&s.base, g.addr())
	invariants.Window()
	atomic.StoreUint32(&s.granules, uint32(n))
	s.next, s.prev = 0, 0
	s.touched.Store(0)
	setup(s)
	if s.size != 0 {
		h.initIdle(g.r, s, dirty)
	} else {
		s.idle.Store(uint32(g.n))
	}
	h.mapBytes += g.r.pages.note(uintptr(g.i), uintptr(g.i+n), s.addr())
	b.slabs.Add(1)
	h.count(b, bytes)
	h.checkNewSpan(b, s)
	return s, nil
}

// record is a record for a span of b. The caller holds the lock.
func (h *heap) record(b *bin) (*span, error) {
	if last := len(b.records) - 1; last >= 0 {
		s := spanAt(b.records[last])
		b.records = b.records[:last]
		return s, nil
	}
	rec, err := h.meta.alloc(h.mem, recordBytes(b.groups()))
	if err != nil {
		return nil, err
	}
	s := spanAt(rec)
	s.bin, s.size, s.magic, s.blocks, s.shift = b.id, b.size, b.magic, uint16(b.blocks), uint8(b.shift)
	return s, nil
}

// count adds n bytes to what spans of b hold. The caller holds the lock.
func (h *heap) count(b *bin, n int64) {
	h.hold(b.kind, n)
	if b.size == 0 {
		b.out.Add(n)
	}
}

// freeSpan takes a span apart whose blocks are all free and which no list and no holder knows.
func (h *heap) freeSpan(b *bin, s *span) {
	h.mu.Lock()
	if s.purging {
		s.state.Store(spanUnlisted) // The purge returns it when it is done.
		h.mu.Unlock()
		return
	}
	h.checkFreeSpan(b, s)
	r := h.regionOf(s.base)
	g := granuleRange{r, int((s.base - r.base) / granule), int(s.granules)}
	space := granuleRange{r, g.i, s.rangeGranules()} // Of a typed kind, none of whose slabs is ever taken apart.
	r.pages.note(uintptr(g.i), uintptr(g.i+g.n), 0)
	b.slabs.Add(-1)
	h.count(b, -int64(s.bytes()))
	s.state.Store(spanDead)
	invariants.Window()
	b.records = append(b.records, s.addr())
	if !b.kind.typed() {
		r.runs.set(g.i, g.n, true)
		if s.size != 0 {
			h.endIdle(s, g)
		} else {
			setBits(r.fresh, g.i, g.n, true)
			h.purge.freshBytes += int64(g.bytes())
		}
	}
	h.mu.Unlock()
	if b.kind.typed() {
		h.freeTyped(b.kind, space)
	} else {
		h.purge.arm()
	}
}

// allocGranules takes n granules for a span of b. For a large block of a typed kind it takes a
// range of at least n. The caller holds the lock.
func (h *heap) allocGranules(b *bin, n int, align uintptr, dirty *dirtyRuns) (granuleRange, error) {
	k := b.kind
	if b.size != 0 || !k.typed() { // A slab over a large block's range would lay its values across the old ones.
		return h.freshGranules(k, n, align, dirty)
	}
	if g, ok := k.takeRange(n, align); ok {
		return g, nil
	}
	room := int(sizeclass.Capacity(uintptr(n)))
	g, err := h.freshGranules(k, room, align, dirty)
	if err != nil && room > n { // There may be room for the block alone.
		g, err = h.freshGranules(k, n, align, dirty)
	}
	return g, err
}

// freshGranules takes n granules for a span of k at the lowest address that fits. The caller holds
// the lock.
func (h *heap) freshGranules(k *kind, n int, align uintptr, dirty *dirtyRuns) (granuleRange, error) {
	extra := 0
	if align > granule {
		extra = int(align/granule) - 1
	}
	var full error
	for i := range int(h.nregions.Load()) {
		if r := &h.regions[i]; r.typed == k.typed() {
			g, err := h.takeFrom(r, n, extra, align, dirty)
			if err == nil {
				return g, nil
			}
			if !errors.Is(err, errRegionFull) {
				full = err
			}
		}
	}
	if full != nil {
		return granuleRange{}, full
	}
	r, err := h.addRegion(uintptr(n+extra)*granule, k.typed())
	if err != nil {
		return granuleRange{}, err
	}
	g, err := h.takeFrom(r, n, extra, align, dirty)
	if errors.Is(err, errRegionFull) {
		err = outOfMemory("blocks", uintptr(n)*granule, err)
	}
	return g, err
}

func (h *heap) takeFrom(r *region, n, extra int, align uintptr, dirty *dirtyRuns) (granuleRange, error) {
	i, ok := r.runs.find(n + extra)
	if !ok {
		// Free granules at the end count towards the need.
		tail := 0
		if len(r.runs.tree) > 0 {
			tail = r.tailFree()
		}
		if err := h.commit(r, uintptr(n+extra-tail)*granule); err != nil {
			return granuleRange{}, err
		}
		if i, ok = r.runs.find(n + extra); !ok {
			return granuleRange{}, errRegionFull
		}
	}
	if extra > 0 {
		addr, from := r.base+uintptr(i)*granule, i
		i += int((roundUp(addr, align) - addr) / granule)
		h.skip(r, from, i)
	}
	r.runs.set(i, n, false)
	h.clean(r, i, n, dirty)
	if end := uintptr(i+n) * granule; end > r.used.Load() {
		r.used.Store(end)
	}
	return granuleRange{r, i, n}, nil
}

// skip is for the free granules [i, j), which alignment leaves between two blocks. The huge page in
// which the block before ends and that in which the block behind begins give them memory when the
// blocks are written. So they count as freed lately, and a purge gives the memory back.
func (h *heap) skip(r *region, i, j int) {
	const unit = hugeUnit / granule
	before, behind := (i+unit-1)/unit*unit, j/unit*unit
	n := h.mayFill(r, i, min(before, j)) + h.mayFill(r, max(behind, i), j)
	if n > 0 {
		h.purge.freshBytes += int64(n) * granule
		h.purge.arm()
	}
}

// mayFill notes that free granules of one huge page, [i, j), may have memory. It returns how many
// of them were not known to.
func (h *heap) mayFill(r *region, i, j int) (n int) {
	if i >= j || !r.mayBeHuge(uintptr(i)*granule) {
		return 0
	}
	for w, mask := range spanWords(i, j-i) {
		mask &^= r.fresh[w] | r.stale[w]
		r.fresh[w] |= mask
		n += bits.OnesCount64(mask)
	}
	return n
}

// tailFree is the number of free granules at the committed end.
func (r *region) tailFree() int {
	n := 0
	for w := len(r.runs.free) - 1; w >= 0; w-- {
		end := int(r.runs.tree[r.runs.leaves+w].end)
		n += end
		if end < wordBits {
			break
		}
	}
	return n
}

// clean takes the granules off the purge's lists and notes which of them hold old data.
func (h *heap) clean(r *region, i, n int, dirty *dirtyRuns) {
	h.wakeHalves(r, i, n)
	for _, set := range [2][]uint64{r.fresh, r.stale} {
		at := i
		for {
			start, k := nextRun(set, at, i+n, n)
			if k == 0 {
				break
			}
			setBits(set, start, k, false)
			dirty.add(r.base+uintptr(start)*granule, uintptr(k)*granule)
			if &set[0] == &r.fresh[0] {
				h.purge.freshBytes -= int64(k) * granule
			} else {
				h.purge.staleBytes -= int64(k) * granule
			}
			at = start + k
		}
	}
}

// dirtyRuns is a list of ranges that hold old data. When it is full the last range swallows more.
type dirtyRuns struct {
	n    int
	runs [8]struct{ lo, hi uintptr }
}

func (d *dirtyRuns) add(addr, size uintptr) {
	if d.n < len(d.runs) {
		d.runs[d.n].lo, d.runs[d.n].hi = addr, addr+size
		d.n++
		return
	}
	last := &d.runs[d.n-1]
	last.lo, last.hi = min(last.lo, addr), max(last.hi, addr+size)
}

// The address space of a large block of a typed kind is a range of granules. Its length is one of
// four to an octave, and the block lies at its beginning. A freed range serves any block of its
// kind that fits, always from its beginning: values that began elsewhere would lie across those
// before, and a stale bool over other bytes (C1). A range is never divided or joined with another.
//
// Granules of a range that the block does not use have no entry in the page map. They are zero,
// take no memory, and the block may grow over them.

// takeRange takes a freed range for a block of n granules: one of exactly that length, of the
// length that a new range would have, or of the next three. It looks at one range of each length,
// the last freed. The caller holds the lock.
func (k *kind) takeRange(n int, align uintptr) (granuleRange, bool) {
	if g, ok := k.takeOf(n, align); ok { // Where there was no room for more, a range has the block's length.
		return g, true
	}
	length := n
	for range 4 {
		length = int(sizeclass.Capacity(uintptr(length)))
		if g, ok := k.takeOf(length, align); ok {
			return g, true
		}
		length++
	}
	return granuleRange{}, false
}

// takeOf takes the last freed range of a length.
func (k *kind) takeOf(length int, align uintptr) (granuleRange, bool) {
	list := k.ranges[length]
	last := len(list) - 1
	if last < 0 || list[last].addr()&(align-1) != 0 {
		return granuleRange{}, false
	}
	k.ranges[length] = list[:last]
	return list[last], true
}

// giveRange takes a freed range back. The caller holds the lock.
func (k *kind) giveRange(g granuleRange) {
	if k.ranges == nil {
		k.ranges = map[int][]granuleRange{}
	}
	k.ranges[g.n] = append(k.ranges[g.n], g)
}

// rangeGranules is the length of the range of a large block of a typed kind.
func (s *span) rangeGranules() int { return int(s.idle.Load()) }

// addRegion reserves a region that holds at least n bytes. The caller holds the lock.
func (h *heap) addRegion(n uintptr, typed bool) (*region, error) {
	i := int(h.nregions.Load())
	if i == maxRegions {
		return nil, outOfMemory("address space", n, errors.New("all regions are in use"))
	}
	least := roundUp(max(n, smallRegion), commitUnit)
	if least < n {
		return nil, outOfMemory("address space", n, errors.New("the request exceeds the address space"))
	}
	var last error
	for size := max(h.wishedRegion(i, typed), least); ; size = max(roundUp(size/2, commitUnit), least) {
		base, err := h.mem.Reserve(size, zone, "offheap blocks")
		if err == nil {
			var pages pageMap
			if pages, err = newPageMap(h.mem, size); err == nil {
				return h.enterRegion(i, base, size, pages, typed), nil
			}
			_ = h.mem.Release(base, size) // No caller saw it; the first error is the one to return.
		}
		last = err
		if size == least {
			break
		}
	}
	return nil, outOfMemory("address space", n, last)
}

// wishedRegion is the size to try first. Where address space is limited (32 bits, RLIMIT_AS) the
// Go heap needs some of it too, so that regions start small and grow with use.
func (h *heap) wishedRegion(i int, typed bool) uintptr {
	if is64 && vmem.AddressSpaceLimit() == math.MaxUint64 {
		if typed {
			return uintptr(typedRegion)
		}
		return uintptr(firstRegion)
	}
	var sum uintptr
	for j := range i {
		sum += h.regions[j].size
	}
	return roundUp(max(smallRegion, sum/2), zone)
}

func (h *heap) enterRegion(i int, base, size uintptr, pages pageMap, typed bool) *region {
	r := &h.regions[i]
	r.refStart = refBias
	if i > 0 {
		p := &h.regions[i-1]
		r.refStart = p.refStart + uint64(p.size)
	}
	r.typed, r.pages, r.base, r.size = typed, pages, base, size
	h.nregions.Store(int32(i + 1))
	return r
}

// commit makes at least n more bytes at the end of r usable. The caller holds the lock.
func (h *heap) commit(r *region, n uintptr) error {
	step := min(max(n, r.committed/8, 2*commitUnit), max(n, zone))
	step = roundUp(step, commitUnit)
	if end := r.committed + step; end > hugeFrom && !r.typed {
		step = roundUp(end, hugeUnit) - r.committed // A huge page is made only where all of it is committed.
	}
	step = min(step, r.size-r.committed)
	if step < n {
		return errRegionFull
	}
	for {
		err := h.commitExactly(r, step)
		least := roundUp(n, commitUnit)
		if err == nil || step == least {
			return err
		}
		step = least // The machine may have less than we would like, and yet enough.
	}
}

var errRegionFull = errors.New("the regions are full")

func (h *heap) commitExactly(r *region, step uintptr) error {
	// The page map first: a span must never be without its entry.
	if err := r.pages.commit(h.mem, r.committed, r.committed+step); err != nil {
		return outOfMemory("page map", step, err)
	}
	if err := h.mem.Commit(r.base+r.committed, step); err != nil {
		return outOfMemory("blocks", step, err)
	}
	from := r.committed
	r.committed += step
	if h.announces {
		sanitize.Reserve(r.base+from, step)
	}
	words := int(step / commitUnit)
	r.runs.grow(words)
	r.fresh = append(r.fresh, make([]uint64, words)...)
	r.stale = append(r.stale, make([]uint64, words)...)
	r.half = append(r.half, make([]uint64, words)...)
	h.adviseNew(r, from)
	return nil
}

// alloc returns the address of size bytes, aligned to a cache line.
func (m *meta) alloc(mem vmem.Memory, size uintptr) (uintptr, error) {
	size = roundUp(size, metaAlign)
	if m.end-m.next < size {
		chunk := roundUp(max(metaChunk, size), vmem.PageSize())
		base, err := mem.Reserve(chunk, vmem.PageSize(), "offheap metadata")
		if err != nil {
			return 0, outOfMemory("metadata", size, err)
		}
		if err := mem.Commit(base, chunk); err != nil {
			_ = mem.Release(base, chunk) // No caller saw the range; the commit's error is the one to return.
			return 0, outOfMemory("metadata", size, err)
		}
		m.next, m.end = base, base+chunk
		m.bytes += int64(chunk)
	}
	addr := m.next
	m.next += size
	return addr, nil
}

// adviseNew asks for huge pages in a range just committed, from the offset on, if the heap is no
// longer small. It runs under the heap's lock.
func (h *heap) adviseNew(r *region, from uintptr) {
	units := int((r.committed + hugeUnit - 1) / hugeUnit)
	for len(r.huge)*wordBits < units {
		r.huge = append(r.huge, 0)
	}
	// Every unit counts as maybe huge: the system may make them without being asked.
	first := int(from / hugeUnit)
	setBits(r.huge, first, units-first, true)
	for len(r.noHuge) < int((r.committed+zone-1)/zone) {
		r.noHuge = append(r.noHuge, false)
	}
	h.askHuge(r, from, r.committed)
}

func (h *heap) askHuge(r *region, from, to uintptr) {
	from = max(from, hugeFrom)
	if r.typed || from >= to || vmem.HugePageSize() != hugeUnit {
		return
	}
	for z := from / zone; z*zone < to; z++ {
		lo := z * zone
		for z*zone < to && !r.noHuge[z] {
			z++
		}
		if lo, hi := max(from, lo), min(to, z*zone); lo < hi {
			_ = h.mem.Huge(r.base+lo, hi-lo) // Only speed depends on it.
		}
	}
}

// takeHuge says whether the unit may be a huge page that [lo, hi) covers in part only, and if so
// notes that it is none any more. The caller holds the heap's lock.
func (r *region) takeHuge(unit, lo, hi uintptr) bool {
	if unit < r.base || unit >= lo && unit+hugeUnit <= hi {
		return false
	}
	i := int((unit - r.base) / hugeUnit)
	if i/wordBits >= len(r.huge) || r.huge[i/wordBits]>>(i%wordBits)&1 == 0 {
		return false
	}
	setBits(r.huge, i, 1, false)
	return true
}

// refuseHuge keeps the kernel from making huge pages in the unit's zone. It runs under the lock.
func (h *heap) refuseHuge(r *region, unit uintptr) {
	z := (unit - r.base) / zone
	if r.noHuge[z] {
		return
	}
	lo, hi := z*zone, min((z+1)*zone, r.committed)
	if h.mem.NoHuge(r.base+lo, hi-lo) == nil { // On failure khugepaged may fill holes; no more.
		r.noHuge[z] = true
	}
}

// purgeRange gives the pages of [lo, hi) back, splitting huge pages that it covers in part. Both
// ends are multiples of the OS page size. The caller holds the purge's lock or owns the range.
func (h *heap) purgeRange(r *region, lo, hi uintptr) error {
	h.mu.Lock()
	var split [2]uintptr
	if first := lo &^ (hugeUnit - 1); r.takeHuge(first, lo, hi) {
		split[0] = first
	}
	if last := (hi - 1) &^ (hugeUnit - 1); r.takeHuge(last, lo, hi) {
		split[1] = last
	}
	for _, u := range split {
		if u != 0 {
			h.refuseHuge(r, u)
		}
	}
	h.mu.Unlock()
	for _, u := range split {
		if u != 0 {
			// Splitting is a matter of what the machine gets back; the purge is right without.
			_ = h.mem.SplitHuge(max(u, r.base), min(hugeUnit, r.base+r.used.Load()-u))
		}
	}
	return h.mem.Purge(lo, hi-lo)
}

// arm sees to it that a tick comes.
func (p *purgeState) arm() {
	if d := time.Duration(p.delay.Load()); d >= 0 && p.armed.CompareAndSwap(false, true) {
		realtime.AfterFunc(max(d/2, time.Millisecond), p.timer)
	}
}

// mayBeHuge says whether the first write to a page at the offset may give memory to all of a huge
// page.
func (r *region) mayBeHuge(off uintptr) bool {
	return !r.typed && off >= hugeFrom && vmem.HugePageSize() == hugeUnit && !r.noHuge[off/zone]
}

// checkLimit says whether the limits leave room for n more bytes of k. The caller holds the heap's
// lock.
func (k *kind) checkLimit(n int64) error {
	for _, g := range k.budgets {
		if !g.leaves(n) {
			return &limitError{g, n, g.held.Load(), g.limit.Load()}
		}
	}
	return nil
}

// hold adds n bytes, of kind k, to the bytes held. The caller holds the lock.
func (h *heap) hold(k *kind, n int64) {
	for _, g := range k.budgets {
		g.held.Add(n)
	}
	if held := h.held.Load(); held-h.synced > syncStep {
		h.synced = held
		h.grown.Store(true)
	}
}

// A limitError is a request that a limit refused. Its text is made by Error: a program at its limit
// is refused again and again, and seldom asks for the text.
type limitError struct {
	of             *budget // Whose limit. A string would make the error half as large again.
	n, held, limit int64
}

func (e *limitError) Error() string {
	return fmt.Sprintf("%v: %d more bytes for %s; %d of at most %d are taken: free blocks, or raise the limit with SetLimit", ErrLimit, e.n, e.of.who, e.held, e.limit)
}

func (e *limitError) Unwrap() error { return ErrLimit }

// syncStep is how many more bytes may be held before the memory limit follows; ticks of the purge
// follow the returned memory.
const syncStep = 4 << 20

// freeTyped keeps the range of a large block for its kind.
func (h *heap) freeTyped(k *kind, g granuleRange) {
	h.emptyTyped(g)
	h.mu.Lock()
	k.giveRange(g)
	h.mu.Unlock()
}

// emptyTyped gives the memory of a typed kind's granules back, so that they read as zeros, which
// are valid values of any type. Granules that no block used can have memory, too: that of a huge
// page.
func (h *heap) emptyTyped(g granuleRange) {
	if h.purgeRange(g.r, g.addr(), g.addr()+g.bytes()) != nil {
		wipe(g.addr(), g.bytes())
	}
}

// These functions read and write memory that is the program's, maybe while the program writes to
// it. The race detector must not report that.

// paint writes the byte over n bytes at addr.
//
//go:norace
func paint(addr, n uintptr, with byte) {
	if n == 0 {
		return
	}
	mem := unsafex.Bytes(addr, n)
	for i := range mem {
		mem[i] = with
	}
}

// unpainted finds the first of n bytes at addr that differs from the byte. whole says that none
// does.
//
//go:norace
func unpainted(addr, n uintptr, with byte) (off uintptr, whole bool) {
	if addr%8 == 0 { // Whole words first.
		word := uint64(with) * 0x0101010101010101
		for _, w := range unsafex.Slice[uint64](addr, int(n/8), int(n/8)) {
			if w != word {
				break
			}
			off += 8
		}
	}
	for ; off < n; off++ {
		if *unsafex.At[byte](addr + off) != with {
			return off, false
		}
	}
	return 0, true
}

// wipe looks at the parts, of sparsePart bytes, of a range of at least sparseFrom bytes.
const (
	sparseFrom = 1 << 20
	sparsePart = 64 << 10
	// longestClear bounds the bytes that are cleared at once, a millisecond's work: the collector
	// waits for the end of a clear. Go's clear leaves the caches out from 32 MiB on.
	longestClear = 32 << 20
)

// wipe writes zeros over n bytes at addr. Of a long range it reads each part first and leaves a
// part that is zero alone. So pages that the program never wrote take no memory on Linux, which
// shows one page of zeros to readers. A part that is not zero is mostly known by its first word.
// Such parts in a row are cleared together, because a long clear writes past the processor's caches
// and takes a third of the time.
//
// To give the pages back to the system would be faster for a sparse range. But then the bytes stay
// in the machine's memory until the kernel uses the pages again, and locked pages cannot be given
// back.
//
//go:norace
func wipe(addr, n uintptr) {
	end := addr + n
	if n >= sparseFrom {
		for part := roundUp(addr, sparsePart); part+sparsePart <= end; part += sparsePart {
			if _, zero := unpainted(part, sparsePart, 0); zero {
				unsafex.Clear(addr, part-addr)
				addr = part + sparsePart
			} else if part-addr >= longestClear {
				unsafex.Clear(addr, part-addr)
				addr = part
			}
		}
	}
	unsafex.Clear(addr, end-addr)
}

// initIdle is for a new slab, of which dirty lists the pages written before. Where the first write
// to a huge page gives memory to all of it, no page counts as idle.
func (h *heap) initIdle(r *region, s *span, dirty *dirtyRuns) {
	for i := range idleWords {
		*s.idleWord(i) = 0
	}
	s.idle.Store(0)
	if vmem.PageSize() > granule || r.mayBeHuge(s.base-r.base) {
		return
	}
	for at := s.base; at < s.base+s.bytes(); at += granule {
		if !dirty.has(at) {
			s.setIdle(h, at, at+granule)
		}
	}
}

// endIdle takes the idle pages of a slab, which is taken apart, off the count, and notes in the
// region which granules were written. The caller holds the heap's lock.
func (h *heap) endIdle(s *span, g granuleRange) {
	page := vmem.PageSize()
	n := 0
	for i := range idleWords {
		n += bits.OnesCount64(atomic.LoadUint64(s.idleWord(i)))
	}
	h.purge.idle.Add(-int64(n) * int64(page))
	for i := range g.n {
		idle := 0
		if n > 0 && page <= granule {
			for w, m := range s.pageBits(s.base+uintptr(i)*granule, s.base+uintptr(i+1)*granule) {
				idle += bits.OnesCount64(*s.idleWord(w) & m)
			}
		}
		if uintptr(idle)*page == granule {
			continue
		}
		setBits(g.r.fresh, g.i+i, 1, true)
		h.purge.freshBytes += granule
		if idle != 0 {
			setBits(g.r.half, g.i+i, 1, true)
			h.purge.halfBytes += halfGranule
		}
	}
}

// has says whether the granule at addr is listed.
func (d *dirtyRuns) has(addr uintptr) bool {
	for _, r := range d.runs[:d.n] {
		if addr+granule > r.lo && addr < r.hi {
			return true
		}
	}
	return false
}

// setIdle notes that the pages from lo on and below hi, addresses, are idle.
func (s *span) setIdle(h *heap, lo, hi uintptr) {
	n := 0
	for i, m := range s.pageBits(lo, hi) {
		if m != 0 {
			n += bits.OnesCount64(m &^ atomic.OrUint64(s.idleWord(i), m))
		}
	}
	invariants.Window()
	s.idle.Add(uint32(n))
	h.purge.idle.Add(int64(n) * int64(vmem.PageSize()))
}

// pageBits are the bits of the pages from lo on and below hi, addresses of pages.
func (s *span) pageBits(lo, hi uintptr) (m [idleWords]uint64) {
	page := vmem.PageSize()
	for w, mask := range spanWords(int((lo-s.base&^(page-1))/page), int((hi-lo)/page)) {
		m[w] |= mask
	}
	return m
}

func (s *span) idleWord(i int) *uint64 {
	return unsafex.At[uint64](s.addr() + spanBytes + uintptr(i)*8)
}

// wakeHalves forgets which of n granules from i take memory for one page alone, because they are
// used again or purged. The caller holds the heap's lock.
func (h *heap) wakeHalves(r *region, i, n int) {
	if h.purge.halfBytes == 0 {
		return
	}
	for w, mask := range spanWords(i, n) {
		h.purge.halfBytes -= int64(bits.OnesCount64(r.half[w]&mask)) * halfGranule
		r.half[w] &^= mask
	}
}
