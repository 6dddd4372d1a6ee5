// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/internal/debugmode"
	"github.com/freehold-go/freehold/internal/sanitize"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/internal/vmem"
)

// tracked serves every block where the slabs do not: with the kill switch, in the debug modes, and
// under the race detector. Then no holder has slots, so that each call misses the fast path and
// comes here.
//
// It keeps the promises of the ordinary way, at a price: a record of each block keeps it alive
// while nothing but a Ref or another block leads to it, and finds bad frees and counts bytes. Where
// blocks lie is another matter (see memory), and the checks of the debug modes are in debug*.go.
type tracked struct {
	blocks blockTable
	inUse  atomic.Int64
	made   atomic.Uint64 // Blocks, ever.
	pages  atomic.Int64  // Bytes of the pages of guarded blocks.
	freed  quarantine
	late   atomic.Pointer[MisuseError] // Found in a block that left the quarantine, and not reported yet.
	h      *heap

	modes   debugmode.Config // Zero for the kill switch and the race detector alone.
	unpaged bool             // There are no guarded pages.
	under   *heap            // It gives the memory of blocks that are not guarded; nil: the Go heap does.
	kinds   sync.Map         // From a kind of h to its twin of under.
	goes    goRanges
}

func newTracked(h *heap) *tracked {
	t := &tracked{h: h}
	t.freed.most, t.freed.bytesMost = 1024, 16<<20
	return t
}

// alloc makes a block.
func (t *tracked) alloc(q request) (uintptr, error) {
	if q.n > trackedMax || q.align > maxAlign {
		return 0, outOfMemory("blocks", q.n, errTooLarge)
	}
	if err := t.h.charge(&bin{kind: q.kind}, q.kind, q.n, t.counter(q.kind)); err != nil {
		return 0, err
	}
	b, err := t.memory(q)
	if err != nil {
		t.unaccount(&b)
		return 0, err
	}
	t.enter(&b, q.zero)
	return b.addr, nil
}

// enter makes b one of the blocks in use.
func (t *tracked) enter(b *block, zero bool) {
	if b.guarded {
		t.pages.Add(int64(roundUp(b.size, vmem.PageSize())))
	}
	b.number = t.made.Add(1)
	if t.marked() {
		t.mark(b, zero)
	}
	t.announce(b, zero)
	t.blocks.note(*b)
	t.inUse.Add(int64(b.size))
}

// charge counts a block of n bytes of k in no span, if no limit is in the way of a request of b.
func (h *heap) charge(b *bin, k *kind, n uintptr, of *bin) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.checkLimit(b, int64(n)); err != nil {
		h.resetQuotas(b)
		return err
	}
	h.account(k, int64(n), of)
	return nil
}

// account adds n bytes to the bytes held, and to the count of a bin, which may be nil. The caller
// holds the lock.
func (h *heap) account(k *kind, n int64, of *bin) {
	h.hold(k, n)
	h.besideBytes += n
	if of != nil {
		of.add(n)
	}
}

func (t *tracked) unaccount(b *block) {
	of := t.counter(b.kind)
	t.h.mu.Lock()
	defer t.h.mu.Unlock()
	t.h.account(b.kind, -int64(b.size), of)
}

// counter is where a heap of slabs counts the blocks of k that t has beside the slabs. It is nil if
// t serves all blocks.
func (t *tracked) counter(k *kind) *bin {
	if t == t.h.records() {
		return nil
	}
	return t.h.bin(t.h.twin(k), largeClass)
}

