//go:build unix

package load

import (
	"syscall"
	"time"
)

// processCPU is the CPU time of this process so far, user and system, all threads.
func processCPU() (time.Duration, error) {
	var u syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), err
}
