// SPDX-License-Identifier: Apache-2.0

package arenasuite

import "runtime/debug"

// unlessItFaults calls f and returns its error, or nil if memory that f uses is inaccessible.
func unlessItFaults(f func() error) error {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil && !isFault(r) {
			panic(r)
		}
	}()
	return f()
}

// isFault says that a panic is that of an access to inaccessible memory, and not to what nil leads
// to.
func isFault(v any) bool {
	f, ok := v.(interface{ Addr() uintptr })
	return ok && f.Addr() >= 1<<12
}
