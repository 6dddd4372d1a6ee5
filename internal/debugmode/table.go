// SPDX-License-Identifier: Apache-2.0

package debugmode

import (
	"fmt"
	"math"
	"math/bits"
	"sync"

	"github.com/freehold-go/freehold/internal/vmem"
)

// A record is a Block in the table.
type record struct {
	addr, size      uint64
	lo, hi          uint64 // the addresses at which an access is this block's: it and the inaccessible pages around it
	arena           uint64
	serial          uint64 // grows with each Add and each Freed
	allocBy, freeBy int64
	alloc, free     uint32
	owner, typ      uint32
	freeOp          uint32
	flags           uint32
}

// The bits of record.flags; 0 is a record without a block.
const (
	flagUsed uint32 = 1 << iota
	flagFreed
	flagLeak
	flagGuarded
	flagTomb
)

func (r *record) holds(addr uint64) bool { return addr-r.addr < max(r.size, 1) }

// inUse reports whether the record is of a block that is not freed.
func (r *record) inUse() bool { return r.flags&(flagUsed|flagFreed|flagTomb) == flagUsed }

func (r *record) block() Block {
	text := texts.get
	return Block{
		Addr: uintptr(r.addr), Size: uintptr(r.size), Arena: r.arena,
		Owner: text(r.owner), Type: text(r.typ), FreeOp: text(r.freeOp),
		Alloc: Stack(r.alloc), Free: Stack(r.free), AllocBy: r.allocBy, FreeBy: r.freeBy,
		Leak: r.flags&flagLeak != 0, Guarded: r.flags&flagGuarded != 0, tomb: r.flags&flagTomb != 0,
	}
}

// nearer reports whether r explains an access at addr better than q does: a block that holds it
// before its neighbours, one that is alive before freed ones, then the nearest, then the latest. q
// may be nil.
func (r *record) nearer(q *record, addr uint64) bool {
	switch {
	case q == nil:
		return true
	case r.holds(addr) != q.holds(addr):
		return r.holds(addr)
	case r.holds(addr) && (r.flags^q.flags)&flagFreed != 0:
		return r.flags&flagFreed == 0
	case !r.holds(addr) && r.distance(addr) != q.distance(addr):
		return r.distance(addr) < q.distance(addr)
	}
	return r.serial > q.serial
}

// distance is how far addr lies outside the block.
func (r *record) distance(addr uint64) uint64 {
	if addr < r.addr {
		return r.addr - addr
	}
	return addr - (r.addr + r.size)
}

// The table holds so many records. The freed ones are kept as long as this many newer ones allow,
// or their quarantine.
const (
	maxRecords   = 1<<16 + 1<<22*(math.MaxUint>>63)
	keptRecords  = 1 << 12 << (4 * (math.MaxUint >> 63))
	recordsChunk = 1 << 10
)

// table finds records by address. Each is noted under the first of the two units of 1<<class bytes
// that its extent lo to hi can lie in; so whatever holds an address is found in two units for each
// class.
type table struct {
	mu      sync.RWMutex
	chunks  [][]record
	grow    func(n int) ([]record, error) // makes the n-th chunk; nil: on the Go heap
	full    error                         // why there is no more memory, nil if there is
	used    uint32                        // records that were ever used
	limit   uint32
	idle    []uint32          // records without a block
	exact   map[uint64]uint32 // by block address
	heads   map[unit]uint32   // the first record of each unit
	next    []uint32          // the next record of the same unit, by record
	classes uint64            // those that were ever used
	serial  uint64
	old     []oldRecord // freed ones without a quarantine, oldest first
	alive   int
	dropped uint64
}

type unit struct {
	class uint8
	index uint64
}

type oldRecord struct {
	id     uint32
	serial uint64
}

// leastClass keeps the number of classes small.
const leastClass = 8

// blocks is the table of this process.
var blocks = table{limit: maxRecords}

func (t *table) at(id uint32) *record {
	return &t.chunks[id/recordsChunk][id%recordsChunk]
}

// take returns a record without a block, 0 if there is none left.
func (t *table) take() uint32 {
	if n := len(t.idle); n > 0 {
		id := t.idle[n-1]
		t.idle = t.idle[:n-1]
		return id
	}
	if t.used+1 >= t.limit {
		return 0
	}
	if n := int((t.used + 1) / recordsChunk); n >= len(t.chunks) {
		chunk, err := t.newChunk(n)
		if err != nil {
			t.limit, t.full = t.used+1, err
			return 0
		}
		t.chunks = append(t.chunks, chunk)
	}
	t.used++ // Number 0 is the head.
	t.at(0).size = uint64(t.used)
	for len(t.next) <= int(t.used) {
		t.next = append(t.next, 0)
	}
	return t.used
}

