//go:build unix

package main

import (
	"os"
	"runtime"
	"syscall"
)

// peak is the largest resident set of a process that has ended, in bytes. On Linux it is at least
// this process's own: Maxrss survives execve.
func peak(s *os.ProcessState) int64 {
	u, ok := s.SysUsage().(*syscall.Rusage)
	switch {
	case !ok:
		return 0
	case runtime.GOOS == "darwin":
		return int64(u.Maxrss) // bytes; the others have KiB
	}
	return int64(u.Maxrss) << 10
}
