// SPDX-License-Identifier: Apache-2.0

//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly || solaris || illumos)

package debugmode

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
)

// startWatch reports the missing feature: a process cannot pass open files to another here, or there
// are no processes.
func startWatch() error {
	return fmt.Errorf("no process can watch another on %s; use debug.SetPanicOnFault and freehold.Explain, and list the leaks before the end", runtime.GOOS)
}

// SetCrashOutput is debug.SetCrashOutput.
func SetCrashOutput(f *os.File, opts debug.CrashOptions) error { return debug.SetCrashOutput(f, opts) }
