// SPDX-License-Identifier: Apache-2.0

package vmem

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// mapping is what the kernel says of the mappings inside a range.
type mapping struct {
	perms, name string // of the last one
	count       int
	rss, huge   uintptr // bytes
}

// smaps asks the kernel about [addr, addr+size). The tests leave reserved pages on both sides of
// what they commit, so that no mapping of others merges with it.
func smaps(t *testing.T, addr, size uintptr) (m mapping) {
	t.Helper()
	f, err := os.Open("/proc/self/smaps")
	must(t, err)
	defer f.Close()
	inside := false
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var lo, hi, kb uintptr
		var perms, key string
		if n, _ := fmt.Sscanf(lines.Text(), "%x-%x %s", &lo, &hi, &perms); n == 3 {
			if inside = lo < addr+size && addr < hi; inside {
				m.count++
				m.perms = perms
				_, m.name, _ = strings.Cut(lines.Text(), "[")
			}
			continue
		}
		if n, _ := fmt.Sscanf(lines.Text(), "%s %d kB", &key, &kb); !inside || n != 2 {
			continue
		}
		switch key {
		case "Rss:", "Swap:": // A machine short of memory may have moved some of it out meanwhile.
			m.rss += kb << 10
		case "AnonHugePages:":
			m.huge += kb << 10
		}
	}
	return m
}

// touch writes the number of each page into it, counted from 1: since Linux 6.12 a split gives
// pages of zeros back at once, and the resident set would be smaller than the touched memory.
func touch(b []byte) {
	for i := uintptr(0); i < uintptr(len(b)); i += pageSize {
		binary.NativeEndian.PutUint32(b[i:], uint32(i/pageSize)+1)
	}
}

// wantTouched checks pages that touch has written.
func wantTouched(t *testing.T, b []byte, pages ...uintptr) {
	t.Helper()
	for _, p := range pages {
		if got := binary.NativeEndian.Uint32(b[p*pageSize:]); got != uint32(p)+1 {
			t.Fatalf("page %d holds %d", p, got)
		}
	}
}

func TestPurgeReturnsMemory(t *testing.T) {
	m, size := System(), 256*pageSize
	addr := reserve(t, size+2*pageSize, pageSize) + pageSize
	must(t, m.Commit(addr, size))
	b := bytesAt(addr, size)
	touch(b)
	if got := smaps(t, addr, size); got.count == 0 {
		t.Skip("/proc/self/smaps does not show our addresses; are we emulated?")
	} else if got.rss != size || got.perms != "rw-p" {
		t.Fatalf("after touching %d bytes: %+v", size, got)
	}
	must(t, m.Purge(addr, size/2))
	if got := smaps(t, addr, size); got.rss != size/2 {
		t.Errorf("after purging half of %d bytes: %+v", size, got)
	}
	must(t, m.Purge(addr, size))
	if got := smaps(t, addr, size); got.rss != 0 || got.count != 1 || got.perms != "rw-p" {
		t.Errorf("after purging all: %+v", got)
	}
	touch(b)
	if got := smaps(t, addr, size); got.rss != size {
		t.Errorf("after touching it again: %+v", got)
	}
}

func TestReservationTakesNoMemory(t *testing.T) {
	size := uintptr(64 << 20)
	addr := reserve(t, size, 4<<20)
	if got := smaps(t, addr, size); got.rss != 0 || (got.count != 0 && got.perms != "---p") {
		t.Errorf("%+v", got)
	}
}

// TestDecommittedRangesMerge: a range that was in use and is decommitted is no mapping of its own,
// in whatever order.
func TestDecommittedRangesMerge(t *testing.T) {
	m, size := System(), 64*pageSize
	addr := reserve(t, size, pageSize)
	for i := uintptr(1); i < 63; i += 2 {
		must(t, m.Commit(addr+i*pageSize, pageSize))
		bytesAt(addr+i*pageSize, pageSize)[0] = 1
	}
	if got := smaps(t, addr, size); got.count == 0 {
		t.Skip("/proc/self/smaps does not show our addresses; are we emulated?")
	} else if got.count != 63 || got.rss != 31*pageSize {
		t.Fatalf("with every other page in use: %+v", got)
	}
	for i := uintptr(1); i < 63; i += 2 {
		at := 1 + 2*(i/2*12%31) // all of them, out of order
		must(t, m.Decommit(addr+at*pageSize, pageSize, "test"))
	}
	if got := smaps(t, addr, size); got.count > 1 || got.rss != 0 || got.count == 1 && got.perms != "---p" {
		t.Errorf("with no page in use: %+v", got)
	}
}