// memory finds a place for a block: on guarded pages, in a heap of slabs, or on the Go heap. It is
// zero if that was asked for.
func (t *tracked) memory(q request) (b block, err error) {
	b = block{size: q.n, room: q.n, kind: q.kind, desc: q.desc}
	if t.modes.Guard && !t.unpaged && t.guard(&b, q.align) {
		return b, nil
	}
	b.room += t.margin(q)
	if t.under == nil {
		b.onGoHeap(q.align)
		return b, nil
	}
	// Under a sanitizer no code may write to the block yet.
	in := request{kind: t.twin(q.kind), n: b.room, align: q.align, zero: q.zero && !sanitize.Enabled}
	for {
		if b.addr, err = t.under.allocate(in); err == nil || !t.releaseOldest() {
			return b, err
		}
	}
}

// onGoHeap takes the memory of b from the Go heap, zeroed.
func (b *block) onGoHeap(align uintptr) {
	if t := b.kind.typ; t != nil {
		n := int(b.room / t.Size())
		s := reflect.MakeSlice(reflect.SliceOf(t), n, n)
		b.keep, b.addr = s.Interface(), s.Pointer()
		return
	}
	s := make([]uint64, (b.room+align+7)/8) // Words, so that it is aligned to 8 at least.
	b.keep, b.addr = s, roundUp(unsafex.SliceAddr(s), align)
}

// twin is the kind in the heap under t that stands for k. It has no purpose: t keeps the accounts.
func (t *tracked) twin(k *kind) *kind {
	if !k.typed() {
		return t.under.plain
	}
	if v, ok := t.kinds.Load(k); ok {
		return v.(*kind)
	}
	v, _ := t.kinds.LoadOrStore(k, &kind{budgets: t.under.plain.budgets, typ: k.typ, wipe: k.wipe, pointers: k.pointers})
	return v.(*kind)
}

func (t *tracked) free(addr uintptr, _ *Local, op string, d *typeDesc, one bool) {
	t.checkType(op, addr, d, one)
	t.freeBlock(addr, op)
}

// freeBlock frees the block that begins at addr, or panics with a mistake of the block or of the
// address. If another block was damaged, it panics, too, when the free is complete.
func (t *tracked) freeBlock(addr uintptr, op string) {
	t.freeOnly(addr, op, false)
	switch op {
	case "Append", "Grow", "Realloc": // A panic would lose the block that the slice has moved to. The next free reports it.
	default:
		t.tellLate()
	}
}

// tellLate panics with what was found in a block that left the quarantine.
func (t *tracked) tellLate() {
	if e := t.late.Swap(nil); e != nil {
		panic(e)
	}
}

// freeOnly is freeBlock without the damage of another block. An arena frees its own blocks, with owned
// set; nothing else frees them.
func (t *tracked) freeOnly(addr uintptr, op string, owned bool) {
	if !owned {
		refuseOwned(op, addr)
	}
	b, ok := t.blocks.take(addr, false)
	if !ok {
		t.misuse(op, addr)
	}
	if t.under == nil && !b.guarded {
		sanitize.RaceFree(addr, b.size)
	}
	if t.marked() {
		if e := t.inspect(&b, op); e != nil {
			t.blocks.note(b)
			panic(e)
		}
		debugmode.Freed(addr, op, 0)
	}
	if b.kind.wipe {
		b.wipe()
	}
	t.inUse.Add(-int64(b.size))
	t.unaccount(&b)
	t.retire(b)
}

// wipe clears a freed block, before any other use of its memory.
func (b *block) wipe() {
	if b.keep != nil && b.kind.pointers {
		reflect.ValueOf(b.keep).Clear() // With the write barriers that the collector needs.
		return
	}
	wipe(b.addr, b.size)
}

// looksPerFree is the number of quarantined blocks that each free checks for writes after their
// free. Frees check all blocks in turn. The checks cost about twice as much as poisoning the freed
// block.
const looksPerFree = 2

