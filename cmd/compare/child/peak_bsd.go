// SPDX-License-Identifier: Apache-2.0

//go:build unix && !linux

package child

import (
	"os"
	"runtime"
	"syscall"
)

// usagePeak reads ru_maxrss, which is in bytes on Apple's systems, in KiB on the BSDs, and not kept
// elsewhere.
func usagePeak(state *os.ProcessState) float64 {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	peak := float64(usage.Maxrss)
	if runtime.GOOS != "darwin" && runtime.GOOS != "ios" {
		peak *= 1024
	}
	return peak
}
