// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"strings"
	"testing"
)

// ExpectBroken runs f, which must panic and name the broken rule.
func ExpectBroken(t *testing.T, want string, f func()) {
	t.Helper()
	defer func() {
		err, _ := recover().(error)
		if err == nil || !strings.Contains(err.Error(), "broken invariant") || !strings.Contains(err.Error(), want) {
			t.Errorf("panics with %v, want a broken invariant with %q", err, want)
		}
	}()
	f()
}
