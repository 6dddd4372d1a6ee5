package vmem

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

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
	return fmt.Sprintf("RLIMIT_MEMLOCK allows %d bytes of locked memory and %d are locked: raise it with ulimit -l, "+
		"LimitMEMLOCK= in a systemd unit or --ulimit memlock= for a container, or give the process CAP_IPC_LOCK", limit, lockedBytes())
}

// lockedBytes is what this process has locked.
func lockedBytes() uint64 {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if rest, found := strings.CutPrefix(line, "VmLck:"); found {
			n, _ := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 54) // 0 if it is no number.
			return n << 10
		}
	}
	return 0
}
