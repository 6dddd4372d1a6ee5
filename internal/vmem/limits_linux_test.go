// SPDX-License-Identifier: Apache-2.0

package vmem

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/freehold-go/freehold/internal/checks/testenv"
	"github.com/freehold-go/freehold/internal/sanitize"
)

// wantExplained wants a refusal for lack of memory that names the operation, its size and the
// limit.
func wantExplained(t *testing.T, err error, op string, size uintptr, limit string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || !errors.Is(err, ErrNoMemory) || !errors.Is(err, unix.ENOMEM) {
		t.Fatalf("want a refusal, got %v", err)
	}
	if e.Op != op || e.Size != size || !strings.Contains(e.Hint, limit) || !strings.Contains(err.Error(), e.Hint) {
		t.Fatalf("want %s of %d bytes refused by %s, got %v", op, size, limit, err)
	}
}

// inChild is testenv.InChild with few threads: on a machine with many CPUs the collector starts one
// for each, and those of a program with cgo, as under the race detector, take mappings and memory
// that a limit does not leave.
func inChild(t *testing.T) bool {
	t.Helper()
	return testenv.InChild(t, "GOMAXPROCS=2")
}

func TestAddressSpaceLimit(t *testing.T) {
	if !inChild(t) {
		return
	}
	m := System()
	total, _, ok := processSizes()
	if !ok {
		t.Skip("no /proc/self/statm")
	}
	limit := total + 256<<20
	testenv.SetLimit(t, unix.RLIMIT_AS, limit)
	if got := AddressSpaceLimit(); got != limit {
		t.Errorf("AddressSpaceLimit() = %d, want %d", got, limit)
	}
	reserve(t, 32<<20, pageSize)
	_, err := m.Reserve(512<<20, 4<<20, "too much")
	t.Log(err)
	wantExplained(t, err, OpReserve, 512<<20, fmt.Sprintf("RLIMIT_AS allows %d bytes", limit))
	addr := reserve(t, 32<<20, pageSize) // and it works on
	must(t, m.Commit(addr, 32<<20))
}

// TestAddressSpaceLimitAndAlignment leaves room for the reservation, but not for its alignment as
// well.
func TestAddressSpaceLimitAndAlignment(t *testing.T) {
	if !inChild(t) {
		return
	}
	total, _, ok := processSizes()
	if !ok {
		t.Skip("no /proc/self/statm")
	}
	limit := total + 80<<20
	testenv.SetLimit(t, unix.RLIMIT_AS, limit)
	var err error
	for range 4 { // The kernel may happen to find an aligned address, but not more often than there is room.
		if _, err = System().Reserve(32<<20, 64<<20, "aligned"); err != nil {
			break
		}
	}
	wantExplained(t, err, OpReserve, 32<<20, fmt.Sprintf("RLIMIT_AS allows %d bytes", limit))
}

func TestNoAddressSpaceLimit(t *testing.T) {
	if !inChild(t) {
		return
	}
	testenv.SetLimit(t, unix.RLIMIT_AS, math.MaxUint64)
	if got := AddressSpaceLimit(); got != math.MaxUint64 {
		t.Errorf("AddressSpaceLimit() = %d", got)
	}
}

func TestDataLimit(t *testing.T) {
	if !inChild(t) {
		return
	}
	m := System()
	_, data, ok := processSizes()
	if !ok {
		t.Skip("no /proc/self/statm")
	}
	addr := reserve(t, 512<<20, pageSize)
	testenv.SetLimit(t, unix.RLIMIT_DATA, data+128<<20)
	err := m.Commit(addr, 512<<20)
	if err == nil {
		t.Skip("this kernel does not count mappings against RLIMIT_DATA")
	}
	wantExplained(t, err, OpCommit, 512<<20, "RLIMIT_DATA")
	must(t, m.Commit(addr, 16<<20)) // and it works on
	touch(bytesAt(addr, 16<<20))
}

// TestGoGrowsAfterRefusal: after a refusal the Go heap can still grow by a share of what the limit
// allows, again and again. Without room the runtime ends the process.
func TestGoGrowsAfterRefusal(t *testing.T) {
	for _, c := range []struct {
		name     string
		resource int
	}{{"data", unix.RLIMIT_DATA}, {"address space", unix.RLIMIT_AS}} {
		t.Run(c.name, func(t *testing.T) {
			if !inChild(t) {
				return
			}
			m := System()
			const step = 1 << 20
			addr := reserve(t, 1<<30, pageSize)
			total, data, ok := processSizes()
			if !ok {
				t.Skip("no /proc/self/statm")
			}
			limit := data + 600<<20
			if c.resource == unix.RLIMIT_AS {
				limit = total + 600<<20
			}
			testenv.SetLimit(t, c.resource, limit)
			used := uintptr(0)
			var keep []byte
			for range 3 { // The first needs new memory; the collector gives it to the others.
				err := error(nil)
				for err == nil && used < 1<<30 {
					if c.resource == unix.RLIMIT_AS {
						_, err = m.Reserve(step, pageSize, "test")
					} else {
						err = m.Commit(addr+used, step)
					}
					used += step
				}
				if err == nil {
					t.Skip("this kernel has no such limit")
				}
				keep = make([]byte, 20<<20)
				runtime.GC()
			}
			if len(keep) == 0 || !allZero(keep) {
				t.Error("the heap is broken")
			}
		})
	}
}

