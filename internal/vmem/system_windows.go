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

// reserveRange cannot trim a reservation here, so a wide one shows where an aligned one would fit,
// is released, and the aligned one is taken in its place.
func reserveRange(size, align uintptr, _ string) (uintptr, error) {
	addr, err := reserveAt(0, size)
	if err != nil || addr&(align-1) == 0 {
		return addr, err
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
	return 0, err
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

// commit keeps the contents of a range that was committed before.
func commit(addr, size uintptr) error {
	_, err := windows.VirtualAlloc(addr, size, windows.MEM_COMMIT, windows.PAGE_READWRITE)
	return err
}

// purge decommits the range and commits it again, because MEM_RESET would keep the charge and
// promise no zeros. Between the two, others may take the memory: see Memory.Purge.
func purge(addr, size uintptr) error {
	if err := decommit(addr, size, ""); err != nil {
		return err
	}
	if err := commit(addr, size); err != nil {
		return fmt.Errorf("given back, but not committed again: %w", err)
	}
	return nil
}

func decommit(addr, size uintptr, _ string) error {
	return windows.VirtualFree(addr, size, windows.MEM_DECOMMIT)
}

// There are no huge pages to ask for, to refuse or to split.

func splitHuge(_, _ uintptr) error { return nil }

func wantHuge(_, _ uintptr) error { return nil }

func refuseHuge(_, _ uintptr) error { return nil }

// release refuses a part of a reservation rather than take it for the whole: the system releases
// whole reservations only.
func release(addr, size uintptr) error {
	end, err := reservationEnd(addr)
	if err == nil && end != addr+size {
		err = fmt.Errorf("the reservation ends at %#x: %w", end, windows.ERROR_INVALID_PARAMETER)
	}
	if err == nil {
		err = windows.VirtualFree(addr, 0, windows.MEM_RELEASE)
	}
	return err
}

func protect(addr, size uintptr, p Protection) error {
	var old uint32
	return windows.VirtualProtect(addr, size, pageProtection(p), &old)
}

// mapShared closes the mapping object at once: the view keeps it.
func mapShared(f *os.File, offset int64, size uintptr, p Protection) (addr uintptr, err error) {
	err = withHandle(f, "MapViewOfFile", func(handle uintptr) (err error) {
		addr, err = mapView(windows.Handle(handle), offset, size, p)
		return err
	})
	return addr, err
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
	return addr, protect(addr, size, None)
}

// syncMap starts the writing; it does not flush the disk's own cache, for which the owner of the
// file calls Sync on it.
func syncMap(addr, size uintptr) error { return windows.FlushViewOfFile(addr, size) }

// retireMap leaves the view, inaccessible, and with it the file open: unmapping and reserving again
// would leave a moment in which Go's heap could take the range.
func retireMap(addr, size uintptr) error {
	if err := syncMap(addr, size); err != nil {
		return err
	}
	return protect(addr, size, None)
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
