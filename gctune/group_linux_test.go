// SPDX-License-Identifier: Apache-2.0

package gctune_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/freehold-go/freehold/internal/machine"
)

// memoryGroup makes a control group with a limit on memory below the test's own, and removes it
// when the test has ended and the group is empty. It returns the group's directory: a process joins
// by writing its number to the file cgroup.procs there. Where no group can be made the test is
// skipped, with a line that says how one can be had.
func memoryGroup(t *testing.T, bytes int64) (dir string) {
	t.Helper()
	version, dirs := machine.Groups(os.DirFS("/"))
	if version == 0 {
		t.Skip("no memory controller can be seen; run as root in a control group that has one")
	}
	dir = fmt.Sprintf("/%s/freehold-test-%d-%s", dirs[0], os.Getpid(), filepath.Base(t.Name()))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skipf("%v: run as root, or in a delegated group (systemd-run --user --scope -p Delegate=memory go test …)", err)
	}
	t.Cleanup(func() {
		err := os.Remove(dir)
		for range 6000 { // A process that was killed may be on its way out.
			if err == nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
			err = os.Remove(dir)
		}
		t.Errorf("a control group stays behind: %v", err)
	})
	if err := limitGroup(dir, bytes); err != nil {
		// Version 2 gives a group the controller only if its parent passes it on, which it cannot
		// while processes are in it.
		t.Skipf("%v: the group of this test does not pass the memory controller on; run it in a group below one with +memory in cgroup.subtree_control", err)
	}
	// Without this the kernel would swap before it kills. Not every kernel has it.
	_ = os.WriteFile(filepath.Join(dir, [...]string{1: "memory.swappiness", 2: "memory.swap.max"}[version]), []byte("0\n"), 0)
	return dir
}

// limitGroup sets the limit of a group that memoryGroup made.
func limitGroup(dir string, bytes int64) error {
	var first error
	for _, file := range []string{"memory.max", "memory.limit_in_bytes"} { // One of them is there.
		f, err := os.OpenFile(filepath.Join(dir, file), os.O_WRONLY, 0)
		if err == nil {
			_, err = fmt.Fprintln(f, bytes)
			return errors.Join(err, f.Close())
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// joinGroup moves the calling process into a group. Memory that it has touched before stays on the
// account of the former one.
func joinGroup(dir string) error {
	return os.WriteFile(filepath.Join(dir, "cgroup.procs"), fmt.Appendln(nil, os.Getpid()), 0)
}
