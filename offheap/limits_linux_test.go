// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"bytes"
	"errors"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/freehold-go/freehold/internal/checks/testenv"
	"github.com/freehold-go/freehold/internal/vmem"
)

// inChild is testenv.InChild for tests of what the allocator takes from the system.
func inChild(t *testing.T) bool {
	t.Helper()
	needOwnMemory(t)
	return testenv.InChild(t)
}

// roomForGo makes Go map memory that it keeps, so that a limit set next meets us and not it: pages,
// and descriptors of spans, of which a collection frees one with each small object.
func roomForGo() {
	spans := make([][]byte, 4096)
	for i := range spans {
		spans[i] = make([]byte, 8<<10)
	}
	runtime.KeepAlive(make([]byte, 64<<20))
	runtime.KeepAlive(spans)
	runtime.GC()
}

// mapNoMore keeps Go's runtime from mapping memory for itself when a test allocates a little after roomForGo. Where that is refused the
// process ends. The runtime maps when a P has no memory for records yet, when a sampled allocation comes from a new place, and when
// a size of object fills its first span since a collection.
func mapNoMore() {
	debug.SetGCPercent(-1)
	runtime.GOMAXPROCS(1)
	runtime.MemProfileRate = 0
	for size := 8; size <= 32<<10; size += max(8, size/16&^7) {
		for n := 0; n < 100<<10; n += size { // The largest span has 80 KiB.
			runtime.KeepAlive(make([]byte, size))
			runtime.KeepAlive(make([]*byte, size/8))
		}
	}
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
	testenv.MisusesMemory(t)
	needNoSamples(t)
	if raceEnabled {
		t.Skip("the race detector dies where its own memory is refused")
	}
	if !inChild(t) {
		return
	}
	roomForGo()
	total, _ := sizes(t)
	testenv.SetLimit(t, unix.RLIMIT_AS, total+300<<20)
	exhaust(t, 400<<20, "RLIMIT_AS allows")
}

func TestDataLimit(t *testing.T) {
	testenv.MisusesMemory(t)
	if raceEnabled {
		t.Skip("the race detector dies where its own memory is refused")
	}
	if !inChild(t) {
		return
	}
	roomForGo()
	_, data := sizes(t)
	testenv.SetLimit(t, unix.RLIMIT_DATA, data+300<<20)
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
	limit, ok := testenv.Sysctl("max_map_count")
	if !ok || limit > 300_000 {
		t.Skipf("vm.max_map_count is %d", limit)
	}
	roomForGo()
	mapNoMore()
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

// TestOvercommitRefusal asks for 16 TiB where 8 are left.
func TestOvercommitRefusal(t *testing.T) {
	if !is64 {
		t.Skip("8 TiB do not fit into this address space")
	}
	if !inChild(t) {
		return
	}
	room := int64(8) << 40
	testenv.RefuseOvercommit(t, uint64(room))
	_, err := TryAllocUninit(int(min(2*room, math.MaxInt)))
	t.Log(err)
	if !errors.Is(err, ErrOutOfMemory) || !strings.Contains(err.Error(), "vm.overcommit_memory=2") {
		t.Errorf("want ErrOutOfMemory for vm.overcommit_memory, got %v", err)
	}
	works(t)
}
