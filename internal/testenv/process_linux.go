package testenv

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const childVariable = "FREEHOLD_TEST_CHILD"

// InChild runs the calling test again in a process of its own, where limits hold until the process
// ends and nothing has been allocated yet. It returns true there, and false to the parent after the
// child has passed.
func InChild(t *testing.T) bool {
	t.Helper()
	if os.Getenv(childVariable) == t.Name() {
		return true
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(exe, "-test.run=^"+t.Name()+"$", "-test.v", "-test.count=1")
	child.Env = append(os.Environ(), childVariable+"="+t.Name())
	out, err := child.CombinedOutput()
	switch {
	case errors.Is(err, unix.ENOEXEC):
		t.Skip("we are emulated and cannot start ourselves")
	case err != nil:
		t.Fatalf("%v\n%s", err, out)
	case strings.Contains(string(out), "--- SKIP"):
		t.Skipf("in the child:\n%s", out)
	case !strings.Contains(string(out), "--- PASS"):
		t.Fatalf("the child did not run the test:\n%s", out)
	}
	t.Logf("%s", out)
	return false
}

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