// retire keeps a freed block from being used again for a while, and gives back the memory of those
// that have been kept for long enough.
func (t *tracked) retire(b block) {
	switch {
	case b.guarded:
		debugmode.GuardFree(b.addr) // Guarded pages have a quarantine of their own.
		t.pages.Add(-int64(roundUp(b.size, vmem.PageSize())))
		return
	case t.modes.Guard:
		t.poison(&b)
	case t.sanitized(&b):
		sanitize.Freed(b.addr, b.size)
	case t.under != nil:
		t.release(b)
		return
	}
	t.freed.put(b)
	if t.modes.Guard {
		t.freed.some(looksPerFree, func(old *block) {
			if e := t.inspectFreed(old); e != nil {
				t.late.Store(e)
			}
		})
	}
	for old, ok := t.freed.pop(false); ok; old, ok = t.freed.pop(false) {
		t.release(old)
	}
}

// releaseOldest gives the memory of the block back that is in quarantine for longest. It reports
// false if there is none.
func (t *tracked) releaseOldest() bool {
	b, ok := t.freed.pop(true)
	if ok {
		t.release(b)
	}
	return ok
}

// release returns the memory of a freed block. If the block was written after its free, a later
// free or Check reports it.
func (t *tracked) release(b block) {
	if e := t.inspectFreed(&b); e != nil {
		t.late.Store(e)
	}
	if b.keep == nil {
		t.giveBack(&b)
	}
}

// misuse panics and says what addr is. A block that was freed long ago is taken for a foreign
// pointer: its memory is used again.
func (t *tracked) misuse(op string, addr uintptr) {
	if b, ok := t.blocks.containing(addr); ok && b.kind.owned {
		panic(arenaMisuse(op, addr))
	}
	if t.marked() {
		panic(t.diagnose(op, addr))
	}
	e := &MisuseError{Op: op, Addr: addr, Kind: "foreign pointer", Detail: foreignDetail(op)}
	if t.freed.has(addr) {
		e.Kind, e.Detail = "double free", "the block was freed before; keep one owner for each block"
		if op == "RefOf" {
			e.Kind, e.Detail = "use after free", "the block was freed before; a Ref must lead to a value that is in use"
		}
	}
	if b, ok := t.blocks.containing(addr); ok {
		e.Kind = "interior pointer"
		e.Detail = fmt.Sprintf("it lies %d bytes into the block of %d bytes at %#x; free the slice that Alloc returned, or a prefix of it", addr-b.addr, b.size, b.addr)
	}
	panic(e)
}

// resize is server.resize. In the debug modes a block that changes its size moves, so that the old
// one is found in use.
func (t *tracked) resize(op string, addr, old, n uintptr, typ reflect.Type) (uintptr, *kind) {
	size, k := t.roomOf(op, addr, typ)
	if n > size || n < size/2 || t.marked() && n != size {
		return 0, k
	}
	if lo, hi := k.cleared(old, n, size); lo < hi {
		t.clear(op, addr, lo, hi)
	}
	return size, k
}

func (t *tracked) roomFor(_ uintptr, q request) uintptr { return q.n }

func (t *tracked) clear(op string, addr, lo, hi uintptr) {
	ok := t.blocks.use(addr, func(b *block) bool {
		if hi > b.size || b.kind.owned {
			return false // Another block by now.
		}
		wipe(addr+lo, hi-lo)
		return true
	})
	if !ok {
		t.misuse(op, addr)
	}
}

// roomOf is server.roomOf.
func (t *tracked) roomOf(op string, addr uintptr, typ reflect.Type) (uintptr, *kind) {
	refuseOwned(op, addr)
	b, ok := t.blocks.find(addr)
	if !ok || b.kind.owned {
		t.misuse(op, addr)
	}
	if b.kind.typ != typ {
		panic(fieldMisuse(op, addr, b.kind.typ))
	}
	if t.marked() {
		if e := t.inspect(&b, op); e != nil { // Before a new block is there, which the panic would lose.
			panic(e)
		}
	}
	return b.size, b.kind
}

// covers says whether addr lies in a block that is in use.
func (t *tracked) covers(addr uintptr) bool {
	_, ok := t.blocks.containing(addr)
	return ok
}

