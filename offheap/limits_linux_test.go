package offheap

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/freehold-go/freehold/internal/vmem"
)

const childVariable = "FREEHOLD_OFFHEAP_TEST_CHILD"

// inChild runs the calling test again in a process of its own, where limits hold until the process
// ends and the allocator has not started. It returns true there, and false to the parent.
func inChild(t *testing.T) bool {
	t.Helper()
	needOwnMemory(t)
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

// roomForGo makes Go map memory that it keeps, so that a limit set next meets us and not it.
func roomForGo() {
	runtime.KeepAlive(make([]byte, 64<<20))
	runtime.GC()
}

// sizes are the mapped and the writable bytes of the process.
func sizes(t *testing.T) (total, data uint64) {
	t.Helper()
	b, err := os.ReadFile("/proc/self/statm")
	fields := bytes.Fields(b)
	if err != nil || len(fields) < 6 {
		t.Skipf("no /proc/self/statm: %v", err)
	}
	total, err1 := strconv.ParseUint(string(fields[0]), 10, 64)
	data, err2 := strconv.ParseUint(string(fields[5]), 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	page := uint64(os.Getpagesize())
	return total * page, data * page
}

func setLimit(t *testing.T, resource int, bytes uint64) {
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

// exhaust allocates until the machine refuses, for which it must name the limit, frees everything,
// and wants as much again. It skips if all of most is granted.
func exhaust(t *testing.T, most int, limit string) {
	t.Helper()
	const size = 1 << 20
	works(t) // Typed memory has regions of its own; it gets one while there is room.
	live := make([][]byte, 0, most/size)
	take := func() (err error) {
		for len(live) < cap(live) {
			b, err := TryAlloc(size)
			if err != nil {
				return err
			}
			b[0], b[size-1] = byte(len(live)), 1
			live = append(live, b)
		}
		return nil
	}
	first := 0
	for round := range 3 {
		err := take()
		if err == nil {
			t.Skipf("%d bytes are granted in spite of the limit", most)
		}
		t.Logf("after %d MiB: %v", len(live), err)
		if !errors.Is(err, ErrOutOfMemory) || errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), limit) {
			t.Fatalf("want ErrOutOfMemory for %s, got %v", limit, err)
		}
		wantPanic(t, "AllocUninit", ErrOutOfMemory, func() { AllocUninit(size) })
		for i, b := range live {
			if b[0] != byte(i) || b[size-1] != 1 {
				t.Fatalf("block %d changed", i)
			}
		}
		if round == 0 {
			first = len(live)
		}
		if len(live) < first*9/10 || first == 0 {
			t.Fatalf("round %d: %d blocks, %d the first time", round, len(live), first)
		}
		for _, b := range live {
			Free(b)
		}
		live = live[:0]
		works(t)
		if round == 1 {
			Purge()
		}
	}
}

func TestAddressSpaceLimit(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector dies where its own memory is refused")
	}
	if !inChild(t) {
		return
	}
	roomForGo()
	total, _ := sizes(t)
	setLimit(t, unix.RLIMIT_AS, total+300<<20)
	exhaust(t, 400<<20, "RLIMIT_AS allows")
}

func TestDataLimit(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector dies where its own memory is refused")
	}
	if !inChild(t) {
		return
	}
	roomForGo()
	_, data := sizes(t)
	setLimit(t, unix.RLIMIT_DATA, data+300<<20)
	exhaust(t, 400<<20, "RLIMIT_DATA allows")
}

// TestMapCountLimit uses up the mappings before the allocator starts.
func TestMapCountLimit(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector dies where its own memory is refused")
	}
	if !inChild(t) {
		return
	}
	limit, ok := sysctl("max_map_count")
	if !ok || limit > 300_000 {
		t.Skipf("vm.max_map_count is %d", limit)
	}
	roomForGo()
	mem, page := vmem.System(), vmem.PageSize()
	pages := uintptr(limit) + 1000
	addr, err := mem.Reserve(2*pages*page, page, "test")
	if err != nil {
		t.Fatal(err)
	}
	taken := uintptr(0)
	for ; taken < pages; taken++ {
		if err = mem.Commit(addr+2*taken*page, page); err != nil {
			break
		}
	}
	if err == nil {
		t.Skip("this kernel does not limit mappings; are we emulated?")
	}
	for _, n := range []int{100, 5000, 1 << 20, 300 << 20} {
		_, err := TryAlloc(n)
		if !errors.Is(err, ErrOutOfMemory) || !strings.Contains(err.Error(), "vm.max_map_count") || !strings.Contains(err.Error(), "sysctl -w") {
			t.Errorf("%d bytes: want ErrOutOfMemory for vm.max_map_count, got %v", n, err)
		}
	}
	wantPanic(t, "New", ErrOutOfMemory, func() { New[flags]() })
	if err := mem.Release(addr, 1000*page); err != nil {
		t.Fatal(err)
	}
	works(t)
	Free(Alloc(300 << 20))
}

func sysctl(name string) (uint64, bool) {
	b, err := os.ReadFile("/proc/sys/vm/" + name)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	return n, err == nil
}

func setSysctl(t *testing.T, name string, n uint64) {
	t.Helper()
	old, ok := sysctl(name)
	write := func(n uint64) error { return os.WriteFile("/proc/sys/vm/"+name, fmt.Appendln(nil, n), 0o644) }
	if !ok {
		t.Skipf("no vm.%s", name)
	}
	if err := write(n); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		if now, _ := sysctl(name); now != old {
			if err := write(old); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestOvercommitRefusal changes settings of the whole machine for some milliseconds, so it must be
// asked for. What it asks for, 16 TiB where 8 are left, nobody else needs.
func TestOvercommitRefusal(t *testing.T) {
	const ask = "FREEHOLD_TEST_SYSCTL"
	if os.Getenv(ask) != "1" {
		t.Skipf("set %s=1 and be root to let this test set vm.overcommit_memory for a moment", ask)
	}
	if !is64 {
		t.Skip("8 TiB do not fit into this address space")
	}
	if !inChild(t) {
		return
	}
	room := int64(8) << 40
	info, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		t.Skip(err)
	}
	_, line, found := bytes.Cut(info, []byte("Committed_AS:"))
	var used int64
	if _, err := fmt.Sscan(string(line), &used); !found || err != nil {
		t.Skipf("no Committed_AS: %v", err)
	}
	ratio, _ := sysctl("overcommit_ratio")
	setSysctl(t, "overcommit_kbytes", uint64(used+room>>10))
	if ratio != 0 {
		// The kernel keeps one of the two and sets the other to 0: this restores both.
		t.Cleanup(func() {
			if err := os.WriteFile("/proc/sys/vm/overcommit_ratio", fmt.Appendln(nil, ratio), 0o644); err != nil {
				t.Error(err)
			}
		})
	}
	setSysctl(t, "overcommit_memory", 2)
	_, err = TryAllocUninit(int(min(2*room, math.MaxInt)))
	t.Log(err)
	if !errors.Is(err, ErrOutOfMemory) || !strings.Contains(err.Error(), "vm.overcommit_memory=2") {
		t.Errorf("want ErrOutOfMemory for vm.overcommit_memory, got %v", err)
	}
	works(t)
}
