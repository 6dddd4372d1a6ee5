// SPDX-License-Identifier: Apache-2.0

package vmem

import (
	"errors"
	"fmt"
	"math"
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

// Supported reports whether this system gives memory outside the Go heap.
const Supported = true

// errNoMemory is this system's answer when there is no memory.
const errNoMemory = windows.ERROR_NOT_ENOUGH_MEMORY

func isNoMemory(err error) bool {
	for _, code := range []syscall.Errno{errNoMemory, windows.ERROR_OUTOFMEMORY, windows.ERROR_COMMITMENT_LIMIT} {
		if errors.Is(err, code) {
			return true
		}
	}
	return false
}

func isDiskFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}

// Windows has large pages only for those with a privilege, and then never gives a part of one back.
func hugePageSize() uintptr { return 0 }

func addressSpaceLimit() uint64 { return math.MaxUint64 }

func machineMemory() uint64 { return math.MaxUint64 }

func explain(op string, _ uintptr, err error) string {
	switch {
	case !isNoMemory(err):
		return ""
	case errors.Is(err, windows.ERROR_COMMITMENT_LIMIT):
		return "the commit limit is reached, which is memory and page files: enlarge the page file or use less"
	case op == OpReserve:
		return "the address space has no gap of this size, or a job object limits the process"
	}
	return "the machine has no memory, or a job object limits the process"
}

// reserveTries bounds the search for an aligned range; each try is lost only to another thread that
// takes the range between two calls.
const reserveTries = 64

// Reserve implements Memory. A reservation cannot be trimmed here, so a wide one shows where an
// aligned one would fit, is released, and the aligned one is taken in its place.
func (system) Reserve(size, align uintptr, _ string) (uintptr, error) {
	if err := checkReserve(size, align); err != nil {
		return 0, err
	}
	addr, err := reserveAt(0, size)
	if err != nil || addr&(align-1) == 0 {
		return addr, fail(OpReserve, 0, size, err)
	}
	err = windows.VirtualFree(addr, 0, windows.MEM_RELEASE)
	for try := 0; err == nil && try < reserveTries; try++ {
		var wide uintptr
		if wide, err = reserveAt(0, size+align); err != nil {
			break
		}
		if err = windows.VirtualFree(wide, 0, windows.MEM_RELEASE); err != nil {
			break
		}
		if addr, takenErr := reserveAt((wide+align-1)&^(align-1), size); takenErr == nil {
			return addr, nil
		}
	}
	if err == nil {
		err = fmt.Errorf("no aligned range after %d tries: %w", reserveTries, errNoMemory)
	}
	return 0, fail(OpReserve, 0, size, err)
}

// reserveAt is the system call. Its arguments were checked, so that an invalid one can only be a
// size which goes beyond the address space.
func reserveAt(addr, size uintptr) (uintptr, error) {
	addr, err := windows.VirtualAlloc(addr, size, windows.MEM_RESERVE, windows.PAGE_NOACCESS)
	if errors.Is(err, windows.ERROR_INVALID_PARAMETER) {
		err = fmt.Errorf("%w (%w)", errNoMemory, err)
	}
	return addr, err
}

// Commit implements Memory. A second Commit of a range keeps its contents.
func (system) Commit(addr, size uintptr) error {
	if err := checkRange(OpCommit, addr, size); err != nil {
		return err
	}
	return fail(OpCommit, addr, size, commit(addr, size))
}

func commit(addr, size uintptr) error {
	_, err := windows.VirtualAlloc(addr, size, windows.MEM_COMMIT, windows.PAGE_READWRITE)
	return err
}

// Purge implements Memory. MEM_RESET would keep the charge and promise no zeros, so the range is
// decommitted and committed again. Between the two, others may take the memory: see Memory.Purge.
func (system) Purge(addr, size uintptr) error {
	if err := checkRange(OpPurge, addr, size); err != nil {
		return err
	}
	if err := windows.VirtualFree(addr, size, windows.MEM_DECOMMIT); err != nil {
		return fail(OpPurge, addr, size, err)
	}
	if err := commit(addr, size); err != nil {
		return fail(OpPurge, addr, size, fmt.Errorf("given back, but not committed again: %w", err))
	}
	return nil
}