// kindOf is the kind of the block that begins at addr, or nil.
func (t *tracked) kindOf(addr uintptr) *kind {
	b, _ := t.blocks.find(addr)
	return b.kind
}

// refTo makes a Ref of an address: here the address itself, which never is below refBias.
func (t *tracked) refTo(addr uintptr) uint64 {
	if _, size, _ := t.around(addr); size == 0 {
		if addr == zeroSizeAddr() {
			return refZeroSize
		}
		t.misuse("RefOf", addr)
	}
	return uint64(addr)
}

func (t *tracked) resolve(off uint64, d *typeDesc, n uintptr) uintptr {
	addr, ok := t.lookUp(uintptr(off), d, n)
	if !ok || uint64(addr) != off {
		t.staleRef(off, d, n)
		panic(badRef(off, d, uint64(n)))
	}
	return addr
}

// lookUp says whether a value of the type, or n of them if n is not 0, can lie at addr, which it
// returns.
func (t *tracked) lookUp(addr uintptr, d *typeDesc, n uintptr) (uintptr, bool) {
	begin, size, has := t.around(addr)
	in := addr - begin
	if size == 0 || has != d.kindKey() || addr&(d.align-1) != 0 || d.typed && in%d.size != 0 {
		return 0, false
	}
	return addr, d.size == 0 || max(n, 1) == 1 && d.size <= size-in || max(n, 1) <= (size-in)/d.size
}

// begins is the index of the blocks by their first bytes.
func (t *tracked) begins() *indexes { return &t.blocks.begins }

// around is the first byte, the bytes and the type of the block that addr lies in. The size is 0 if
// there is none. Most Refs lead to the beginning of a block, and slabs know where their blocks begin.
func (t *tracked) around(addr uintptr) (begin, size, key uintptr) {
	if size, key, ok := t.blocks.begins.of(addr).find(addr); ok {
		return addr, size, key
	}
	if t.under != nil {
		begin = t.under.beginOf(addr)
		if size, key, ok := t.blocks.begins.of(begin).find(begin); ok && addr-begin < size {
			return begin, size, key
		}
	}
	b, ok := t.blocks.containing(addr)
	if !ok {
		return 0, 0, 0
	}
	return b.addr, b.size, b.kind.key()
}

func (t *tracked) inUseOf(g *budget) (n int64, sure bool) { return g.held, true }

func (t *tracked) stats() Stats {
	n := t.inUse.Load()
	s := Stats{InUse: n, Reserved: n, Limit: t.h.limit.Load(), LocalsDropped: t.h.localsDropped.Load()}
	if t.under != nil {
		u := t.under.stats()
		s.Metadata = u.Metadata
		// The memory beyond the blocks' lengths and the quarantined blocks cannot be allocated now.
		s.Retained = max(0, u.InUse+u.Retained+t.pages.Load()-n)
		s.Purged = u.Purged
		s.Reserved = n + s.Retained + s.Purged
	}
	t.h.mu.Lock()
	defer t.h.mu.Unlock()
	s.Held = t.h.held
	for _, p := range t.h.purposesLocked() {
		s.Purposes = append(s.Purposes, PurposeStats{Name: p.name, InUse: p.held, Held: p.held, Limit: p.limit.Load()})
	}
	return s
}

// totals is what the blocks take of the machine beside the Go heap.
func (t *tracked) totals() freehold.Totals {
	if t.under == nil {
		return freehold.Totals{} // Go counts these bytes.
	}
	return t.stats().totals()
}

// purge gives free memory back to the machine. Blocks in quarantine stay there.
func (t *tracked) purge() {
	if t.under != nil {
		t.under.purge.run(true)
	}
}

// slabs is the heap under t. Where there is none, blocks come from the Go heap, and the slabs of t's
// own heap serve no block.
func (t *tracked) slabs() *heap {
	if t.under == nil {
		return t.h
	}
	return t.under
}
