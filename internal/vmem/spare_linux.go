// SPDX-License-Identifier: Apache-2.0

package vmem

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// spare keeps mappings and memory in hand for the moment in which a limit is reached:
// vm.max_map_count, RLIMIT_DATA, RLIMIT_AS or that of overcommitment. Go's runtime maps memory for
// itself, for a growing heap as well as for its tables, and dies of the first refusal: without a
// spare, a refused Commit would in most programs end in "runtime: cannot allocate memory" before
// its error has a message. So a few pages of address space alternate between two protections, and
// are as many mappings, and a writable mapping is never touched. A refusal makes the former one and
// unmaps the latter, and the difference is Go's to live on. Until it can be taken back, Commit,
// Reserve and MapFile are refused, lest we eat that up as well.
var spare spareMappings

// sparePages is odd: the outer pages then differ from the inaccessible neighbours that the kernel
// would merge them with, and making them one never splits a neighbour, which would be refused at
// the limit.
const sparePages = 33

// The memory kept in hand. Where no limit can bite, it is room for the tables of the runtime, which
// it maps 256 KiB at a time. Under a limit Go's heap must be able to grow as well until the program
// has dealt with the error: by a share of what the process has, and by leastRoom at least, because
// a small heap grows 4 MiB at a time and by 64 MiB of address space.
const (
	tableRoom  = 1 << 20
	leastRoom  = 96 << 20
	roomShare  = 8 // The room is 1/8 of the writable memory, and at most 1/8 of the limit.
	resizeFrom = 4 << 20
)

// Refusals of calls that the system might still have granted.
var (
	errNoMappings = fmt.Errorf("no mapping to spare: %w", unix.ENOMEM)
	errNoRoom     = fmt.Errorf("no memory to spare: %w", unix.ENOMEM)
)

type spareMappings struct {
	armed atomic.Bool // what the calls that succeed look at
	mu    sync.Mutex
	base  uintptr // Of the pages; 0: not reserved yet.
	room  uintptr // The writable mapping.
	size  uintptr // Its bytes; after spend those that it had.

	taken atomic.Uint64 // Bytes that were asked for since the room was made.
}

// wanted is the size of the room for what the process has now.
func wanted() uintptr {
	limit := min(softLimit(unix.RLIMIT_DATA), softLimit(unix.RLIMIT_AS))
	if mode, ok := procNumber("/proc/sys/vm/overcommit_memory"); limit == math.MaxUint64 && (!ok || mode != 2) {
		return tableRoom
	}
	_, data, _ := processSizes()
	room := max(tableRoom, min(max(leastRoom, data/roomShare), limit/roomShare))
	return uintptr(room) &^ (pageSize - 1)
}

// ready returns nil if the spare is in hand for a call for size bytes, or could be made or taken
// back, else errNoMappings or errNoRoom.
func (s *spareMappings) ready(size uintptr) error {
	if taken := s.taken.Add(uint64(size)); s.armed.Load() && taken < resizeFrom*roomShare {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	armed := s.armed.Load()
	if armed && s.taken.Load() < resizeFrom*roomShare {
		return nil
	}
	s.taken.Store(uint64(size))
	want := wanted()
	switch {
	case armed && want < s.size+resizeFrom:
		return nil
	case armed: // Both rooms at once might be more than the limit allows.
		_ = munmap(s.room, s.size) // It was never used.
	case !s.split():
		return errNoMappings
	}
	first := s.room == 0
	room, err := mmap(0, want, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON, -1, 0)
	s.size = want
	if err != nil {
		s.armed.Store(false)
		s.merge()
		return errNoRoom
	}
	s.room = room
	if armed || first { // After a refusal there may be nothing left to allocate with.
		nameRange(room, want, "spare memory")
	}
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

// spend unmaps the room and frees the mappings. It allocates nothing: Go's heap may be unable to
// grow.
func (s *spareMappings) spend() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.armed.Load() {
		s.merge()
		_ = munmap(s.room, s.size) // It was never used.
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

// bytes is the size of the room, in hand or not.
func (s *spareMappings) bytes() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return uint64(s.size)
}

// ready makes sure that Go has something left to live on if the coming call, for size bytes, takes
// the last of it.
func ready(size uintptr) error { return spare.ready(size) }

// refused is called as soon as the system has refused something, before anything is allocated.
func refused(err error) {
	if err == unix.ENOMEM {
		spare.spend()
	}
}
