// SPDX-License-Identifier: Apache-2.0

package vmem

import (
	"fmt"
	"math"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// A headroom keeps our calls from taking the last memory or address space below a limit. Go's
// runtime maps memory for itself, for a growing heap as well as for its tables, and the first
// refusal ends the process: with "out of memory", or with a fault in the collector, which uses the
// result of one such call unchecked. A refusal of our own call would come too late: the call before
// it may have been granted all that was left.
//
// So a call is refused if it would leave less than the room that roomBelow returns. The room is not
// mapped, so Go can take it at any time. The figures are those that the kernel compares with the
// limits.
type headroom struct {
	left  func() uint64 // The bytes that our calls may still take.
	taken atomic.Uint64 // The bytes that calls asked for since the last measurement.
	next  atomic.Uint64 // The next measurement is due when taken reaches it.
}

var (
	addressRoom = headroom{left: addressesLeft} // RLIMIT_AS
	memoryRoom  = headroom{left: memoryLeft}    // RLIMIT_DATA and vm.overcommit_memory=2
)

// Go's heap must be able to grow until the program has dealt with the error: by a share of what the
// process has, and by leastRoom at least, because a small heap grows 4 MiB at a time and by 64 MiB
// of address space.
const (
	leastRoom = 96 << 20
	roomShare = 8 // The room is 1/8 of the writable memory, and at most 1/8 of the limit.

	// Calls between two measurements take at most this much, because the program may lower a limit
	// meanwhile, and at most half of what is left, because Go takes memory, too.
	measureFrom = 32 << 20
)

// errNoRoom is the refusal of a call that the system might still have granted.
var errNoRoom = fmt.Errorf("no memory to spare: %w", unix.ENOMEM)

// take returns errNoRoom if size bytes more would leave less than the room.
func (h *headroom) take(size uintptr) error {
	if h.taken.Add(uint64(size)) < h.next.Load() {
		return nil
	}
	left := h.left()
	h.taken.Store(0)
	if uint64(size) > left {
		h.next.Store(0)
		return errNoRoom
	}
	h.next.Store(min((left-uint64(size))/2, measureFrom))
	return nil
}

// roomBelow is the room for a process with that much writable memory.
func roomBelow(limit, data uint64) uint64 {
	return min(max(leastRoom, data/roomShare), limit/roomShare)
}

func addressesLeft() uint64 {
	limit := softLimit(unix.RLIMIT_AS)
	total, data, ok := processSizes()
	if limit == math.MaxUint64 || !ok {
		return math.MaxUint64
	}
	return above(limit, total+roomBelow(limit, data))
}

func memoryLeft() uint64 {
	left := uint64(math.MaxUint64)
	_, data, ok := processSizes()
	if limit := softLimit(unix.RLIMIT_DATA); limit != math.MaxUint64 && ok {
		left = above(limit, data+roomBelow(limit, data))
	}
	if limit, used, ok := commitCharge(); ok {
		left = min(left, above(limit, used+roomBelow(limit, data)))
	}
	return left
}

// commitCharge returns what the machine may promise to programs, and what it has promised, if it
// does not overcommit. Both reserves are memory that the kernel keeps for administrators and for
// other programs.
func commitCharge() (limit, used uint64, ok bool) {
	if mode, ok := procNumber("/proc/sys/vm/overcommit_memory"); !ok || mode != 2 {
		return 0, 0, false
	}
	limit, ok1 := procField("/proc/meminfo", "CommitLimit:")
	used, ok2 := procField("/proc/meminfo", "Committed_AS:")
	admin, _ := procNumber("/proc/sys/vm/admin_reserve_kbytes")
	user, _ := procNumber("/proc/sys/vm/user_reserve_kbytes")
	return above(limit, (admin+user)<<10), used, ok1 && ok2
}

// above returns a-b, or 0 if b is larger.
func above(a, b uint64) uint64 {
	return a - min(a, b)
}