// TestCommittedRangesMerge keeps us from spending the mappings that vm.max_map_count grants.
func TestCommittedRangesMerge(t *testing.T) {
	m, size := System(), 64*pageSize
	addr := reserve(t, size+2*pageSize, pageSize) + pageSize
	must(t, m.Huge(addr-pageSize, size+2*pageSize))
	for i := uintptr(0); i < size; i += 2 * pageSize {
		must(t, m.Commit(addr+i, pageSize))
	}
	for i := pageSize; i < size; i += 2 * pageSize {
		must(t, m.Commit(addr+i, pageSize))
		must(t, m.Purge(addr+i, pageSize))
	}
	if got := smaps(t, addr, size); got.count > 1 {
		t.Errorf("committing page by page leaves %d mappings", got.count)
	}
}

// hugeRange returns a touched range of n huge pages, each of them huge, or skips.
func hugeRange(t *testing.T, n uintptr) (addr, size uintptr) {
	t.Helper()
	huge := HugePageSize()
	if huge == 0 {
		t.Skip("this kernel has no transparent huge pages")
	}
	if huge > 8<<20 {
		t.Skipf("huge pages of %d bytes are more than a test should take", huge)
	}
	m := System()
	size = n * huge
	addr = reserve(t, size+2*huge, huge) + huge
	must(t, m.Huge(addr-huge, size+2*huge))
	must(t, m.Commit(addr, size))
	touch(bytesAt(addr, size))
	if got := smaps(t, addr, size); got.huge != size {
		t.Skipf("%d of %d bytes are in huge pages: they are off (see /sys/kernel/mm/transparent_hugepage/enabled), "+
			"or none is free", got.huge, size)
	}
	return addr, size
}

