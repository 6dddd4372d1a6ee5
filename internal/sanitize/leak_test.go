// SPDX-License-Identifier: Apache-2.0

//go:build asan && linux && (amd64 || arm64)

package sanitize_test

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// TestLeaksOfC: what only off-heap memory leads to is not a leak to the leak checker, and what
// nothing leads to is.
func TestLeaksOfC(t *testing.T) {
	program := filepath.Join(t.TempDir(), "leakcheck")
	if out, err := exec.Command("go", "build", "-asan", "-o", program, "./testdata/leakcheck").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	if out, err := exec.Command(program).CombinedOutput(); err != nil || len(out) != 0 {
		t.Errorf("one pointer, in off-heap memory: %v\n%s", err, out)
	}
	// The checker takes whatever a register or a stack still holds for a pointer, so that one or
	// the other may be kept. The tenth must not be there.
	lost := regexp.MustCompile(`Direct leak of [5-9]000 byte\(s\) in [5-9] object\(s\)`)
	if out, err := exec.Command(program, "lose").CombinedOutput(); err == nil || !lost.Match(out) {
		t.Errorf("nine pointers lost: %v, want %q in\n%s", err, lost, out)
	}
}
