// SPDX-License-Identifier: Apache-2.0

//go:build unix

package cache

import (
	"net"
	"syscall"
	"time"
)

// listenUnix opens a socket that only the user of the process may connect to.
func listenUnix(path string) (net.Listener, error) {
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	return net.Listen("unix", path)
}

// cpuTime is the CPU time of the process.
func cpuTime() (user, system time.Duration, ok bool) {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0, 0, false
	}
	return time.Duration(u.Utime.Nano()), time.Duration(u.Stime.Nano()), true
}
