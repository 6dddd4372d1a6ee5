// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"fmt"
	"reflect"
	"sync"

	"github.com/freehold-go/freehold/internal/sizeclass"
	"github.com/freehold-go/freehold/internal/vmem"
)

// Secret memory (PurposeOptions.Secret).
//
// The life of a block:
//
//   1. The vault takes a free slot: address space for the block's pages and as many more as make its
//     length one of four to an octave, and an inaccessible page in front of them and one behind. All
//     address space of the vault is inaccessible at first.
//   2. The block's pages are made accessible, kept out of dumps, forked children and huge pages,
//     and locked. They are the last of the slot, and the block lies at their end, so that an overflow
//     faults.
//   3. Free wipes the block and makes the pages inaccessible again, which gives their memory back:
//     a stale pointer faults as long as the slot is free.
//   4. The slot serves a later block that needs such a slot, and is of the same type if the type needs
//     that (C1).
//
// A tracked keeps the records of the blocks: the heap's other one where that serves all blocks, and
// one for secrets alone beside the slabs. So they have the same frees, Refs and reports as blocks
// on guarded pages. Secrets lie here with the kill switch and under the race detector, too: a mode
// that looks for mistakes must not put keys into swap.

// A vault is the address space of a heap's secret blocks.
type vault struct {
	mu       sync.Mutex
	ranges   []vaultRange
	free     map[vaultSlot][]freeSlot // That blocks had, or should have had.
	freed    map[uintptr]bool         // The last blocks in slots that are free now.
	open     []openSlot               // That no block gets before their pages are inaccessible.
	bytes    int64                    // Pages in use, and those of open slots.
	achieved vmem.Secrecy             // By the last block.
}

// An openSlot is a slot whose pages the system refused to make inaccessible.
type openSlot struct {
	pages, size uintptr
	kind        vaultSlot
	slot        freeSlot
}

// A vaultRange is reserved address space, inaccessible but for the blocks in use.
type vaultRange struct {
	addrRange
	next uintptr // Where no slot ever was.
}

// A vaultSlot is what must be the same in all blocks of a slot.
type vaultSlot struct {
	bytes, align uintptr
	typ          reflect.Type
	block        uintptr // Of a typed block that does not end where the slot ends: its length. See step.
}

// A freeSlot is the address of a slot, and that of the last block in it, or 0.
type freeSlot struct{ slot, block uintptr }

// vaultUnit is the unit in which the vault reserves address space.
const vaultUnit = 1 << (22 + 4*is64Int)

// vaultSlot is the slot that b needs.
func (b *block) vaultSlot() vaultSlot {
	page := vmem.PageSize()
	s := vaultSlot{bytes: sizeclass.Capacity(roundUp(b.size, page)/page) * page, align: max(b.align, page), typ: b.kind.typ}
	if b.kind.typed() && b.place(s)+b.size != s.bytes {
		s.align, s.block = b.align, b.size
	}
	return s
}

// step is the multiple that the address of b must be. The address of a typed block is a multiple of
// its type's alignment and no more, so that the block ends where its slot ends: the values of all
// blocks of the slot lie in one grid, and a stale bool never lies over other bytes (C1). A block of a
// greater alignment may have to end before. Then only blocks of its alignment and length have the slot.
func (b *block) step() uintptr {
	if b.kind.typed() {
		return max(b.align, 1)
	}
	return max(b.align, 8)
}

// place is where b begins in a slot.
func (b *block) place(s vaultSlot) uintptr { return (s.bytes - b.size) &^ (b.step() - 1) }

// pages is the range of the pages of b.
func (b *block) pages() (lo, size uintptr) {
	page := vmem.PageSize()
	lo = b.addr &^ (page - 1)
	return lo, roundUp(b.addr+b.size-lo, page)
}

// lock gives b pages of the vault.
func (h *heap) lock(b *block) error {
	// Who may lock as much as there is would have the kernel kill processes for a larger block.
	if err := checkMachine(b.size); err != nil {
		return err
	}
	v, s := &h.vault, b.vaultSlot()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.closeOpen(h.mem)
	slot, undo, err := v.slot(h.mem, s)
	if err != nil {
		return outOfMemory("secret blocks", b.size, err)
	}
	b.addr = slot.slot + b.place(s)
	pages, size := b.pages()
	if err := h.mem.Commit(pages, size); err != nil {
		undo()
		return outOfMemory("secret blocks", b.size, err)
	}
	achieved, err := h.mem.Secure(pages, size)
	if err != nil {
		if h.mem.Decommit(pages, size, vaultName) == nil {
			undo()
		} else {
			v.bytes += int64(size)
			v.open = append(v.open, openSlot{pages, size, s, slot})
		}
		return &allocError{ErrLimit, fmt.Sprintf("%d bytes of locked memory for purpose %q", size, b.kind.purpose.name), err}
	}
	v.achieved = achieved
	v.bytes += int64(size)
	delete(v.freed, slot.block)
	return nil
}

