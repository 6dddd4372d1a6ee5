package offheap

import (
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
type goHeap struct {
	shards [64]goShard
	inUse  atomic.Int64
	large  atomic.Int64 // Size of the largest block ever: how far back an interior pointer may reach.
	freed  quarantine
	h      *heap
}

type goShard struct {
	mu    sync.Mutex
	pages map[uintptr][]goBlock
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
	goPage = 4096
	// goHeapMax bounds a block: 64 GiB, or 512 MiB on 32-bit systems. What the Go heap cannot give
	// ends the process without an error, so that the impossible must be refused before.
	goHeapMax = 1 << (29 + 7*is64Int)
)

func newGoHeap(h *heap) *goHeap {
	g := &goHeap{h: h}
	for i := range g.shards {
		g.shards[i].pages = make(map[uintptr][]goBlock)
	}
	return g
}

func (g *goHeap) shard(page uintptr) *goShard { return &g.shards[page%uintptr(len(g.shards))] }

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
	for l := g.large.Load(); int64(q.n) > l && !g.large.CompareAndSwap(l, int64(q.n)); l = g.large.Load() {
	}
	s := g.shard(b.addr / goPage)
	s.mu.Lock()
	s.pages[b.addr/goPage] = append(s.pages[b.addr/goPage], b)
	s.mu.Unlock()
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

// find is the block that begins at addr. With take it is struck off.
func (g *goHeap) find(addr uintptr, take bool) (goBlock, bool) {
	s := g.shard(addr / goPage)
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.pages[addr/goPage]
	for i, b := range list {
		if b.addr != addr {
			continue
		}
		if take {
			list[i] = list[len(list)-1]
			list[len(list)-1] = goBlock{}
			if list = list[:len(list)-1]; len(list) == 0 {
				delete(s.pages, addr/goPage)
			} else {
				s.pages[addr/goPage] = list
			}
		}
		return b, true
	}
	return goBlock{}, false
}

// containing is the block that addr lies in, which it need not begin.
func (g *goHeap) containing(addr uintptr) (goBlock, bool) {
	for page, back := addr/goPage, uintptr(g.large.Load())/goPage+1; ; page, back = page-1, back-1 {
		s := g.shard(page)
		s.mu.Lock()
		for _, b := range s.pages[page] {
			if addr-b.addr < b.size {
				s.mu.Unlock()
				return b, true
			}
		}
		s.mu.Unlock()
		if back == 0 || page == 0 {
			return goBlock{}, false
		}
	}
}

func (g *goHeap) free(addr uintptr, op string) {
	b, ok := g.find(addr, true)
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

func (g *goHeap) resize(addr, old, n uintptr, op string) bool {
	b, ok := g.find(addr, false)
	if !ok {
		g.misuse(op, addr)
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
	b, _ := g.find(addr, false)
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