// TestGoGrowsBeforeRefusal: while our calls are granted, however close to the limit, the Go heap can
// grow. A call that was granted the last of the memory would end the process.
func TestGoGrowsBeforeRefusal(t *testing.T) {
	if sanitize.Race {
		t.Skip("the race detector dies where its own memory is refused")
	}
	for name, resource := range map[string]int{"data": unix.RLIMIT_DATA, "address space": unix.RLIMIT_AS} {
		t.Run(name, func(t *testing.T) {
			if !inChild(t) {
				return
			}
			const step = 1 << 20
			m, addr := System(), reserve(t, 1<<30, pageSize)
			now := func() uint64 {
				total, data, ok := processSizes()
				if !ok {
					t.Skip("no /proc/self/statm")
				}
				if resource == unix.RLIMIT_AS {
					return total
				}
				return data
			}
			limit := now() + 600<<20
			testenv.SetLimit(t, resource, limit)
			for used := uintptr(0); above(limit, now()) > 2*step; used += step {
				err := error(nil)
				if resource == unix.RLIMIT_AS {
					_, err = m.Reserve(step, pageSize, "test")
				} else {
					err = m.Commit(addr+used, step)
				}
				if err != nil {
					break
				}
				if used == 1<<30 {
					t.Skip("this kernel has no such limit")
				}
			}
			useGo(t)
		})
	}
}

func TestMapCountLimit(t *testing.T) {
	if !inChild(t) {
		return
	}
	limit, ok := procNumber("/proc/sys/vm/max_map_count")
	if !ok || limit > 300_000 {
		t.Skipf("vm.max_map_count is %d", limit)
	}
	m := System()
	pages := uintptr(limit) + 1000
	addr, err := m.Reserve(2*pages*pageSize, pageSize, "test")
	must(t, err)
	commit := func(i uintptr) error { return m.Commit(addr+2*i*pageSize, pageSize) } // every second page
	done := uintptr(0)
	for ; done < pages && err == nil; done++ {
		err = commit(done)
	}
	if err == nil {
		t.Skip("this kernel does not limit mappings; are we emulated?")
	}
	want := fmt.Sprintf("vm.max_map_count allows %d", limit)
	wantExplained(t, err, OpCommit, pageSize, want)
	// The remaining mappings stay Go's, however often we ask, and Go needs them to go on. Now and
	// then Go returns one.
	refusals := 0
	for i := range uintptr(45) {
		if err := commit(done + i); err != nil {
			wantExplained(t, err, OpCommit, pageSize, want)
			refusals++
		}
	}
	if refusals < 35 {
		t.Errorf("only %d of 45 commits behind the limit were refused", refusals)
	}
	useGo(t)
	// When mappings are returned, commits succeed again, up to the same refusal. The next mapping,
	// which may be Go's, can take the released range, so the test does not release it a second
	// time.
	must(t, m.Release(addr, 500*pageSize))
	for i := done + 45; ; i++ {
		if err = commit(i); err != nil {
			break
		}
		if i == done+700 {
			t.Fatal("more mappings than the limit allows")
		}
	}
	wantExplained(t, err, OpCommit, pageSize, want)
	useGo(t)
	must(t, m.Release(addr+500*pageSize, (2*pages-500)*pageSize))
}

// useGo makes Go grow its heap and collect, as programs go on to do.
func useGo(t *testing.T) {
	t.Helper()
	var keep [][]byte
	for range 64 {
		keep = append(keep, make([]byte, 1<<20))
	}
	runtime.GC()
	if len(keep[63]) != 1<<20 || !allZero(keep[63]) {
		t.Error("the heap is broken")
	}
}

// TestOvercommitRefusal asks for 16 TiB where 8 are left.
func TestOvercommitRefusal(t *testing.T) {
	if math.MaxInt == math.MaxInt32 {
		t.Skip("8 TiB do not fit into this address space")
	}
	room := uint64(8 << 40)
	size := uintptr(2 * room)
	testenv.RefuseOvercommit(t, room)
	m := System()
	addr := reserve(t, size, pageSize) // reserving is not charged
	err := m.Commit(addr, size)
	wantExplained(t, err, OpCommit, size, "vm.overcommit_memory=2")
	must(t, m.Commit(addr, 1<<20)) // and it works on
	touch(bytesAt(addr, 1<<20))
}