func TestSplitHugeLetsPartialPurgeReturnMemory(t *testing.T) {
	m := System()
	addr, size := hugeRange(t, 4)
	huge := HugePageSize()
	b := bytesAt(addr, size)
	// Otherwise khugepaged, which scans every ten seconds, may collapse the split pages into a huge
	// one again before the test reads smaps.
	must(t, m.NoHuge(addr, size))
	// A range that starts and ends within huge pages, over three of the four. The kernel splits no
	// page that something else has in hand at the moment, such as one of its own scans; a call does
	// nothing to split ones.
	for range 100 {
		must(t, m.SplitHuge(addr+pageSize, size-huge-2*pageSize))
		if smaps(t, addr, size).huge == huge {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	per := huge / pageSize
	if got := smaps(t, addr, size); got.huge != huge || got.rss != size {
		t.Errorf("after the split of three of four: %+v", got)
	}
	wantTouched(t, b, 0, 1, per-1, per, 2*per+5, 4*per-1)
	for i := range uintptr(3) {
		must(t, m.Purge(addr+i*huge+pageSize, huge-pageSize)) // all but the first page of each
	}
	if got := smaps(t, addr, size-huge); got.rss != huge+3*pageSize {
		t.Errorf("after purging all but a page of three: %+v", got)
	}
	wantTouched(t, b, 0, per, 2*per, 3*per, 4*per-1)
	for i := range uintptr(3) {
		if isHuge(t, addr+i*huge) {
			t.Errorf("page %d still holds a whole huge page, so that the machine got nothing back", i*per)
		}
	}
	if !isHuge(t, addr+3*huge) {
		t.Error("the huge page beside the range was split")
	}
}

// isHuge asks whether the physical page behind addr is part of a huge page. The mapping cannot
// tell: a partial purge maps the rest in small pages, and RSS falls, while the huge page stays
// whole.
func isHuge(t *testing.T, addr uintptr) bool {
	t.Helper()
	const frameMask, present, thp = 1<<55 - 1, 1 << 63, 1 << 22 // Documentation/admin-guide/mm/pagemap.rst
	entry := readWord(t, "/proc/self/pagemap", uint64(addr/pageSize))
	if entry&present == 0 || entry&frameMask == 0 {
		t.Skip("the kernel does not show physical pages; it does to root")
	}
	return readWord(t, "/proc/kpageflags", entry&frameMask)&thp != 0
}

// readWord reads the i-th 64-bit word of a file.
func readWord(t *testing.T, path string, i uint64) uint64 {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Skipf("the kernel does not show physical pages: %v", err)
	}
	defer f.Close()
	var word [8]byte
	_, err = f.ReadAt(word[:], int64(8*i))
	must(t, err)
	return binary.NativeEndian.Uint64(word[:])
}

func TestNoHugeKeepsPagesSmall(t *testing.T) {
	m := System()
	addr, size := hugeRange(t, 2) // there are huge pages, and they were asked for
	must(t, m.NoHuge(addr, size))
	if got := smaps(t, addr, size); got.huge != size {
		t.Errorf("the huge pages that were there: %+v", got)
	}
	must(t, m.Purge(addr, size))
	touch(bytesAt(addr, size))
	if got := smaps(t, addr, size); got.huge != 0 || got.rss != size {
		t.Errorf("touched after NoHuge: %+v", got)
	}
	must(t, m.Purge(addr, size))
	must(t, m.Huge(addr, size))
	touch(bytesAt(addr, size))
	if got := smaps(t, addr, size); got.huge == 0 {
		t.Skipf("no huge page is free any more: %+v", got)
	}
}

func TestPurgeOfLockedPagesSaysWhy(t *testing.T) {
	m, size := System(), 4*pageSize
	addr := reserve(t, size, pageSize)
	must(t, m.Commit(addr, size))
	b := bytesAt(addr, size)
	if err := unix.Mlock(b); err != nil {
		t.Skipf("mlock: %v", err)
	}
	b[0] = 1
	err := m.Purge(addr, size)
	if err == nil {
		t.Skip("this kernel purges locked pages; are we emulated?")
	}
	if !errors.Is(err, unix.EINVAL) || errors.Is(err, ErrNoMemory) || !strings.Contains(err.Error(), "mlock") || b[0] != 1 {
		t.Errorf("%v", err)
	}
	must(t, m.SplitHuge(addr, size))
	must(t, unix.Munlock(b))
	must(t, m.Purge(addr, size))
}

func TestNamesAreShown(t *testing.T) {
	size := 4 * pageSize
	addr := reserve(t, size, pageSize)
	must(t, System().Commit(addr+pageSize, pageSize))
	if err := unix.Prctl(unix.PR_SET_VMA, unix.PR_SET_VMA_ANON_NAME, addr, size, 0); err != nil {
		t.Skipf("this kernel shows no names: %v", err)
	}
	nameRange(addr, size, "test")
	if got := smaps(t, addr, size); got.name != "anon:freehold test]" || got.count != 3 {
		t.Errorf("%+v", got)
	}
}

func TestBadNamesDoNoHarm(t *testing.T) {
	for _, name := range []string{"", "nul\x00", "[brackets]", strings.Repeat("long", 100)} {
		addr, err := System().Reserve(pageSize, pageSize, name)
		must(t, err)
		must(t, System().Release(addr, pageSize))
	}
}

func TestRetiredFileLeavesReservedSpace(t *testing.T) {
	m, size := System(), 5*pageSize-1
	f := newFile(t, int64(size))
	addr, err := m.MapFile(f, 0, size, ReadWrite)
	must(t, err)
	must(t, m.SyncFile(addr, size))
	if got := smaps(t, addr, size); got.count > 0 && got.perms != "rw-s" {
		t.Errorf("mapped: %+v", got)
	}
	must(t, m.RetireFile(addr, size))
	if got := smaps(t, addr, 5*pageSize); got.count > 0 && (got.perms != "---p" || got.rss != 0) {
		t.Errorf("retired: %+v", got)
	}
	// The range is taken: the kernel refuses to map there unless told to replace.
	if p, err := mmap(addr, size, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_FIXED_NOREPLACE, -1, 0); err == nil {
		must(t, munmap(p, size))
		if p == addr {
			t.Error("the range of a retired file was free to be mapped")
		}
	}
}
