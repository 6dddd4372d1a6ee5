// SPDX-License-Identifier: Apache-2.0

// Package invariants says whether the library checks its own state while it runs.
//
// The build tag invariants turns the checks on, and the race detector does. Each is a function
// called check… that begins with a branch on [Enabled], a constant: where checks are off, the
// compiler drops function and call. They stand at the ends of slow paths, never on a fast one. They
// find bugs of freehold, and memory that code overwrote through unsafe; the program's own mistakes
// have errors of their own.
package invariants

import "fmt"

// Broken panics with a message formatted by fmt.Sprintf.
func Broken(format string, args ...any) {
	panic(fmt.Errorf("freehold: internal error: broken invariant: "+format, args...))
}