// unlock takes the pages of b back, which was wiped. If the system refuses to make them inaccessible, no
// block gets the slot before it does: one of another length would have pages beside it that are accessible.
func (h *heap) unlock(b *block) {
	v := &h.vault
	v.mu.Lock()
	defer v.mu.Unlock()
	s := b.vaultSlot()
	pages, size := b.pages()
	v.freed[b.addr] = true
	v.open = append(v.open, openSlot{pages, size, s, freeSlot{b.addr - b.place(s), b.addr}})
	v.closeOpen(h.mem)
}

// closeOpen makes the pages of open slots inaccessible, the last first, until the system refuses that. The caller holds the lock.
func (v *vault) closeOpen(mem vmem.Memory) {
	for len(v.open) > 0 {
		last := len(v.open) - 1
		o := v.open[last]
		if mem.Decommit(o.pages, o.size, vaultName) != nil {
			return
		}
		v.open = v.open[:last]
		v.bytes -= int64(o.size)
		v.free[o.kind] = append(v.free[o.kind], o.slot)
	}
}

const vaultName = "offheap secrets"

// slot finds a free slot. undo takes it back if no block comes to lie there. Then a new slot is again a
// part of what serves slots of any length, so that refused requests of many sizes share address space.
func (v *vault) slot(mem vmem.Memory, s vaultSlot) (slot freeSlot, undo func(), err error) {
	if v.free == nil {
		v.free, v.freed = map[vaultSlot][]freeSlot{}, map[uintptr]bool{}
	}
	if list := v.free[s]; len(list) > 0 {
		last := len(list) - 1
		v.free[s] = list[:last]
		return list[last], func() { v.free[s] = list }, nil
	}
	page := vmem.PageSize()
	align := max(s.align, page)
	for i := range v.ranges {
		r := &v.ranges[i]
		// hi is near the end of the address space on 32-bit systems, so no sum may pass it.
		next, addr := r.next, roundUp(r.next+page, align)
		if room := r.hi - addr; addr >= next && addr <= r.hi && room >= page && s.bytes <= room-page {
			r.next = addr + s.bytes
			return freeSlot{slot: addr}, func() { r.next = next }, nil
		}
	}
	// The next slot's page in front is this one's behind.
	size := max(vaultUnit, roundUp(s.bytes+align+2*page, page))
	base, err := mem.Reserve(size, page, vaultName)
	if err != nil {
		return freeSlot{}, nil, err
	}
	addr, last := roundUp(base+page, align), len(v.ranges)
	v.ranges = append(v.ranges, vaultRange{addrRange{base, base + size}, addr + s.bytes})
	return freeSlot{slot: addr}, func() { v.ranges[last].next = base }, nil
}

// owns says whether addr lies in the vault.
func (v *vault) owns(addr uintptr) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, r := range v.ranges {
		if addr-r.lo < r.hi-r.lo {
			return true
		}
	}
	return false
}

// wasFreed says whether a block began at addr, the last in a slot that is free now.
func (v *vault) wasFreed(addr uintptr) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.freed[addr]
}

// slack is the bytes of the pages of secret blocks that the blocks do not use. used is their sum.
func (v *vault) slack(used int64) int64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.bytes - used
}

// freeSecret frees a secret block beside the slabs. It reports false if addr has nothing to do with
// any.
func (h *heap) freeSecret(addr uintptr, op string) bool {
	t := h.secrets.Load()
	if t == nil || !h.vault.owns(addr) {
		return false
	}
	t.freeBlock(addr, op) // It panics if no block begins there.
	return true
}

// Protection is the system's protection of the blocks of a secret [Purpose]. If the system has no
// call for a protection, its field is false.
type Protection struct {
	Guarded     bool // Inaccessible pages lie on either side of each block, and its own are so after its free.
	Locked      bool // The pages are never written to swap. Hibernation writes them all the same.
	NotDumped   bool // Core dumps leave the pages out. Linux alone.
	WipedOnFork bool // A child process that is forked without exec reads zeros. Linux alone.
}

// Protection returns the protection of p's blocks on this system. If p is not secret, it is the
// zero value. To find out, Protection allocates a block and frees it; the error is that of the
// allocation.
func (p *Purpose) Protection() (Protection, error) {
	if !p.state("Protection").options.Secret || !vmem.Supported {
		return Protection{}, nil
	}
	b, err := p.TryAlloc(1)
	if err != nil {
		return Protection{}, err
	}
	v := &std.vault
	v.mu.Lock()
	got := v.achieved
	v.mu.Unlock()
	Free(b)
	return Protection{Guarded: true, Locked: got.Locked, NotDumped: got.NotDumped, WipedOnFork: got.WipedOnFork}, nil
}
