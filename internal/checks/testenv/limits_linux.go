// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"testing"

	"golang.org/x/sys/unix"
)

// SetLimit sets a soft limit, such as unix.RLIMIT_AS, for the rest of the process.
func SetLimit(t *testing.T, resource int, bytes uint64) {
	t.Helper()
	var r unix.Rlimit
	if err := unix.Getrlimit(resource, &r); err != nil {
		t.Fatal(err)
	}
	r.Cur = bytes
	if err := unix.Setrlimit(resource, &r); err != nil {
		t.Skipf("setrlimit: %v", err)
	}
}