// Decommit implements Memory.
func (system) Decommit(addr, size uintptr, _ string) error {
	if err := checkRange(OpDecommit, addr, size); err != nil {
		return err
	}
	return fail(OpDecommit, addr, size, windows.VirtualFree(addr, size, windows.MEM_DECOMMIT))
}

// SplitHuge implements Memory: there is nothing to split.
func (system) SplitHuge(addr, size uintptr) error { return checkRange(OpSplitHuge, addr, size) }

// NoHuge implements Memory: there are no huge pages to refuse.
func (system) NoHuge(addr, size uintptr) error { return checkRange(OpNoHuge, addr, size) }

// Huge implements Memory: there are no huge pages to ask for.
func (system) Huge(addr, size uintptr) error { return checkRange(OpHuge, addr, size) }

// Release implements Memory. The system releases whole reservations only, so a part is refused
// rather than taken for the whole.
func (system) Release(addr, size uintptr) error {
	if err := checkRange(OpRelease, addr, size); err != nil {
		return err
	}
	end, err := reservationEnd(addr)
	if err == nil && end != addr+size {
		err = fmt.Errorf("the reservation ends at %#x: %w", end, windows.ERROR_INVALID_PARAMETER)
	}
	if err == nil {
		err = windows.VirtualFree(addr, 0, windows.MEM_RELEASE)
	}
	return fail(OpRelease, addr, size, err)
}

// Protect implements Memory.
func (system) Protect(addr, size uintptr, p Protection) error {
	whole, err := checkProtect(addr, size, p)
	if err != nil {
		return err
	}
	var old uint32
	return fail(OpProtect, addr, size, windows.VirtualProtect(addr, whole, pageProtection(p), &old))
}

// MapFile implements Memory. The mapping object may be closed at once: the view keeps it.
func (system) MapFile(f *os.File, offset int64, size uintptr, p Protection) (uintptr, error) {
	if err := checkMapFile(offset, size, p); err != nil {
		return 0, err
	}
	var addr uintptr
	err := withHandle(f, "MapViewOfFile", func(handle uintptr) (err error) {
		addr, err = mapView(windows.Handle(handle), offset, size, p)
		return err
	})
	if err != nil {
		return 0, fail(OpMapFile, 0, size, err)
	}
	return addr, nil
}

func mapView(file windows.Handle, offset int64, size uintptr, p Protection) (uintptr, error) {
	end := uint64(offset) + uint64(size)
	prot, access := uint32(windows.PAGE_READONLY), uint32(windows.FILE_MAP_READ)
	if p == ReadWrite {
		prot, access = windows.PAGE_READWRITE, windows.FILE_MAP_READ|windows.FILE_MAP_WRITE
	}
	section, err := windows.CreateFileMapping(file, nil, prot, uint32(end>>32), uint32(end), nil)
	if err != nil {
		return 0, err
	}
	defer windows.CloseHandle(section)
	addr, err := windows.MapViewOfFile(section, access, uint32(uint64(offset)>>32), uint32(offset), size)
	if err != nil || p != None {
		return addr, err
	}
	var old uint32
	return addr, windows.VirtualProtect(addr, size, windows.PAGE_NOACCESS, &old)
}

// SyncFile implements Memory. FlushViewOfFile starts the writing; it does not flush the disk's own
// cache, for which the owner of the file calls Sync on it.
func (system) SyncFile(addr, size uintptr) error {
	if _, err := checkFile(OpSyncFile, addr, size); err != nil {
		return err
	}
	return fail(OpSyncFile, addr, size, windows.FlushViewOfFile(addr, size))
}

// RetireFile implements Memory. Unmapping and reserving again would leave a moment in which Go's
// heap could take the range, so the view stays, inaccessible, and with it the file stays open.
func (system) RetireFile(addr, size uintptr) error {
	whole, err := checkFile(OpRetireFile, addr, size)
	if err != nil {
		return err
	}
	if err := windows.FlushViewOfFile(addr, size); err != nil {
		return fail(OpRetireFile, addr, size, err)
	}
	var old uint32
	return fail(OpRetireFile, addr, size, windows.VirtualProtect(addr, whole, windows.PAGE_NOACCESS, &old))
}

func pageProtection(p Protection) uint32 {
	switch p {
	case Read:
		return windows.PAGE_READONLY
	case ReadWrite:
		return windows.PAGE_READWRITE
	}
	return windows.PAGE_NOACCESS
}
