package vmem

import (
	"fmt"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// spare keeps mappings and memory in hand for the moment in which a limit is reached: vm.max_map_count,
// RLIMIT_DATA, RLIMIT_AS or that of overcommitment. Go's runtime maps memory for itself, for a growing
// heap as well as for its tables, and dies of the first refusal: without a spare, a refused Commit would
// in most programs end in "runtime: cannot allocate memory" before its error has a message. So a few
// pages of address space alternate between two protections, and are as many mappings, and a writable
// mapping is never touched. A refusal makes the former one and unmaps the latter, and the difference is
// Go's to live on. Until it can be taken back, Commit, Reserve and MapFile are refused, lest we eat that
// up as well.
var spare spareMappings

// sparePages is odd: the outer pages then differ from the inaccessible neighbours that the kernel would
// merge them with, and making them one never splits a neighbour, which would be refused at the limit.
const sparePages = 33

// spareBytes is room for the tables of the runtime, which it maps 256 KiB at a time.
const spareBytes = 1 << 20

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
}

// ready returns nil if the spare is in hand or could be taken back, else errNoMappings or errNoRoom.
func (s *spareMappings) ready() error {
	if s.armed.Load() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.armed.Load() {
		return nil
	}
	if s.base == 0 {
		base, err := mapNone(0, sparePages*pageSize, 0)
		if err != nil {
			return nil // The caller's request will meet the same refusal, and is the better one to explain.
		}
		s.base = base
		nameRange(base, sparePages*pageSize, "spare mappings")
	}
	for i := uintptr(0); i < sparePages; i += 2 {
		if mprotect(s.base+i*pageSize, pageSize, unix.PROT_READ) != nil {
			s.merge()
			return errNoMappings
		}
	}
	room, err := mmap(0, spareBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON, -1, 0)
	if err != nil {
		s.merge()
		return errNoRoom
	}
	if s.room == 0 { // Later on there is nothing left to allocate with.
		nameRange(room, spareBytes, "spare memory")
	}
	s.room = room
	s.armed.Store(true)
	return nil
}

// spend gives the spare up. It allocates nothing: Go's heap may be unable to grow.
func (s *spareMappings) spend() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.armed.Load() {
		s.merge()
		_ = munmap(s.room, spareBytes) // It was never handed out.
		s.armed.Store(false)
	}
}

// merge makes the pages one mapping. It needs none for that; if it failed all the same, there would be
// nothing left to try.
func (s *spareMappings) merge() {
	_ = mprotect(s.base, sparePages*pageSize, unix.PROT_NONE)
}

// ready makes sure that Go has something left to live on if the coming call takes the last of it.
func ready() error { return spare.ready() }

// refused is called as soon as the system has refused something, before anything is allocated.
func refused(err error) {
	if err == unix.ENOMEM {
		spare.spend()
	}
}