func (t *table) newChunk(n int) ([]record, error) {
	if t.grow != nil {
		return t.grow(n)
	}
	return make([]record, recordsChunk), nil
}

// lose counts a block that has no room. Record 0 holds no block: its size is the number of records
// that were ever used, and its serial the number of lost blocks, for processes that read the table.
func (t *table) lose() {
	t.dropped++
	if len(t.chunks) > 0 {
		t.at(0).serial = t.dropped
	}
	if t.dropped > 1 {
		return
	}
	why := ""
	if t.full != nil {
		why = fmt.Sprintf(" (%v)", t.full)
	}
	say("the table of blocks is full at %d%s: what comes now is not reported with its stacks, nor as a leak", t.limit, why)
}

// listLeaks says to a process that reads the table later whether it lists the leaks: by flagLeak of
// record 0.
func (t *table) listLeaks(on bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.chunks) == 0 {
		return // There will be no such process.
	}
	t.at(0).flags = 0
	if on {
		t.at(0).flags = flagLeak
	}
}

// lost is how many blocks had no room.
func (t *table) lost() uint64 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.dropped
}

func (t *table) add(b Block) {
	r := record{
		addr: uint64(b.Addr), size: uint64(b.Size), arena: b.Arena, allocBy: b.AllocBy, freeBy: b.FreeBy,
		alloc: uint32(b.Alloc), free: uint32(b.Free), flags: flagUsed,
		owner: texts.intern(b.Owner), typ: texts.intern(b.Type), freeOp: texts.intern(b.FreeOp),
	}
	r.lo, r.hi = extent(b)
	for _, f := range []struct {
		on   bool
		flag uint32
	}{{b.FreeOp != "", flagFreed}, {b.Leak, flagLeak}, {b.Guarded, flagGuarded}, {b.tomb, flagTomb}} {
		if f.on {
			r.flags |= f.flag
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if id := t.exact[r.addr]; id != 0 {
		t.drop(id)
	}
	id := t.take()
	if id == 0 {
		t.lose()
		return
	}
	t.serial++
	r.serial = t.serial
	*t.at(id) = r
	if r.flags&(flagFreed|flagTomb) == 0 {
		t.alive++
	}
	t.link(id)
}

// unitOf is where a record is noted.
func (r *record) unit() unit {
	class := uint8(max(leastClass, bits.Len64(r.hi-r.lo-1)))
	return unit{class, r.lo >> class}
}

func (t *table) link(id uint32) {
	if t.exact == nil {
		t.exact, t.heads = make(map[uint64]uint32), make(map[unit]uint32)
	}
	r := t.at(id)
	u := r.unit()
	t.exact[r.addr] = id
	t.next[id] = t.heads[u]
	t.heads[u] = id
	t.classes |= 1 << u.class
}

// drop strikes a record off.
func (t *table) drop(id uint32) {
	r := t.at(id)
	u := r.unit()
	if t.exact[r.addr] == id {
		delete(t.exact, r.addr)
	}
	if t.heads[u] == id {
		if t.next[id] == 0 {
			delete(t.heads, u)
		} else {
			t.heads[u] = t.next[id]
		}
	} else {
		before := t.heads[u]
		for t.next[before] != id {
			before = t.next[before]
		}
		t.next[before] = t.next[id]
	}
	if r.flags&(flagFreed|flagTomb) == 0 {
		t.alive--
	}
	*r = record{}
	t.idle = append(t.idle, id)
}

func (t *table) freed(addr uintptr, op string, free Stack, by int64) (Block, bool) {
	name := texts.intern(op)
	t.mu.Lock()
	defer t.mu.Unlock()
	id := t.exact[uint64(addr)]
	if id == 0 {
		return Block{}, false
	}
	r := t.at(id)
	if r.flags&flagFreed != 0 {
		return r.block(), false
	}
	t.serial++
	r.serial, r.free, r.freeBy = t.serial, uint32(free), by
	if r.freeOp == 0 {
		r.freeOp = name
	}
	r.flags |= flagFreed
	t.alive--
	if r.flags&flagGuarded == 0 {
		t.age(id)
	}
	return r.block(), true
}

func (t *table) freeing(addr uintptr, op string) {
	name := texts.intern(op)
	t.mu.Lock()
	defer t.mu.Unlock()
	if id := t.exact[uint64(addr)]; id != 0 && t.at(id).flags&flagFreed == 0 {
		t.at(id).freeOp = name
	}
}

// age makes a freed record the next of those that newer ones push out.
func (t *table) age(id uint32) {
	t.old = append(t.old, oldRecord{id, t.at(id).serial})
	if len(t.old) > keptRecords {
		oldest := t.old[0]
		t.old = t.old[1:]
		if r := t.at(oldest.id); r.serial == oldest.serial {
			t.drop(oldest.id)
		}
	}
}

func (t *table) forget(addr uintptr) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if id := t.exact[uint64(addr)]; id != 0 {
		t.drop(id)
	}
}

func (t *table) find(addr uintptr) (Block, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	var best *record
	a := uint64(addr)
	for classes := t.classes; classes != 0; classes &= classes - 1 {
		class := uint8(bits.TrailingZeros64(classes))
		index := a >> class
		best = t.search(unit{class, index}, a, best)
		if index > 0 {
			best = t.search(unit{class, index - 1}, a, best)
		}
	}
	if best == nil {
		return Block{}, false
	}
	return best.block(), true
}

// search returns the record that explains addr best: one of the unit's, or best.
func (t *table) search(u unit, addr uint64, best *record) *record {
	for id := t.heads[u]; id != 0; id = t.next[id] {
		if r := t.at(id); addr-r.lo < r.hi-r.lo && r.nearer(best, addr) {
			best = r
		}
	}
	return best
}

// live yields blocks without holding the lock, so that yield may call anything.
func (t *table) live(yield func(Block) bool) {
	for id := uint32(1); ; id++ {
		t.mu.RLock()
		end := id > t.used
		var b Block
		ok := false
		if !end {
			if r := t.at(id); r.inUse() {
				b, ok = r.block(), true
			}
		}
		t.mu.RUnlock()
		if end || ok && !yield(b) {
			return
		}
	}
}

// A Block is the record of one allocation.
type Block struct {
	Addr, Size uintptr // what the caller got, in bytes
	Owner      string  // the package or the kind of allocator, such as "offheap"; of few different values, because each is kept for good
	Type       string  // what it holds, such as "main.node" or "[]byte"; "" if not known; kept for good, too
	Arena      uint64  // the number of the arena, 0 for none

	Alloc, Free     Stack
	AllocBy, FreeBy int64  // the goroutines, 0 if not known
	FreeOp          string // what gave the block up, such as "Free", "Reset" or "Rewind"; "" while it lives
	Leak            bool   // it must be freed: if it lives at the end of the process, it is a leak

	Whole   bool // it stands for many, such as all of an arena's: Addr identifies it, and accesses near it are not its
	Guarded bool // it lies on guarded pages; set by Add
	tomb    bool // Addr is a tomb's

	outer, outerEnd uintptr // the pages of a guarded object with the inaccessible ones around; set by Add
}

// String names the block: "block of 64 bytes ([]byte, offheap)".
func (b Block) String() string {
	return fmt.Sprintf("block of %s (%s)", count(uint64(b.Size), "byte"), b.what())
}

// what describes the block's contents and owner: "[]byte, offheap".
func (b Block) what() string {
	if b.Type == "" {
		return b.owner()
	}
	return b.Type + ", " + b.owner()
}

// freedBy is what gave the block up: "offheap.Free", "Reset of arena 12".
func (b Block) freedBy() string {
	if b.Arena == 0 {
		return b.Owner + "." + b.FreeOp
	}
	return fmt.Sprintf("%s of arena %d", b.FreeOp, b.Arena)
}

// owner is the owner with the arena's number.
func (b Block) owner() string {
	if b.Arena == 0 {
		return b.Owner
	}
	return fmt.Sprintf("%s %d", b.Owner, b.Arena)
}

// count writes a number and a noun.
func count(n uint64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// extent is where an access is the block's: for a guarded block with all of the inaccessible pages
// around its own.
func extent(b Block) (lo, hi uint64) {
	page := uint64(vmem.PageSize())
	lo, hi = uint64(b.Addr), uint64(b.Addr)+max(uint64(b.Size), 1)
	switch {
	case b.Whole:
		return lo, lo + 1
	case b.tomb:
		return lo - tombFront, lo - tombFront + tombWindow
	case b.outerEnd > 0:
		return uint64(b.outer), uint64(b.outerEnd)
	case b.Guarded:
		return lo&^(page-1) - gapPages*page, (uint64(b.Addr)+uint64(b.Size)+page-1)&^(page-1) + gapPages*page
	}
	return lo, hi
}
