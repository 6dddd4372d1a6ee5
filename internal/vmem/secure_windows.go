// SPDX-License-Identifier: Apache-2.0

package vmem

import "golang.org/x/sys/windows"

// secure locks the range. Error reports may contain it, and Windows forks no processes.
func secure(addr, size uintptr) (Secrecy, error) {
	err := windows.VirtualLock(addr, size)
	return Secrecy{Locked: err == nil}, err
}
