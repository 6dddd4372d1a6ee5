// SPDX-License-Identifier: Apache-2.0

package vmem

import (
	"errors"
	"os"
)

// System returns the memory of the operating system. All values that it returns are one and the
// same.
func System() Memory { return system{} }

// system implements Memory: it checks the arguments, and names the request in errors. The calls of
// each kind of system are in a file of its own.
type system struct{}

// call makes one call on a range of whole pages.
func call(op string, addr, size uintptr, f func(addr, size uintptr) error) error {
	if err := checkRange(op, addr, size); err != nil {
		return err
	}
	return fail(op, addr, size, f(addr, size))
}

// callFile is call for a range that may end anywhere; f gets the size in whole pages.
func callFile(op string, addr, size uintptr, f func(addr, size uintptr) error) error {
	whole, err := checkFile(op, addr, size)
	if err != nil {
		return err
	}
	return fail(op, addr, size, f(addr, whole))
}

// Reserve implements Memory.
func (system) Reserve(size, align uintptr, name string) (uintptr, error) {
	if err := checkReserve(size, align); err != nil {
		return 0, err
	}
	addr, err := reserveRange(size, align, name)
	if err != nil {
		// Alignment may take align more for a moment: a limit that forbids that is the one to name.
		e := fail(OpReserve, 0, size+align-pageSize, err).(*Error)
		e.Size = size
		return 0, e
	}
	return addr, nil
}

// Commit implements Memory.
func (system) Commit(addr, size uintptr) error { return call(OpCommit, addr, size, commit) }

// Purge implements Memory.
func (system) Purge(addr, size uintptr) error { return call(OpPurge, addr, size, purge) }

// Decommit implements Memory.
func (system) Decommit(addr, size uintptr, name string) error {
	return call(OpDecommit, addr, size, func(addr, size uintptr) error { return decommit(addr, size, name) })
}

// SplitHuge implements Memory.
func (system) SplitHuge(addr, size uintptr) error { return call(OpSplitHuge, addr, size, splitHuge) }

// NoHuge implements Memory.
func (system) NoHuge(addr, size uintptr) error { return call(OpNoHuge, addr, size, refuseHuge) }

// Huge implements Memory.
func (system) Huge(addr, size uintptr) error { return call(OpHuge, addr, size, wantHuge) }

// Release implements Memory.
func (system) Release(addr, size uintptr) error { return call(OpRelease, addr, size, release) }

// Protect implements Memory.
func (system) Protect(addr, size uintptr, p Protection) error {
	if p > ReadWrite {
		return &Error{Op: OpProtect, Addr: addr, Size: size, Err: errBadProtection}
	}
	return callFile(OpProtect, addr, size, func(addr, size uintptr) error { return protect(addr, size, p) })
}

// MapFile implements Memory.
func (system) MapFile(f *os.File, offset int64, size uintptr, p Protection) (uintptr, error) {
	if err := checkMapFile(offset, size, p); err != nil {
		return 0, err
	}
	addr, err := mapShared(f, offset, size, p)
	if err != nil {
		return 0, fail(OpMapFile, 0, size, err)
	}
	return addr, nil
}

// SyncFile implements Memory.
func (system) SyncFile(addr, size uintptr) error { return callFile(OpSyncFile, addr, size, syncMap) }

// RetireFile implements Memory.
func (system) RetireFile(addr, size uintptr) error {
	return callFile(OpRetireFile, addr, size, retireMap)
}

// HugePageSize returns the size in bytes of the huge pages that Huge asks for, or 0
// where there are none or the system does not say.
func HugePageSize() uintptr { return hugePageSize() }

// AddressSpaceLimit returns the bytes of address space that this process may map (the soft limit of
// RLIMIT_AS), or math.MaxUint64 if there is no limit. It asks the system each time.
func AddressSpaceLimit() uint64 { return addressSpaceLimit() }

// MachineMemory returns the bytes of memory and swap of the machine, which no program can exceed.
// It is math.MaxUint64 where the system does not say, where Commit is refused by the system if
// there is too little (Linux with vm.overcommit_memory=2, Windows), and where the system is set to
// promise any amount (Linux with vm.overcommit_memory=1). It asks the system each time.
func MachineMemory() uint64 { return machineMemory() }

var (
	errBadRange      = errors.New("the range is empty, wraps around, or is not made of whole pages")
	errBadAlign      = errors.New("the alignment is not a power of two of at least one page")
	errBadProtection = errors.New("unknown protection")
	errBadFileRange  = errors.New("the range is empty, wraps around, or does not start on a page")
)

// checkRange refuses what no system call should see: the kernel would round some of it silently.
func checkRange(op string, addr, size uintptr) error {
	if addr == 0 || size == 0 || (addr|size)&(pageSize-1) != 0 || addr+size < addr {
		return &Error{Op: op, Addr: addr, Size: size, Err: errBadRange}
	}
	return nil
}

// checkReserve refuses sizes and alignments that Reserve cannot serve.
func checkReserve(size, align uintptr) error {
	if size == 0 || size&(pageSize-1) != 0 {
		return &Error{Op: OpReserve, Size: size, Err: errBadRange}
	}
	if align < pageSize || align&(align-1) != 0 {
		return &Error{Op: OpReserve, Size: size, Err: errBadAlign}
	}
	if size+align < size {
		return &Error{Op: OpReserve, Size: size, Err: errNoMemory, Hint: "more than the address space holds"}
	}
	return nil
}

// checkFile refuses ranges of file maps that do not start on a page; they may end anywhere. It
// returns the size in whole pages.
func checkFile(op string, addr, size uintptr) (uintptr, error) {
	whole := (size + pageSize - 1) &^ (pageSize - 1)
	if addr == 0 || size == 0 || addr&(pageSize-1) != 0 || whole < size || addr+whole < addr {
		return 0, &Error{Op: op, Addr: addr, Size: size, Err: errBadFileRange}
	}
	return whole, nil
}

// checkMapFile refuses what MapFile cannot serve.
func checkMapFile(offset int64, size uintptr, p Protection) error {
	if p > ReadWrite {
		return &Error{Op: OpMapFile, Size: size, Err: errBadProtection}
	}
	end := offset + int64(size)
	if size == 0 || int64(size) <= 0 || offset < 0 || uint64(offset)&uint64(pageSize-1) != 0 || end < offset {
		return &Error{Op: OpMapFile, Size: size, Err: errBadFileRange}
	}
	return nil
}
