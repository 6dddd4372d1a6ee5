// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"fmt"
	"reflect"
	"sync"

	"github.com/freehold-go/freehold/internal/vmem"
)

// Secret memory (PurposeOptions.Secret).
//
// The life of a block:
//
//   1. The vault takes a free slot: address space for the block's pages, and an inaccessible page
//     in front of them and one behind. All address space of the vault is inaccessible at first.
//   2. The block's pages are made accessible, kept out of dumps, forked children and huge pages,
//     and locked. The block lies at their end, so that an overflow faults.
//   3. Free wipes the block and makes the pages inaccessible again, which gives their memory back:
//     a stale pointer faults as long as the slot is free.
//   4. The slot serves a later block of as many pages, and of the same type if the type needs that
//     (C1).
//
// A tracked keeps the records of the blocks: the heap's other one where that serves all blocks, and
// one for secrets alone beside the slabs. So they have the same frees, Refs and reports as blocks
// on guarded pages. Secrets lie here with the kill switch and under the race detector, too: a mode
// that looks for mistakes must not put keys into swap.

// A vault is the address space of a heap's secret blocks.
type vault struct {
	mu       sync.Mutex
	ranges   []addrRange             // Reserved; inaccessible but for the blocks in use.
	next     uintptr                 // In the last of the ranges: where no slot ever was.
	free     map[vaultSlot][]uintptr // Slots' first pages.
	freed    map[uintptr]bool        // The blocks that began in slots that are free now.
	bytes    int64                   // Pages in use.
	achieved vmem.Secrecy            // By the last block.
}

// A vaultSlot is what must be the same in all blocks of a slot.
type vaultSlot struct {
	bytes, align uintptr
	typ          reflect.Type
}

// vaultRange is the unit in which the vault reserves address space.
const vaultRange = 1 << (22 + 4*is64Int)

// vaultSlot is the slot that b needs.
func (b *block) vaultSlot() vaultSlot {
	page := vmem.PageSize()
	return vaultSlot{roundUp(b.size, page), max(b.align, page), b.kind.typ}
}

// step is the multiple that the address of b must be. The address of a typed block is a multiple of
// its type's alignment and no more, so that the block ends where its slot ends: the values of all
// blocks of the slot lie in one grid, and a stale bool never lies over other bytes (C1).
func (b *block) step() uintptr {
	if b.kind.typed() {
		return max(b.align, 1)
	}
	return max(b.align, 8)
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
	next := v.next
	pages, err := v.slot(h.mem, s)
	if err != nil {
		return outOfMemory("secret blocks", b.size, err)
	}
	unused := v.next != next // No block ever lay there.
	if err := h.mem.Commit(pages, s.bytes); err != nil {
		v.undo(pages, s, unused)
		return outOfMemory("secret blocks", b.size, err)
	}
	achieved, err := h.mem.Secure(pages, s.bytes)
	if err != nil {
		_ = h.mem.Decommit(pages, s.bytes, vaultName)
		v.undo(pages, s, unused)
		return &allocError{ErrLimit, fmt.Sprintf("%d bytes of locked memory for purpose %q", s.bytes, b.kind.purpose.name), err}
	}
	v.achieved = achieved
	v.bytes += int64(s.bytes)
	b.addr = pages + (s.bytes-b.size)&^(b.step()-1)
	delete(v.freed, b.addr)
	return nil
}

// unlock takes the pages of b back, which was wiped.
func (h *heap) unlock(b *block) {
	v := &h.vault
	v.mu.Lock()
	defer v.mu.Unlock()
	s := b.vaultSlot()
	pages := b.addr &^ (vmem.PageSize() - 1)
	v.bytes -= int64(s.bytes)
	v.freed[b.addr] = true
	v.close(h.mem, pages, s)
}

// undo takes a slot back in which a block was to lie. One that is unused becomes part of what
// serves slots of any size, so that refused requests of many sizes take no address space.
func (v *vault) undo(pages uintptr, s vaultSlot, unused bool) {
	if unused {
		v.next = pages - vmem.PageSize()
		return
	}
	v.free[s] = append(v.free[s], pages)
}

// close ends the use of a slot's pages. If the system refuses, they stay accessible, but wiped.
func (v *vault) close(mem vmem.Memory, pages uintptr, s vaultSlot) {
	_ = mem.Decommit(pages, s.bytes, vaultName)
	v.free[s] = append(v.free[s], pages)
}

const vaultName = "offheap secrets"

// slot finds a free slot. It returns the address of its first page.
func (v *vault) slot(mem vmem.Memory, s vaultSlot) (uintptr, error) {
	if v.free == nil {
		v.free, v.freed = map[vaultSlot][]uintptr{}, map[uintptr]bool{}
	}
	if list := v.free[s]; len(list) > 0 {
		v.free[s] = list[:len(list)-1]
		return list[len(list)-1], nil
	}
	page := vmem.PageSize()
	if n := len(v.ranges); n > 0 {
		// hi is near the end of the address space on 32-bit systems, so no sum may pass it.
		pages, hi := roundUp(v.next+page, s.align), v.ranges[n-1].hi
		if room := hi - pages; pages >= v.next && pages <= hi && room >= page && s.bytes <= room-page {
			v.next = pages + s.bytes
			return pages, nil
		}
	}
	// The next slot's page in front is this one's behind.
	size := max(vaultRange, roundUp(s.bytes+s.align+2*page, page))
	base, err := mem.Reserve(size, page, vaultName)
	if err != nil {
		return 0, err
	}
	v.ranges = append(v.ranges, addrRange{base, base + size})
	pages := roundUp(base+page, s.align)
	v.next = pages + s.bytes
	return pages, nil
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

// wasFreed says whether a block began at addr that is free now.
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
