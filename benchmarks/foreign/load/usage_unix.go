//go:build unix

package load

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// processCPU is the CPU time of this process so far, user and system, all threads.
func processCPU() (time.Duration, error) {
	var u syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), err
}

// peakRSS is the largest resident set of this process so far, in bytes.
//
// On Linux it is VmHWM. Getrusage's Maxrss, which is in KiB there, survives execve: a child that is
// smaller than its parent would report the parent's. Elsewhere it is Maxrss: bytes on macOS, KiB on
// the others.
func peakRSS() (int64, error) {
	if f, err := os.Open("/proc/self/status"); err == nil {
		defer f.Close()
		for s := bufio.NewScanner(f); s.Scan(); {
			if rest, ok := strings.CutPrefix(s.Text(), "VmHWM:"); ok {
				var kib int64
				_, err := fmt.Sscan(rest, &kib)
				return kib << 10, err
			}
		}
	}
	var u syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return int64(u.Maxrss), err
	}
	return int64(u.Maxrss) << 10, err
}
