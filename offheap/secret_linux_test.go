// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/freehold-go/freehold/internal/checks/testenv"
)

// flagsAt are the flags that the kernel shows for the mapping of an address.
func flagsAt(t *testing.T, addr uintptr) []string {
	t.Helper()
	b, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Skipf("no smaps: %v", err)
	}
	inside := false
	for line := range strings.Lines(string(b)) {
		var lo, hi uintptr
		if n, _ := fmt.Sscanf(line, "%x-%x ", &lo, &hi); n == 2 {
			inside = lo <= addr && addr < hi
		}
		if flags, found := strings.CutPrefix(line, "VmFlags:"); found && inside {
			return strings.Fields(flags)
		}
	}
	t.Skip("the kernel shows no flags of mappings")
	return nil
}

// TestSecretFlags: the kernel says that a secret's pages are locked, not dumped and wiped in
// children.
func TestSecretFlags(t *testing.T) {
	if testenv.UnderQEMU() {
		t.Skip("qemu does not pass advice on to the kernel")
	}
	p := secrets(t)
	want, err := p.Protection()
	if err != nil {
		t.Fatal(err)
	}
	if want != (Protection{Guarded: true, Locked: true, NotDumped: true, WipedOnFork: true}) {
		t.Errorf("Protection says %+v", want)
	}
	b := p.Alloc(10_000)
	defer Free(b)
	for _, addr := range []uintptr{addrOf(b), addrOf(b) + 9999} {
		flags := " " + strings.Join(flagsAt(t, addr), " ") + " "
		for flag, meaning := range map[string]string{"lo": "locked", "dd": "not dumped", "wf": "wiped on fork"} {
			if !strings.Contains(flags, " "+flag+" ") {
				t.Errorf("the mapping at %#x is not %s; its flags are%s", addr, meaning, flags)
			}
		}
		if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err == nil && !strings.Contains(flags, " nh ") {
			t.Errorf("the mapping at %#x may be in huge pages; its flags are%s", addr, flags)
		}
	}
}

// TestSecretLimit: past RLIMIT_MEMLOCK an allocation fails, says which limit it is and how much is
// locked, and works again after a free.
func TestSecretLimit(t *testing.T) {
	if !testenv.InChild(t) {
		return
	}
	runtime.LockOSThread() // Capabilities are the thread's.
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		t.Fatal(err)
	}
	const most = 64 << 10
	testenv.SetLimit(t, unix.RLIMIT_MEMLOCK, most)
	p := secrets(t)
	var blocks [][]byte
	for range most/4096 + 1 {
		b, err := p.TryAlloc(32)
		if err == nil {
			blocks = append(blocks, b)
			continue
		}
		if !errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), "RLIMIT_MEMLOCK allows 65536 bytes") || !strings.Contains(err.Error(), p.Name()) {
			t.Errorf("the error is %v", err)
		}
		Free(blocks[0])
		if blocks[0], err = p.TryAlloc(32); err != nil {
			t.Errorf("after a free: %v", err)
		}
		for _, b := range blocks {
			Free(b)
		}
		return
	}
	t.Errorf("%d blocks were locked, whatever the limit of %d bytes", len(blocks), most)
}
