// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"cmp"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

const childVariable = "FREEHOLD_TEST_CHILD"

// UnderQEMU says that FREEHOLD_TEST_EMULATED is set: the test runs in qemu's user mode. qemu drops
// most advice to the kernel (madvise), and its copy for a program that the test starts hangs now
// and then on a lock that another thread had.
func UnderQEMU() bool { return os.Getenv("FREEHOLD_TEST_EMULATED") != "" }

// StartsPrograms skips a test that starts programs on systems that cannot start any, and under
// UnderQEMU.
func StartsPrograms(t testing.TB) {
	t.Helper()
	switch {
	case runtime.GOOS == "js" || runtime.GOOS == "wasip1":
		t.Skip("a process cannot start another here")
	case UnderQEMU():
		t.Skip("we are emulated and do not start programs")
	}
}

// InChild runs the calling test again in a process of its own, where limits hold until the process
// ends and nothing has been allocated yet, with the variables env (name=value) besides those of
// this one. It returns true there, and false to the parent after the child has passed.
func InChild(t *testing.T, env ...string) bool {
	t.Helper()
	if os.Getenv(childVariable) == t.Name() {
		return true
	}
	StartsPrograms(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(exe, "-test.run=^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$", "-test.v", "-test.count=1")
	race := cmp.Or(os.Getenv("GORACE"), "atexit_sleep_ms=0") // Or the race detector waits for a second at the end.
	child.Env = append(append(os.Environ(), childVariable+"="+t.Name(), "GORACE="+race), env...)
	out, err := child.CombinedOutput()
	switch {
	case err != nil && Emulated(err):
		t.Skip("we are emulated and cannot start ourselves")
	case err != nil:
		t.Fatalf("%v\n%s", err, out)
	case strings.Contains(string(out), "--- SKIP: "+t.Name()+" "):
		t.Skipf("in the child:\n%s", out)
	case !strings.Contains(string(out), "--- PASS: "+t.Name()+" "):
		t.Fatalf("the child did not run the test:\n%s", out)
	}
	t.Logf("%s", out)
	return false
}

// Emulated says whether err, of starting a program of the system for which the test is built, means
// that an emulator runs us which the kernel does not know of.
func Emulated(err error) bool { return strings.Contains(err.Error(), "exec format error") }
