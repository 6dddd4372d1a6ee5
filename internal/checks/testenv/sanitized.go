// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"testing"

	"github.com/freehold-go/freehold/internal/sanitize"
)

// Sanitized reports whether a sanitizer is compiled in.
func Sanitized() bool { return sanitize.Enabled }

// MisusesMemory skips a test in a build with a sanitizer: one that touches on purpose what the
// sanitizer forbids, or that needs what its instructions or its address space leave no room for.
func MisusesMemory(t testing.TB) {
	t.Helper()
	if Sanitized() {
		t.Skip("not with a sanitizer compiled in")
	}
}
