// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly || solaris || illumos

package vmem

import (
	"errors"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Supported reports whether this system gives memory outside the Go heap.
const Supported = true

// errNoMemory is this system's answer when there is no memory or address space.
const errNoMemory = syscall.ENOMEM

func isNoMemory(err error) bool { return errors.Is(err, errNoMemory) }

func isDiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

func reserveRange(size, align uintptr, name string) (uintptr, error) {
	if err := ready(&addressRoom, size); err != nil {
		return 0, err
	}
	addr, err := reserveAligned(size, align)
	if err == nil {
		nameRange(addr, size, name)
	}
	return addr, err
}

// reserveAligned first asks for just the size, because kernels often align large mappings by
// themselves and a limit may leave no room for more. Otherwise it takes align more and trims both
// ends.
func reserveAligned(size, align uintptr) (uintptr, error) {
	addr, err := mapNone(0, size, 0)
	if err != nil || addr&(align-1) == 0 {
		return addr, err
	}
	if err := munmap(addr, size); err != nil {
		return 0, err
	}
	extra := align - pageSize
	wide, err := mapNone(0, size+extra, 0)
	if err != nil {
		return 0, err
	}
	addr = (wide + align - 1) &^ (align - 1)
	if err := munmap(wide, addr-wide); err != nil {
		return 0, errors.Join(err, munmap(wide, size+extra))
	}
	if err := munmap(addr+size, wide+extra-addr); err != nil {
		return 0, errors.Join(err, munmap(addr, wide+size+extra-addr))
	}
	return addr, nil
}

func commit(addr, size uintptr) error {
	if err := ready(&memoryRoom, size); err != nil {
		return err
	}
	return mprotect(addr, size, unix.PROT_READ|unix.PROT_WRITE)
}

// decommit maps anew: changing the protection would need a second call that drops the pages, and
// would leave a mapping of its own if the kernel accounts writable memory.
func decommit(addr, size uintptr, name string) error {
	_, err := mapNone(addr, size, unix.MAP_FIXED)
	if err == nil {
		nameRange(addr, size, name)
	}
	return err
}

func release(addr, size uintptr) error { return munmap(addr, size) }

func protect(addr, size uintptr, p Protection) error { return mprotect(addr, size, protBits(p)) }

func mapShared(f *os.File, offset int64, size uintptr, p Protection) (addr uintptr, err error) {
	err = withHandle(f, "mmap", func(fd uintptr) (err error) {
		if err = ready(&addressRoom, size); err == nil {
			addr, err = mmap(0, size, protBits(p), unix.MAP_SHARED, int(fd), offset)
		}
		refused(err)
		return err
	})
	return addr, err
}

func syncMap(addr, size uintptr) error { return msync(addr, size) }

// retireMap maps over the file map and so replaces it in one step: there is no moment at which
// another mapping could take the range.
func retireMap(addr, size uintptr) error { return decommit(addr, size, "closed file") }

// mapNone maps inaccessible address space, at addr if flags hold MAP_FIXED.
func mapNone(addr, size uintptr, flags int) (uintptr, error) {
	return mmap(addr, size, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|mapNoReserve|flags, -1, 0)
}

// mmap is the system call.
func mmap(addr, size uintptr, prot, flags, fd int, offset int64) (uintptr, error) {
	p, err := unix.MmapPtr(fd, offset, foreign(addr), size, prot, flags)
	if err != nil {
		return 0, err
	}
	return uintptr(p), nil
}

// munmap is the system call; an empty range is nothing to do.
func munmap(addr, size uintptr) error {
	if size == 0 {
		return nil
	}
	return unix.MunmapPtr(foreign(addr), size)
}

// foreign makes a pointer of an address that lies outside Go's memory, for the calls that want one.
func foreign(addr uintptr) unsafe.Pointer {
	// SAFETY: addr is 0 or lies in a mapping of ours, where Go has no objects: the collector looks
	// the pointer up, finds no span and forgets it. The pointer only lives until the system call.
	return *(*unsafe.Pointer)(unsafe.Pointer(&addr))
}

func protBits(p Protection) int {
	switch p {
	case Read:
		return unix.PROT_READ
	case ReadWrite:
		return unix.PROT_READ | unix.PROT_WRITE
	}
	return unix.PROT_NONE
}
