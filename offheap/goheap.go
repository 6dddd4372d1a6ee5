package offheap

import (
	"iter"
	"math/bits"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// goHeap is the kill switch: blocks come from the Go heap. It keeps the promises of the ordinary
// way, at a price: every block is registered, which keeps it alive while nothing but a Ref or
// another block leads to it, and finds bad frees and counts bytes. Blocks are found by the 4 KiB
// page that they begin in; the Go heap does not move what it holds.
//
// Blocks larger than a page are noted a second time, by the power of two that holds them: a block
// of at most 1<<k bytes begins in the unit of 1<<k bytes that an address inside it lies in, or in
// the one before. So what an interior pointer lies in is found in two places for each power.
type goHeap struct {
	shards [64]goShard
	powers [goPowers]goShard // The first is that of two pages.
	used   atomic.Uint64     // A bit for each power that was ever noted.
	inUse  atomic.Int64
	freed  quarantine
	h      *heap
}

// goShard is a table of blocks by the page, or the larger unit, that they begin in.
type goShard struct {
	mu    sync.Mutex
	units map[uintptr][]goBlock
}

func (s *goShard) put(unit uintptr, b goBlock) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.units == nil {
		s.units = make(map[uintptr][]goBlock)
	}
	s.units[unit] = append(s.units[unit], b)
}

// find is the block of the unit that begins at addr, and with inside one that addr lies in.
func (s *goShard) find(unit, addr uintptr, inside bool) (goBlock, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.units[unit] {
		if b.addr == addr || inside && addr-b.addr < b.size {
			return b, true
		}
	}
	return goBlock{}, false
}

// take strikes the block of the unit off that begins at addr.
func (s *goShard) take(unit, addr uintptr) (goBlock, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.units[unit]
	i := slices.IndexFunc(list, func(b goBlock) bool { return b.addr == addr })
	if i < 0 {
		return goBlock{}, false
	}
	b, last := list[i], len(list)-1
	list[i], list[last] = list[last], goBlock{}
	if last == 0 {
		delete(s.units, unit)
	} else {
		s.units[unit] = list[:last]
	}
	return b, true
}

// quarantine keeps the last blocks freed from the collector, so that their addresses stay theirs
// and a double free of one is known from a foreign pointer: at least 8 blocks, at most 1024 or
// 16 MiB.
type quarantine struct {
	mu     sync.Mutex
	blocks []goBlock
	bytes  uintptr
}

func (q *quarantine) put(b goBlock) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.blocks = append(q.blocks, b)
	q.bytes += b.size
	for len(q.blocks) > 8 && (len(q.blocks) > 1024 || q.bytes > 16<<20) {
		q.bytes -= q.blocks[0].size
		q.blocks[0] = goBlock{}
		q.blocks = q.blocks[1:]
	}
}

func (q *quarantine) has(addr uintptr) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.ContainsFunc(q.blocks, func(b goBlock) bool { return addr-b.addr < b.size })
}

type goBlock struct {
	addr uintptr
	size uintptr
	kind *kind
	keep any // The slice that the block is, so that the collector keeps it.
}

const (
	goPage = 1 << goPageBits
	// goHeapMax bounds a block: 64 GiB, or 512 MiB on 32-bit systems. What the Go heap cannot give
	// ends the process without an error, so that the impossible must be refused before.
	goHeapMax  = 1 << goHeapBits
	goHeapBits = 29 + 7*is64Int
	goPageBits = 12
	goPowers   = goHeapBits - goPageBits
)

func newGoHeap(h *heap) *goHeap { return &goHeap{h: h} }

func (g *goHeap) shard(page uintptr) *goShard { return &g.shards[page%uintptr(len(g.shards))] }

// power is where a block of n bytes, which is more than a page, is noted besides.
func power(n uintptr) int { return bits.Len64(uint64(n-1)) - goPageBits - 1 }

// unit is the number of the unit of a power that addr lies in.
func unit(addr uintptr, power int) uintptr { return addr >> (power + goPageBits + 1) }

// alloc makes a block; it is zero whether asked for or not.
func (g *goHeap) alloc(q request) (uintptr, error) {
	if q.n > goHeapMax || q.align > maxAlign {
		return 0, outOfMemory("blocks", q.n, errTooLarge)
	}
	g.h.mu.Lock()
	err := g.h.checkLimit(&bin{kind: q.kind}, int64(q.n))
	if err == nil {
		g.h.account(q.kind, int64(q.n))
	}
	g.h.mu.Unlock()
	if err != nil {
		return 0, err
	}
	b := goBlock{size: q.n, kind: q.kind}
	if t := q.kind.typ; t != nil {
		n := int(q.n / t.Size())
		s := reflect.MakeSlice(reflect.SliceOf(t), n, n)
		b.keep, b.addr = s.Interface(), s.Pointer()
	} else {
		s := make([]uint64, (q.n+q.align+7)/8) // Words, so that it is aligned to 8 at least.
		b.keep, b.addr = s, roundUp(unsafex.SliceAddr(s), q.align)
	}
	g.note(b)
	g.inUse.Add(int64(q.n))
	return b.addr, nil
}

