// SPDX-License-Identifier: Apache-2.0

//go:build unix

package sortbuf

import (
	"math"
	"syscall"
)

// openFiles is the number of files that the process may have open.
func openFiles() int {
	var r syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r) != nil {
		return 256
	}
	return int(min(uint64(r.Cur), math.MaxInt32))
}
