// SPDX-License-Identifier: Apache-2.0

//go:build unix

package demo

import (
	"os"
	"runtime"
	"syscall"
)

// stopKills reports whether stop leaves a process no time to end by itself.
const stopKills = false

func stop(p *os.Process) error { return p.Signal(syscall.SIGTERM) }

// peakRSS is in bytes, and 0 if the system does not say it.
func peakRSS(s *os.ProcessState) int64 {
	u, ok := s.SysUsage().(*syscall.Rusage)
	switch {
	case !ok:
		return 0
	case runtime.GOOS == "darwin" || runtime.GOOS == "ios": // bytes there, KiB elsewhere
		return int64(u.Maxrss)
	}
	return int64(u.Maxrss) << 10
}