func TestHintNamesNoInnocentLimit(t *testing.T) {
	if hint := explain(OpCommit, pageSize, unix.ENOMEM); !strings.HasPrefix(hint, "none of ") {
		t.Errorf("one page, and plenty of all: %s", hint)
	}
	if hint := explain(OpCommit, pageSize, unix.EACCES); hint != "" {
		t.Errorf("not for want of memory: %s", hint)
	}
}

// blocks returns the bytes that a file takes on disk.
func blocks(t *testing.T, f *os.File) int64 {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		t.Error(err)
	}
	return 512 * int64(st.Blocks)
}

func TestPreallocateOnFullDisk(t *testing.T) {
	testenv.OnFileSystem(t, "tmpfs", "size=2m", func(dir string) {
		for name, grow := range map[string]func(*os.File, int64) error{
			"fallocate": func(f *os.File, n int64) error { return Preallocate(f, 0, n) },
			"writing": func(f *os.File, n int64) error {
				return writeThrough(f, 0, 0, n)
			},
		} {
			f, err := os.Create(filepath.Join(dir, "file"))
			if err != nil {
				t.Error(err)
				return
			}
			if err := grow(f, 1<<20); err != nil || blocks(t, f) < 1<<20 {
				t.Errorf("%s: a file that fits: %v, %d bytes on disk", name, err, blocks(t, f))
			}
			if err := grow(f, 8<<20); !errors.Is(err, unix.ENOSPC) || !strings.Contains(err.Error(), f.Name()) {
				t.Errorf("%s: a file that does not fit: %v", name, err)
			}
			f.Close()
			os.Remove(f.Name())
		}
	})
}

func TestPreallocateFailureLeavesLength(t *testing.T) {
	testenv.OnFileSystem(t, "tmpfs", "size=2m", func(dir string) {
		f, err := os.Create(filepath.Join(dir, "file"))
		if err != nil {
			t.Error(err)
			return
		}
		defer f.Close()
		for _, length := range []int64{0, 5000} {
			if err := f.Truncate(length); err != nil {
				t.Error(err)
			}
			err = Preallocate(f, 0, 8<<20)
			if err == nil || !strings.Contains(err.Error(), "free space") {
				t.Errorf("no hint: %v", err)
			}
			if info, statErr := f.Stat(); statErr != nil || info.Size() != length {
				t.Errorf("a file of %d bytes: %v, %v", length, info.Size(), statErr)
			}
		}
		if err := Preallocate(f, 0, 1<<20); err != nil {
			t.Errorf("what was taken is not given back: %v", err)
		}
	})
}

// TestPreallocateWithoutFallocate uses a file system that has no fallocate.
func TestPreallocateWithoutFallocate(t *testing.T) {
	testenv.OnFileSystem(t, "ramfs", "", func(dir string) {
		f, err := os.Create(filepath.Join(dir, "file"))
		if err != nil {
			t.Error(err)
			return
		}
		defer f.Close()
		if err := fallocate(f, 0, 1<<20); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("fallocate: %v", err)
		}
		if _, err := f.WriteString("kept"); err != nil {
			t.Error(err)
		}
		if err := Preallocate(f, 0, 3<<20+1); err != nil {
			t.Error(err)
		}
		b, err := os.ReadFile(f.Name())
		if err != nil || len(b) != 3<<20+1 || string(b[:4]) != "kept" || !allZero(b[4:]) {
			t.Errorf("%d bytes, %v", len(b), err)
		}
	})
}

func TestWritingFillsHoles(t *testing.T) {
	testenv.OnFileSystem(t, "tmpfs", "size=8m", func(dir string) {
		for name, grow := range map[string]func(*os.File) error{
			"fallocate": func(f *os.File) error { return Preallocate(f, 0, 3<<20) },
			"writing":   func(f *os.File) error { return writeThrough(f, 0, 2<<20, 3<<20) },
		} {
			f, err := os.Create(filepath.Join(dir, "file"))
			if err != nil {
				t.Error(err)
				return
			}
			if err := f.Truncate(2 << 20); err != nil || blocks(t, f) != 0 {
				t.Errorf("%v, %d bytes on disk", err, blocks(t, f))
			}
			if err := grow(f); err != nil || blocks(t, f) != 3<<20 {
				t.Errorf("%s: %v, %d bytes on disk", name, err, blocks(t, f))
			}
			f.Close()
		}
	})
}
