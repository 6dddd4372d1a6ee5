// SPDX-License-Identifier: Apache-2.0

package debugmode

import (
	"runtime"
	"strings"
)

// faultStack is the stack of the access if the caller runs in a deferred function after a fault,
// and "" elsewhere: the calls behind the runtime's function that turns a signal into a panic
// (GC-9).
func faultStack() string {
	pcs := make([]uintptr, 128)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	for {
		f, more := frames.Next()
		if !more {
			return ""
		}
		if f.Function == "runtime.sigpanic" {
			return dropRuntime(frameText(frames))
		}
	}
}

// dropRuntime takes away the innermost calls that are the runtime's: a copy or a comparison that it
// makes for the program.
func dropRuntime(stack string) string {
	for {
		rest, found := strings.CutPrefix(stack, "    ")
		if !found || !isRuntime(rest) {
			return stack
		}
		_, rest, _ = strings.Cut(rest, "\n") // the function
		_, rest, _ = strings.Cut(rest, "\n") // its place
		if rest == "" {
			return stack
		}
		stack = rest
	}
}

// dropOuter takes away the runtime's calls at the outer end, which start the program or a
// goroutine.
func dropOuter(stack string) string {
	for {
		at := strings.LastIndex(strings.TrimSuffix(stack, "\n"), "\n    runtime.")
		if at < 0 || strings.Count(stack[at:], "\n") != 3 {
			return stack
		}
		stack = stack[:at+1]
	}
}

func isRuntime(function string) bool {
	for _, prefix := range []string{"runtime.", "internal/runtime/", "internal/bytealg."} {
		if strings.HasPrefix(function, prefix) {
			return true
		}
	}
	return false
}
