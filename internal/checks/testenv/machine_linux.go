// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// OnFileSystem runs f in a fresh directory on a file system of its own, such as a tmpfs with
// "size=2m", which only f's goroutine sees. f must not call t.FailNow or what calls it.
func OnFileSystem(t *testing.T, kind, options string, f func(dir string)) {
	t.Helper()
	dir := t.TempDir()
	done := make(chan error)
	go func() {
		// The thread's view of the file systems is changed for good: never unlocked, it ends with
		// us.
		runtime.LockOSThread()
		err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS)
		if err == nil {
			err = unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
		}
		if err == nil {
			err = unix.Mount(kind, dir, kind, 0, options)
		}
		if err == nil {
			defer func() { done <- nil }()
			f(dir)
			return
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Skipf("mounting takes root: %v", err)
	}
}

// RefuseOvercommit makes the kernel grant no more than room bytes above what it has promised, until
// the test ends. That holds for the whole machine, so it must be asked for, and room should be so
// much (8 TiB) that no other code needs it.
func RefuseOvercommit(t *testing.T, room uint64) {
	t.Helper()
	const ask = "FREEHOLD_TEST_SYSCTL"
	if os.Getenv(ask) != "1" {
		t.Skipf("set %s=1 and be root to let this test set vm.overcommit_memory for a moment", ask)
	}
	info, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		t.Skip(err)
	}
	_, line, found := bytes.Cut(info, []byte("Committed_AS:"))
	var used uint64 // In KiB.
	if _, err := fmt.Sscan(string(line), &used); !found || err != nil {
		t.Skipf("no Committed_AS: %v", err)
	}
	ratio, _ := Sysctl("overcommit_ratio")
	setSysctl(t, "overcommit_kbytes", used+room>>10)
	if ratio != 0 {
		// The kernel keeps one of the two and sets the other to 0: this restores both.
		t.Cleanup(func() {
			if err := writeSysctl("overcommit_ratio", ratio); err != nil {
				t.Error(err)
			}
		})
	}
	setSysctl(t, "overcommit_memory", 2)
}

// Sysctl reads a number below /proc/sys/vm, if there is one of that name.
func Sysctl(name string) (uint64, bool) {
	b, err := os.ReadFile("/proc/sys/vm/" + name)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	return n, err == nil
}

// setSysctl sets a number and puts the old one back at the end of the test.
func setSysctl(t *testing.T, name string, n uint64) {
	t.Helper()
	old, ok := Sysctl(name)
	if !ok {
		t.Skipf("no vm.%s", name)
	}
	if err := writeSysctl(name, n); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		if now, _ := Sysctl(name); now != old {
			if err := writeSysctl(name, old); err != nil {
				t.Error(err)
			}
		}
	})
}

func writeSysctl(name string, n uint64) error {
	return os.WriteFile("/proc/sys/vm/"+name, fmt.Appendln(nil, n), 0o644)
}
