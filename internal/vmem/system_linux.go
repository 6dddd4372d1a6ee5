// SPDX-License-Identifier: Apache-2.0

package vmem

import (
	"errors"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mapNoReserve keeps reservations out of the kernel's commit charge. Under vm.overcommit_memory=2
// the kernel ignores the flag, so that Commit is charged and refused honestly.
const mapNoReserve = unix.MAP_NORESERVE

// purge drops the pages. MADV_FREE would be cheaper, but keeps them in the resident set until the
// machine is short of memory, and reads may see the old contents.
func purge(addr, size uintptr) error {
	return madvise(addr, size, unix.MADV_DONTNEED)
}

// splitHuge uses a side effect of MADV_COLD: on a part of a huge page the kernel splits the page
// before it deactivates that part, while on a whole one it only deactivates. So one small page of
// each huge page is advised. That page is of our range: what lies before and behind may not be
// ours.
func splitHuge(addr, size uintptr) error {
	huge := hugePageSize()
	if huge <= pageSize {
		return nil
	}
	for end := addr + size; addr < end; {
		err := madvise(addr, pageSize, unix.MADV_COLD)
		if errors.Is(err, unix.EINVAL) {
			return nil // Linux before 5.4, or pages locked in memory, which no purge returns anyway
		}
		if err != nil {
			return err
		}
		next := (addr + huge) &^ (huge - 1)
		if next < addr {
			return nil // the last huge page of the address space
		}
		addr = next
	}
	return nil
}

func wantHuge(addr, size uintptr) error {
	err := madvise(addr, size, unix.MADV_HUGEPAGE)
	if errors.Is(err, unix.EINVAL) {
		return nil // a kernel without transparent huge pages
	}
	return err
}

// refuseHuge stops khugepaged, which otherwise fills the holes that purges leave and makes the page
// huge again.
func refuseHuge(addr, size uintptr) error {
	err := madvise(addr, size, unix.MADV_NOHUGEPAGE)
	if errors.Is(err, unix.EINVAL) {
		return nil // a kernel without transparent huge pages
	}
	return err
}

// hugePageSize asks the kernel once: the size belongs to the processor and the kernel's build.
var hugePageSize = sync.OnceValue(func() uintptr {
	b, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size")
	if err != nil {
		return 0
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 0)
	if err != nil || n&(n-1) != 0 {
		return 0
	}
	return uintptr(n)
})

func addressSpaceLimit() uint64 { return softLimit(unix.RLIMIT_AS) }

// machineMemory is what the kernel compares with before it promises memory, unless it was told not
// to.
func machineMemory() uint64 {
	var info unix.Sysinfo_t
	if mode, ok := procNumber("/proc/sys/vm/overcommit_memory"); ok && mode != 0 || unix.Sysinfo(&info) != nil {
		return math.MaxUint64
	}
	return (uint64(info.Totalram) + uint64(info.Totalswap)) * uint64(info.Unit)
}

// softLimit returns a resource limit in bytes, math.MaxUint64 if there is none.
func softLimit(resource int) uint64 {
	var r unix.Rlimit
	if err := unix.Getrlimit(resource, &r); err != nil {
		return math.MaxUint64
	}
	return r.Cur // RLIM_INFINITY is math.MaxUint64, on 32-bit systems too
}

// nameRange names a mapping in /proc/self/maps. Names are a help for people, and kernels before
// 5.17 or built without CONFIG_ANON_VMA_NAME refuse them: such a kernel is not asked again. Other
// errors are ignored.
func nameRange(addr, size uintptr, name string) {
	if unnamed.Load() {
		return
	}
	// The functions that make C strings look for a NUL in steps of 16 bytes, which Valgrind takes
	// for reads beyond the end.
	text := append([]byte("freehold "), name...)
	text = append(text, 0)
	// SAFETY: it points to a NUL-terminated text that the conversion in the call keeps alive; the
	// kernel copies it.
	err := unix.Prctl(unix.PR_SET_VMA, unix.PR_SET_VMA_ANON_NAME, addr, size, uintptr(unsafe.Pointer(&text[0])))
	if err == unix.EINVAL {
		unnamed.Store(true)
	}
}

// unnamed says that the kernel knows no names.
var unnamed atomic.Bool

// The calls below take the address as the number that it is; x/sys wants slices, which on 32-bit
// systems cannot be longer than 2 GiB.

func mprotect(addr, size uintptr, prot int) error {
	return rangeCall(unix.SYS_MPROTECT, addr, size, uintptr(prot))
}

func madvise(addr, size uintptr, advice int) error {
	return rangeCall(unix.SYS_MADVISE, addr, size, uintptr(advice))
}

func msync(addr, size uintptr) error {
	return rangeCall(unix.SYS_MSYNC, addr, size, unix.MS_SYNC)
}

// rangeCall makes one of the system calls that take an address, a size and a number.
func rangeCall(trap, addr, size, arg uintptr) error {
	for {
		_, _, errno := unix.Syscall(trap, addr, size, arg)
		switch errno {
		case 0:
			return nil
		case unix.EINTR:
			// A signal, such as the profiler's; all these calls may be repeated.
		default:
			return errno
		}
	}
}
