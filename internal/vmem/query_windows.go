// SPDX-License-Identifier: Apache-2.0

package vmem

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

// reservationEnd returns where the reservation that starts at addr ends. VirtualQuery answers for
// one run of pages in one state, so the runs of one reservation are walked.
func reservationEnd(addr uintptr) (uintptr, error) {
	end := addr
	for {
		var info windows.MemoryBasicInformation
		// SAFETY: only the size is taken; the structure is ordinary Go memory on this stack.
		err := windows.VirtualQuery(end, &info, unsafe.Sizeof(info))
		if err != nil {
			return 0, err
		}
		if info.AllocationBase != addr || info.RegionSize == 0 {
			break
		}
		end += info.RegionSize
	}
	if end == addr {
		return 0, windows.ERROR_INVALID_ADDRESS // addr starts no reservation
	}
	return end, nil
}
