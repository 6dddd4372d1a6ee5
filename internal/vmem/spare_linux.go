// SPDX-License-Identifier: Apache-2.0

package vmem

import (
	"fmt"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// spare keeps mappings in hand for the moment in which vm.max_map_count is reached. Go's runtime
// maps memory for itself and dies of the first refusal: without a spare, a refused Commit would in
// most programs end in "runtime: cannot allocate memory" before its error has a message. So a few
// pages of address space alternate between two protections, and are as many mappings, and a
// writable mapping is never touched. A refusal makes the former one and unmaps the latter, and the
// difference is Go's to live on. Until it can be taken back, Commit, Reserve and MapFile are
// refused, lest we eat that up as well.
//
// A headroom leaves Go memory below the other limits.
var spare spareMappings

const (
	// sparePages is odd: the outer pages then differ from the inaccessible neighbours that the
	// kernel would merge them with, and making them one never splits a neighbour, which would be
	// refused at the limit.
	sparePages = 33

	// spareBytes is room for tables of the runtime, which it maps 256 KiB at a time, if the address
	// space of a 32-bit system is full.
	spareBytes = 1 << 20
)

// errNoMappings is the refusal of a call that the system might still have granted.
var errNoMappings = fmt.Errorf("no mapping to spare: %w", unix.ENOMEM)

type spareMappings struct {
	armed atomic.Bool // what the calls that succeed look at
	mu    sync.Mutex
	base  uintptr // Of the pages; 0: not reserved yet.
	bytes uintptr // The writable mapping, of spareBytes.
}

// ready returns nil if the spare is in hand, or could be made or taken back, else errNoMappings or
// errNoRoom.
func (s *spareMappings) ready() error {
	if s.armed.Load() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.armed.Load() {
		return nil
	}
	if !s.split() {
		return errNoMappings
	}
	addr, err := mmap(0, spareBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON, -1, 0)
	if err != nil {
		s.merge()
		return errNoRoom
	}
	if s.bytes == 0 { // After a refusal there may be nothing left to allocate with.
		nameRange(addr, spareBytes, "spare memory")
	}
	s.bytes = addr
	s.armed.Store(true)
	return nil
}

// split makes the pages as many mappings. It reports false if there are not enough.
func (s *spareMappings) split() bool {
	if s.base == 0 {
		base, err := mapNone(0, sparePages*pageSize, 0)
		if err != nil {
			return true // The caller's request will meet the same refusal, and is the better one to explain.
		}
		s.base = base
		nameRange(base, sparePages*pageSize, "spare mappings")
	}
	for i := uintptr(0); i < sparePages; i += 2 {
		if mprotect(s.base+i*pageSize, pageSize, unix.PROT_READ) != nil {
			s.merge()
			return false
		}
	}
	return true
}

// spend unmaps the bytes and frees the mappings. It allocates nothing: Go's heap may be unable to
// grow.
func (s *spareMappings) spend() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.armed.Load() {
		s.merge()
		_ = munmap(s.bytes, spareBytes) // It was never used.
		s.armed.Store(false)
	}
}

// merge makes the pages one mapping. It needs none for that; if it failed all the same, there would
// be nothing left to try.
func (s *spareMappings) merge() {
	if s.base != 0 {
		_ = mprotect(s.base, sparePages*pageSize, unix.PROT_NONE)
	}
}

// ready makes sure that Go has something left to live on if the coming call, which takes size bytes
// of r, takes the last of it.
func ready(r *headroom, size uintptr) error {
	if err := r.take(size); err != nil {
		return err
	}
	return spare.ready()
}

// refused is called as soon as the system has refused something, before anything is allocated.
func refused(err error) {
	if err == unix.ENOMEM {
		spare.spend()
	}
}
