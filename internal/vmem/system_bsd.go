// SPDX-License-Identifier: Apache-2.0

//go:build darwin || freebsd || netbsd || openbsd || dragonfly || solaris || illumos

package vmem

import (
	"math"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// purge maps fresh memory over the range. The madvise of these systems may keep the pages and their
// contents until the machine is short of memory (MADV_FREE) or do nothing at all; this one call
// drops them at once, reads as zeros, and no other mapping can take the range in between.
func purge(addr, size uintptr) error {
	const prot, flags = unix.PROT_READ | unix.PROT_WRITE, unix.MAP_PRIVATE | unix.MAP_ANON | unix.MAP_FIXED
	_, err := mmap(addr, size, prot, flags|mapNoReserve, -1, 0)
	return err
}

// These systems make large pages by themselves where they can, and purge by mapping, which needs no
// split.

func splitHuge(_, _ uintptr) error { return nil }

func wantHuge(_, _ uintptr) error { return nil }

func refuseHuge(_, _ uintptr) error { return nil }

func hugePageSize() uintptr { return 0 }

// nameRange does nothing: these systems show no names for anonymous mappings.
func nameRange(_, _ uintptr, _ string) {}

// ready and refused do nothing: none of these systems counts mappings so closely that Go would
// starve.

func ready(*headroom, uintptr) error { return nil }

func refused(error) {}

// headroom has no meaning on these systems.
type headroom struct{}

var addressRoom, memoryRoom headroom

func machineMemory() uint64 { return math.MaxUint64 }

// addressSpaceLimit reads RLIMIT_AS. Its type is signed on some of these systems, and so is
// infinity.
func addressSpaceLimit() uint64 {
	var r unix.Rlimit
	if rlimitAS < 0 || unix.Getrlimit(rlimitAS, &r) != nil || uint64(r.Cur) >= uint64(unix.RLIM_INFINITY) {
		return math.MaxUint64
	}
	return uint64(r.Cur)
}

// explain knows the one limit that all these systems have.
func explain(_ string, _ uintptr, err error) string {
	if !isNoMemory(err) {
		return ""
	}
	if addressSpaceLimit() != math.MaxUint64 {
		return "the process has a limit on its address space: raise it with ulimit -v"
	}
	return "the address space has no gap of this size, the machine has no memory, or a limit of ulimit -a refuses it"
}

func mprotect(addr, size uintptr, prot int) error {
	b, err := rangeOf(addr, size)
	if err != nil {
		return err
	}
	return unix.Mprotect(b, prot)
}

func msync(addr, size uintptr) error {
	b, err := rangeOf(addr, size)
	if err != nil {
		return err
	}
	return unix.Msync(b, unix.MS_SYNC)
}

// rangeOf dresses a range as the slice that x/sys wants. The system libraries of some of these
// systems are the only way in, so that there is no call by number as on Linux.
func rangeOf(addr, size uintptr) ([]byte, error) {
	if size > math.MaxInt {
		return nil, syscall.EINVAL
	}
	// SAFETY: the range is mapped by us and not Go's, and stays mapped; the slice is passed to one
	// system call, which takes address and length from it and touches no byte.
	return unsafe.Slice((*byte)(foreign(addr)), int(size)), nil
}
