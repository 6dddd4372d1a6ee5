// SPDX-License-Identifier: Apache-2.0

package vmem

import "os"

// Memory is a source of address space and pages. [System] is the real one, [Fake] one that fails on
// demand.
type Memory interface {
	// Reserve takes size bytes of address space, aligned to align, a power of two of at least
	// PageSize. The range is inaccessible and takes no memory; it does count against RLIMIT_AS.
	// Where the kernel can show names for mappings, as Linux does in /proc/self/maps, it shows
	// "freehold " and name; the whole reservation bears one name, so that its mappings still merge.
	Reserve(size, align uintptr, name string) (uintptr, error)

	// Commit makes a reserved range readable and writable. A fresh range reads as zeros; a range
	// that is committed already keeps what it holds. Where the machine does not overcommit, this is
	// the call that is refused.
	Commit(addr, size uintptr) error

	// Purge gives the pages of a committed range back to the machine. The range stays committed and
	// reads as zeros. Windows, and it alone, may refuse the pages anew: the range is then reserved
	// and no longer committed, and the error says so.
	Purge(addr, size uintptr) error

	// Decommit makes a committed range what it was when it was reserved: inaccessible and without
	// memory. On Unix it is mapped anew in place, so that it becomes one mapping with reserved
	// neighbours; name is that of the reservation, because kernels that show names keep mappings of
	// different ones apart.
	Decommit(addr, size uintptr, name string) error

	// SplitHuge splits every huge page that holds a page of the range, so that a Purge of a part of
	// it returns memory to the machine. Contents stay as they are. A huge page takes about 0.15 ms.
	// Where there is nothing to split, or the system (Linux before 5.4) does not know how, it does
	// nothing. NoHuge comes first: in a range that still wishes for huge pages khugepaged may fill
	// the holes again at any moment.
	SplitHuge(addr, size uintptr) error

	// Huge asks for huge pages when the range is first touched. It does nothing where there are
	// none. Linux keeps the wish with the mapping: asking for a whole reservation keeps that one
	// mapping.
	Huge(addr, size uintptr) error

	// NoHuge takes the wish back and keeps the system from making huge pages of the range by
	// itself, which would bring purged pages back to life. Huge pages that are there stay.
	NoHuge(addr, size uintptr) error

	// Release unmaps a range that Reserve returned and that no block was ever allocated from; on
	// Windows it must be the whole of it, elsewhere any part.
	Release(addr, size uintptr) error

	// Protect sets what a committed range or a file map may be used for. Contents stay.
	Protect(addr, size uintptr, p Protection) error

	// MapFile maps size bytes of f from offset, shared: writes reach the file and other mappings of
	// it. size need not be a multiple of PageSize; offset must be, and on Windows of 64 KiB. The
	// file must be at least offset+size long: touching pages beyond its end raises SIGBUS. f may be
	// closed afterwards.
	MapFile(f *os.File, offset int64, size uintptr, p Protection) (uintptr, error)

	// SyncFile returns when all data written to the mapped range has reached the file on disk.
	SyncFile(addr, size uintptr) error

	// RetireFile ends the use of a file map: the range becomes inaccessible address space, in place
	// and for as long as the process lives. On Windows the file stays open until then.
	RetireFile(addr, size uintptr) error
}

// Protection is what a range may be used for.
type Protection uint8

// The protections. The zero value is the strictest.
const (
	None      Protection = iota // any access faults
	Read                        // writes fault
	ReadWrite                   // nothing faults
)

// String returns the name of the constant.
func (p Protection) String() string {
	switch p {
	case None:
		return "None"
	case Read:
		return "Read"
	case ReadWrite:
		return "ReadWrite"
	}
	return "invalid protection"
}

// pageSize is read once: os.Getpagesize is a call, and every range is checked against it.
var pageSize = uintptr(os.Getpagesize())

// PageSize returns the size in bytes of a page of the operating system.
func PageSize() uintptr { return pageSize }
