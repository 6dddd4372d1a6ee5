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

// Reserve implements Memory.
func (system) Reserve(size, align uintptr, name string) (uintptr, error) {
	if err := checkReserve(size, align); err != nil {
		return 0, err
	}
	err := ready(&addressRoom, size)
	var addr uintptr
	if err == nil {
		addr, err = reserveAligned(size, align)
	}
	if err != nil {
		// Alignment may take align more for a moment: a limit that forbids that is the one to name.
		e := fail(OpReserve, 0, size+align-pageSize, err).(*Error)
		e.Size = size
		return 0, e
	}
	nameRange(addr, size, name)
	return addr, nil
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

// Commit implements Memory.
func (system) Commit(addr, size uintptr) error {
	if err := checkRange(OpCommit, addr, size); err != nil {
		return err
	}
	err := ready(&memoryRoom, size)
	if err == nil {
		err = mprotect(addr, size, unix.PROT_READ|unix.PROT_WRITE)
	}
	return fail(OpCommit, addr, size, err)
}

// Purge implements Memory.
func (system) Purge(addr, size uintptr) error {
	if err := checkRange(OpPurge, addr, size); err != nil {
		return err
	}
	return fail(OpPurge, addr, size, purge(addr, size))
}

// Decommit implements Memory. Changing the protection would need a second call that drops the
// pages, and would leave a mapping of its own if the kernel accounts writable memory.
func (system) Decommit(addr, size uintptr, name string) error {
	if err := checkRange(OpDecommit, addr, size); err != nil {
		return err
	}
	if _, err := mapNone(addr, size, unix.MAP_FIXED); err != nil {
		return fail(OpDecommit, addr, size, err)
	}
	nameRange(addr, size, name)
	return nil
}

// SplitHuge implements Memory.
func (system) SplitHuge(addr, size uintptr) error {
	if err := checkRange(OpSplitHuge, addr, size); err != nil {
		return err
	}
	return fail(OpSplitHuge, addr, size, splitHuge(addr, size))
}

// NoHuge implements Memory.
func (system) NoHuge(addr, size uintptr) error {
	if err := checkRange(OpNoHuge, addr, size); err != nil {
		return err
	}
	return fail(OpNoHuge, addr, size, refuseHuge(addr, size))
}

// Huge implements Memory.
func (system) Huge(addr, size uintptr) error {
	if err := checkRange(OpHuge, addr, size); err != nil {
		return err
	}
	return fail(OpHuge, addr, size, wantHuge(addr, size))
}

// Release implements Memory.
func (system) Release(addr, size uintptr) error {
	if err := checkRange(OpRelease, addr, size); err != nil {
		return err
	}
	return fail(OpRelease, addr, size, munmap(addr, size))
}

// Protect implements Memory.
func (system) Protect(addr, size uintptr, p Protection) error {
	whole, err := checkProtect(addr, size, p)
	if err != nil {
		return err
	}
	return fail(OpProtect, addr, size, mprotect(addr, whole, protBits(p)))
}

// MapFile implements Memory.
func (system) MapFile(f *os.File, offset int64, size uintptr, p Protection) (uintptr, error) {
	if err := checkMapFile(offset, size, p); err != nil {
		return 0, err
	}
	var addr uintptr
	err := withHandle(f, "mmap", func(fd uintptr) (err error) {
		if err = ready(&addressRoom, size); err == nil {
			addr, err = mmap(0, size, protBits(p), unix.MAP_SHARED, int(fd), offset)
		}
		refused(err)
		return err
	})
	if err != nil {
		return 0, fail(OpMapFile, 0, size, err)
	}
	return addr, nil
}

// SyncFile implements Memory.
func (system) SyncFile(addr, size uintptr) error {
	whole, err := checkFile(OpSyncFile, addr, size)
	if err != nil {
		return err
	}
	return fail(OpSyncFile, addr, size, msync(addr, whole))
}

// RetireFile implements Memory. Mapping over the file map replaces it in one step: there is no
// moment at which another mapping could take the range.
func (system) RetireFile(addr, size uintptr) error {
	whole, err := checkFile(OpRetireFile, addr, size)
	if err != nil {
		return err
	}
	if _, err := mapNone(addr, whole, unix.MAP_FIXED); err != nil {
		return fail(OpRetireFile, addr, size, err)
	}
	nameRange(addr, whole, "closed file")
	return nil
}

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