// account adds n bytes to what is held. The caller holds the lock.
func (h *heap) account(k *kind, n int64) {
	h.held += n
	if k.purpose != nil {
		k.purpose.held += n
	}
}

// note enters a block into the tables.
func (g *goHeap) note(b goBlock) {
	if b.size > goPage {
		p := power(b.size)
		g.powers[p].put(unit(b.addr, p), b)
		g.used.Or(1 << p)
	}
	g.shard(b.addr/goPage).put(b.addr/goPage, b)
}

// take strikes the block off that begins at addr.
func (g *goHeap) take(addr uintptr) (goBlock, bool) {
	b, ok := g.shard(addr/goPage).take(addr/goPage, addr)
	if ok && b.size > goPage {
		p := power(b.size)
		g.powers[p].take(unit(addr, p), addr)
	}
	return b, ok
}

// find is the block that begins at addr.
func (g *goHeap) find(addr uintptr) (goBlock, bool) {
	return g.shard(addr/goPage).find(addr/goPage, addr, false)
}

// containing is the block that addr lies in, which it need not begin.
func (g *goHeap) containing(addr uintptr) (goBlock, bool) {
	for s, unit := range g.places(addr) {
		if b, ok := s.find(unit, addr, true); ok {
			return b, true
		}
	}
	return goBlock{}, false
}

// places yields the tables, and the units in them, in which the block around addr may be.
func (g *goHeap) places(addr uintptr) iter.Seq2[*goShard, uintptr] {
	return func(yield func(*goShard, uintptr) bool) {
		page := addr / goPage
		if !yield(g.shard(page), page) || !yield(g.shard(page-1), page-1) {
			return
		}
		for used := g.used.Load(); used != 0; used &= used - 1 {
			p := bits.TrailingZeros64(used)
			if s, u := &g.powers[p], unit(addr, p); !yield(s, u) || !yield(s, u-1) {
				return
			}
		}
	}
}

func (g *goHeap) free(addr uintptr, op string) {
	b, ok := g.take(addr)
	if !ok {
		g.misuse(op, addr)
	}
	g.freed.put(b)
	g.inUse.Add(-int64(b.size))
	g.h.mu.Lock()
	g.h.account(b.kind, -int64(b.size))
	g.h.mu.Unlock()
}

// misuse panics and says what addr is. A block freed long ago is taken for a foreign pointer: the
// Go heap has it.
func (g *goHeap) misuse(op string, addr uintptr) {
	e := &MisuseError{Op: op, Addr: addr, Kind: "foreign pointer",
		Detail: "no block of offheap begins there; memory of the Go heap, the stack or a mapped file must not be freed here"}
	if g.freed.has(addr) {
		e.Kind, e.Detail = "double free", "the block was freed before; keep one owner for each block"
	}
	if _, ok := g.containing(addr); ok {
		e.Kind = "interior pointer"
		e.Detail = "it lies inside a block; free the slice that Alloc returned, or a prefix of it"
	}
	panic(e)
}

func (g *goHeap) resize(addr, old, n uintptr, op string, typ reflect.Type) bool {
	b, ok := g.find(addr)
	if !ok {
		g.misuse(op, addr)
	}
	if b.kind.typ != typ {
		panic(fieldMisuse(op, addr, b.kind.typ))
	}
	if n > b.size || n < b.size/2 {
		return false
	}
	if old < n {
		unsafex.Clear(addr+old, n-old)
	}
	return true
}

func (g *goHeap) room(addr uintptr) uintptr {
	b, _ := g.find(addr)
	return b.size
}

// refTo makes a Ref of an address: here the address itself, which never is below refBias.
func (g *goHeap) refTo(addr uintptr) uint64 {
	if _, ok := g.containing(addr); !ok {
		if addr == zeroSizeAddr() {
			return refZeroSize
		}
		g.misuse("RefOf", addr)
	}
	return uint64(addr)
}

func (g *goHeap) resolve(off uint64, d *typeDesc) uintptr {
	b, ok := g.containing(uintptr(off))
	in := uintptr(off) - b.addr
	if !ok || uint64(uintptr(off)) != off || d.size > b.size-in || in&(d.align-1) != 0 ||
		b.kind.typed() != d.typed || d.typed && (b.kind.typ != d.typ || in%d.size != 0) {
		panic(badRef(off, d))
	}
	return uintptr(off)
}

func (g *goHeap) stats() Stats {
	n := g.inUse.Load()
	s := Stats{InUse: n, Reserved: n}
	g.h.mu.Lock()
	defer g.h.mu.Unlock()
	s.Held = g.h.held
	for _, p := range g.h.purposesLocked() {
		s.Purposes = append(s.Purposes, PurposeStats{Name: p.name, InUse: p.held, Held: p.held})
	}
	return s
}
