// SPDX-License-Identifier: Apache-2.0

package vmem

import (
	"fmt"
	"math"

	"golang.org/x/sys/unix"
)

// secure gives all advice before it locks the range, because locking touches every page.
func secure(addr, size uintptr) (s Secrecy, err error) {
	s.NotDumped = madvise(addr, size, unix.MADV_DONTDUMP) == nil
	s.WipedOnFork = madvise(addr, size, unix.MADV_WIPEONFORK) == nil // Since Linux 4.14.
	if err := refuseHuge(addr, size); err != nil {
		return s, err
	}
	if err := rangeCall(unix.SYS_MLOCK, addr, size, 0); err != nil {
		return s, err
	}
	s.Locked = true
	return s, nil
}

// explainLock says why mlock refused. It answers ENOMEM or EPERM at the limit, and EAGAIN
// if the machine has no memory for the pages.
func explainLock(err error) string {
	limit := softLimit(unix.RLIMIT_MEMLOCK)
	if limit == math.MaxUint64 || err == unix.EAGAIN {
		return "the machine has no memory that can be locked"
	}
	locked, _ := procField("/proc/self/status", "VmLck:") // 0 if the system does not say.
	return fmt.Sprintf("RLIMIT_MEMLOCK allows %d bytes of locked memory and %d are locked: raise it with ulimit -l, "+
		"LimitMEMLOCK= in a systemd unit or --ulimit memlock= for a container, or give the process CAP_IPC_LOCK", limit, locked)
}
