// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"fmt"
	"iter"
	"math/bits"
	"reflect"
	"runtime"
	"slices"

	"github.com/freehold-go/freehold/internal/debugmode"
	"github.com/freehold-go/freehold/internal/sanitize"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/internal/vmem"
)

func newRecorder(h *heap) *recorder {
	t := &recorder{h: h}
	t.freed.most, t.freed.bytesMost = 1024, 16<<20
	return t
}

// alloc makes a block.
func (t *recorder) alloc(q request) (uintptr, error) {
	if q.n > recordedMax || q.align > maxAlign {
		return 0, outOfMemory("blocks", q.n, errTooLarge)
	}
	if err := t.h.charge(q.kind, q.n, t.counter(q.kind)); err != nil {
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
func (t *recorder) enter(b *block, zero bool) {
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

// charge counts a block of n bytes of k in no span, if no limit is in the way.
func (h *heap) charge(k *kind, n uintptr, of *bin) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := k.checkLimit(int64(n)); err != nil {
		return err
	}
	h.account(k, int64(n), of)
	return nil
}

// account adds n bytes to the bytes held, and to the count of a bin, which may be nil. The caller
// holds the lock.
func (h *heap) account(k *kind, n int64, of *bin) {
	h.hold(k, n)
	h.recordedBytes += n
	if of != nil {
		of.out.Add(n)
	}
}

func (t *recorder) unaccount(b *block) {
	of := t.counter(b.kind)
	t.h.mu.Lock()
	defer t.h.mu.Unlock()
	t.h.account(b.kind, -int64(b.size), of)
}

// counter is where a heap of slabs counts the blocks of k that t has and no slab. It is nil if
// t serves all blocks.
func (t *recorder) counter(k *kind) *bin {
	if t == t.h.serving() {
		return nil
	}
	return t.h.bin(t.h.sampledKind(k), largeClass)
}

// memory finds a place for a block: on guarded pages, in a heap of slabs, or on the Go heap. It is
// zero if that was asked for.
func (t *recorder) memory(q request) (b block, err error) {
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
	in := request{kind: t.underKind(q.kind), n: b.room, align: q.align, zero: q.zero && !sanitize.Enabled}
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

// underKind is the kind in the heap under t that stands for k. It has no purpose: t keeps the
// accounts.
func (t *recorder) underKind(k *kind) *kind {
	if !k.typed() {
		return t.under.plain
	}
	if v, ok := t.kinds.Load(k); ok {
		return v.(*kind)
	}
	v, _ := t.kinds.LoadOrStore(k, &kind{budgets: t.under.plain.budgets, typ: k.typ, wipe: k.wipe, pointers: k.pointers})
	return v.(*kind)
}

func (t *recorder) free(addr uintptr, op string, d *typeDesc, one bool) {
	t.checkType(op, addr, d, one)
	t.freeBlock(addr, op)
}

// freeBlock frees the block that begins at addr, or panics with a mistake of the block or of the
// address. If another block was damaged, it panics, too, when the free is complete.
func (t *recorder) freeBlock(addr uintptr, op string) {
	t.freeOnly(addr, op, false)
	switch op {
	case "Append", "Grow", "Realloc": // A panic would lose the block that the slice has moved to. The next free reports it.
	default:
		t.panicLate()
	}
}

// panicLate panics with what was found in a block that left the quarantine.
func (t *recorder) panicLate() {
	if e := t.late.Swap(nil); e != nil {
		panic(e)
	}
}

// freeOnly is freeBlock without the damage of another block. An arena frees its own blocks, with owned
// set; nothing else frees them.
func (t *recorder) freeOnly(addr uintptr, op string, owned bool) {
	if !owned {
		refuseOwned(op, addr)
	}
	b, ok := t.blocks.take(addr)
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
	t.delayReuse(b)
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

// delayReuse keeps a freed block from being used again for a while, and gives back the memory of
// those that have been kept for long enough.
func (t *recorder) delayReuse(b block) {
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
func (t *recorder) releaseOldest() bool {
	b, ok := t.freed.pop(true)
	if ok {
		t.release(b)
	}
	return ok
}

// release returns the memory of a freed block. If the block was written after its free, a later
// free or Check reports it.
func (t *recorder) release(b block) {
	if e := t.inspectFreed(&b); e != nil {
		t.late.Store(e)
	}
	if b.keep == nil {
		t.freeUnder(&b)
	}
}

// misuse panics and says what addr is. A block that was freed long ago is taken for a foreign
// pointer: its memory is used again.
func (t *recorder) misuse(op string, addr uintptr) {
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

// resize is heap.resize. In the debug modes a block that changes its size moves, so that the old
// one is found in use.
func (t *recorder) resize(op string, addr, old, n uintptr, typ reflect.Type) (uintptr, *kind) {
	size, k := t.roomOf(op, addr, typ)
	if n > size || n < size/2 || t.marked() && n != size {
		return 0, k
	}
	if lo, hi := k.cleared(old, n, size); lo < hi {
		t.clear(addr, lo, hi)
	}
	return size, k
}

func (t *recorder) clear(addr, lo, hi uintptr) {
	if b, ok := t.blocks.find(addr); ok && hi <= b.size {
		wipe(addr+lo, hi-lo)
		runtime.KeepAlive(b.keep) // Else a free meanwhile would let the Go heap use the memory again.
	}
}

// roomOf is heap.roomOf.
func (t *recorder) roomOf(op string, addr uintptr, typ reflect.Type) (uintptr, *kind) {
	refuseOwned(op, addr)
	b, ok := t.blocks.find(addr)
	if !ok {
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
func (t *recorder) covers(addr uintptr) bool {
	_, ok := t.blocks.containing(addr)
	return ok
}

// refTo makes a Ref of an address: here the address itself, which never is below refBias.
func (t *recorder) refTo(addr uintptr) uint64 {
	if _, size, _ := t.around(addr); size == 0 {
		if addr == zeroSizeAddr() {
			return refZeroSize
		}
		t.misuse("RefOf", addr)
	}
	return uint64(addr)
}

func (t *recorder) resolve(off uint64, d *typeDesc, n uintptr) uintptr {
	addr, ok := t.lookUp(uintptr(off), d, n)
	if !ok || uint64(addr) != off {
		t.staleRef(off, d, n)
		panic(badRef(off, d, uint64(n)))
	}
	return addr
}

// lookUp says whether a value of the type, or n of them if n is not 0, can lie at addr, which it
// returns.
func (t *recorder) lookUp(addr uintptr, d *typeDesc, n uintptr) (uintptr, bool) {
	begin, size, has := t.around(addr)
	in := addr - begin
	if size == 0 || has != d.kindKey() || addr&(d.align-1) != 0 || d.typed && in%d.size != 0 {
		return 0, false
	}
	return addr, d.size == 0 || max(n, 1) == 1 && d.size <= size-in || max(n, 1) <= (size-in)/d.size
}

// around is the first byte, the bytes and the type of the block that addr lies in. The size is 0 if
// there is none.
func (t *recorder) around(addr uintptr) (begin, size, key uintptr) {
	b, ok := t.blocks.containing(addr)
	if !ok {
		return 0, 0, 0
	}
	return b.addr, b.size, b.kind.key()
}

func (s *tableShard) put(unit uintptr, b block) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.units == nil {
		s.units = make(map[uintptr][]block)
	}
	s.units[unit] = append(s.units[unit], b)
}

// find is the block of the unit that begins at addr, and with inside one that addr lies in.
func (s *tableShard) find(unit, addr uintptr, inside bool) (block, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.units[unit] {
		if b.addr == addr || inside && addr-b.addr < b.size {
			return b, true
		}
	}
	return block{}, false
}

// take strikes the block of the unit off that begins at addr.
func (s *tableShard) take(unit, addr uintptr) (block, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.units[unit]
	i := slices.IndexFunc(list, func(b block) bool { return b.addr == addr })
	if i < 0 {
		return block{}, false
	}
	b, last := list[i], len(list)-1
	list[i], list[last] = list[last], block{}
	if last == 0 {
		delete(s.units, unit)
	} else {
		s.units[unit] = list[:last]
	}
	return b, true
}

func (t *blockTable) shard(page uintptr) *tableShard {
	return &t.shards[page%uintptr(len(t.shards))]
}

// power is where a block of n bytes, which is more than a page, is noted besides.
func power(n uintptr) int { return bits.Len64(uint64(n-1)) - tablePageBits - 1 }

// unit is the number of the unit of a power that addr lies in.
func unit(addr uintptr, power int) uintptr { return addr >> (power + tablePageBits + 1) }

// note enters a block.
func (t *blockTable) note(b block) {
	if b.size > tablePage {
		p := power(b.size)
		t.powers[p].put(unit(b.addr, p), b)
		t.used.Or(1 << p)
	}
	// Last: take finds a block here first, and then all else that note wrote. A stale free may name
	// the address at this moment.
	t.shard(b.addr/tablePage).put(b.addr/tablePage, b)
}

// take strikes the block off that begins at addr. Of several callers one gets it.
func (t *blockTable) take(addr uintptr) (block, bool) {
	b, ok := t.shard(addr/tablePage).take(addr/tablePage, addr)
	if !ok {
		return b, false
	}
	if b.size > tablePage {
		p := power(b.size)
		t.powers[p].take(unit(addr, p), addr)
	}
	return b, true
}

// find is the block that begins at addr.
func (t *blockTable) find(addr uintptr) (block, bool) {
	return t.shard(addr/tablePage).find(addr/tablePage, addr, false)
}

// containing is the block that addr lies in, which it need not begin.
func (t *blockTable) containing(addr uintptr) (block, bool) {
	for s, unit := range t.places(addr) {
		if b, ok := s.find(unit, addr, true); ok {
			return b, true
		}
	}
	return block{}, false
}

// places yields the tables, and the units in them, in which the block around addr may be.
func (t *blockTable) places(addr uintptr) iter.Seq2[*tableShard, uintptr] {
	return func(yield func(*tableShard, uintptr) bool) {
		page := addr / tablePage
		if !yield(t.shard(page), page) || !yield(t.shard(page-1), page-1) {
			return
		}
		for used := t.used.Load(); used != 0; used &= used - 1 {
			p := bits.TrailingZeros64(used)
			if s, u := &t.powers[p], unit(addr, p); !yield(s, u) || !yield(s, u-1) {
				return
			}
		}
	}
}

// each calls f for each block while it cannot be freed. f must not allocate off the heap.
func (t *blockTable) each(f func(b *block)) {
	for i := range t.shards {
		t.shards[i].each(f)
	}
}

func (s *tableShard) each(f func(b *block)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, list := range s.units {
		for i := range list {
			f(&list[i])
		}
	}
}

func (q *quarantine) put(b block) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.blocks = append(q.blocks, b)
	q.bytes += b.room
}

// pop takes the oldest block out if the bounds are exceeded, or if its memory is needed.
func (q *quarantine) pop(needed bool) (b block, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := len(q.blocks)
	if n == 0 || !needed && (n <= 8 || n <= q.most && q.bytes <= q.bytesMost) {
		return block{}, false
	}
	b, q.blocks[0] = q.blocks[0], block{}
	q.blocks = q.blocks[1:]
	q.bytes -= b.room
	q.seen = max(0, q.seen-1)
	return b, true
}

// some calls f for n blocks, each time for the next ones in turn, while none can leave.
func (q *quarantine) some(n int, f func(b *block)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for range min(n, len(q.blocks)) {
		if q.seen >= len(q.blocks) {
			q.seen = 0
		}
		f(&q.blocks[q.seen])
		q.seen++
	}
}

// has says whether addr lies in a block that was freed not long ago.
func (q *quarantine) has(addr uintptr) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.ContainsFunc(q.blocks, func(b block) bool { return addr-b.addr < b.size })
}

// each calls f for each block while none can leave.
func (q *quarantine) each(f func(b *block)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range q.blocks {
		f(&q.blocks[i])
	}
}
