// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin

package debugmode

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/freehold-go/freehold/internal/checks/testenv"
)

// TestFaultInC checks that a fault in C has a report: Go writes another text there than for its
// own.
func TestFaultInC(t *testing.T) {
	testenv.MisusesMemory(t)
	testenv.StartsPrograms(t)
	if testing.Short() {
		t.Skip("builds a program with cgo")
	}
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("there is no compiler for C")
	}
	program := filepath.Join(t.TempDir(), "cfault")
	build := exec.Command("go", "build", "-o", program, "./testdata/cfault")
	build.Env = append(os.Environ(), "CGO_ENABLED=1")
	if out, err := build.CombinedOutput(); err != nil {
		t.Skipf("no program with cgo can be built here: %v\n%s", err, out)
	}
	run := exec.Command(program)
	run.Env = append(os.Environ(), "FREEHOLD=guard", "GOTRACEBACK=single")
	out, err := run.CombinedOutput()
	want := `(?s)\n\nfreehold: use after Free: access 7 bytes into a block of 100 bytes \(\[\]byte, offheap\) that was freed
  accessed by goroutine 1:
    main\._Cfunc_readByte
.*  allocated by goroutine 1:
.*  freed by goroutine 1, by offheap\.Free:
`
	if err == nil || !regexp.MustCompile(want).Match(out) {
		t.Errorf("%v:\n%s\nwant %s", err, out, want)
	}
}
