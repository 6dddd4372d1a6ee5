// SPDX-License-Identifier: Apache-2.0

package vmem

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"unsafe"
)

// bytesAt returns a committed range, or a file map, as bytes.
func bytesAt(addr, size uintptr) []byte {
	// SAFETY: the tests pass mapped ranges, which are not Go's and stay mapped while the slice is
	// used.
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&addr)), int(size))
}

// faults reports whether f touches memory that it may not.
func faults(f func()) (fault bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			addr, ok := r.(interface{ Addr() uintptr })
			if fault = ok && addr.Addr() != 0; !fault {
				panic(r)
			}
		}
	}()
	f()
	return false
}

// sink keeps the compiler from dropping reads.
var sink byte

func skipUnsupported(t *testing.T) {
	t.Helper()
	if !Supported {
		t.Skip("this system gives no memory outside the Go heap")
	}
}

// reserve reserves for one test and releases at its end: no address of it is in anyone's hands
// then.
func reserve(t *testing.T, size, align uintptr) uintptr {
	t.Helper()
	addr, err := System().Reserve(size, align, "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := System().Release(addr, size); err != nil {
			t.Error(err)
		}
	})
	return addr
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func allZero(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}

func TestReserveAligns(t *testing.T) {
	skipUnsupported(t)
	for align := pageSize; align <= 64<<20; align *= 2 {
		for _, size := range []uintptr{pageSize, 3 * pageSize, align, align + pageSize} {
			addr := reserve(t, size, align)
			if addr == 0 || addr&(align-1) != 0 {
				t.Fatalf("Reserve(%d, %d) = %#x", size, align, addr)
			}
			must(t, System().Commit(addr+size-pageSize, pageSize)) // the end is there as well
		}
	}
}

func TestReservedFaultsUntilCommitted(t *testing.T) {
	skipUnsupported(t)
	m, size := System(), 8*pageSize
	addr := reserve(t, size, pageSize)
	b := bytesAt(addr, size)
	if !faults(func() { sink = b[0] }) {
		t.Error("reserved memory can be read before Commit")
	}
	must(t, m.Commit(addr+pageSize, pageSize))
	b[pageSize] = 1
	if !faults(func() { b[pageSize-1] = 1 }) || !faults(func() { b[2*pageSize] = 1 }) {
		t.Error("Commit reaches beyond its range")
	}
}

func TestCommitReadsZeroAndKeeps(t *testing.T) {
	skipUnsupported(t)
	m, size := System(), 64*pageSize
	addr := reserve(t, size, pageSize)
	must(t, m.Commit(addr, size/2))
	b := bytesAt(addr, size)
	if !allZero(b[:size/2]) {
		t.Fatal("fresh memory is not zero")
	}
	b[0], b[size/2-1] = 1, 2
	must(t, m.Commit(addr, size)) // half of it once more
	if b[0] != 1 || b[size/2-1] != 2 {
		t.Error("a second Commit changed what the range holds")
	}
	if !allZero(b[size/2:]) {
		t.Error("fresh memory is not zero")
	}
}

func TestPurgeReadsZero(t *testing.T) {
	skipUnsupported(t)
	m, size := System(), 64*pageSize
	addr := reserve(t, size, pageSize)
	must(t, m.Commit(addr, size))
	b := bytesAt(addr, size)
	for round := range 3 {
		for i := range b {
			b[i] = 0xff
		}
		must(t, m.Purge(addr+pageSize, size-2*pageSize))
		if !allZero(b[pageSize : size-pageSize]) {
			t.Fatalf("round %d: purged memory does not read as zeros", round)
		}
		if b[pageSize-1] != 0xff || b[size-pageSize] != 0xff {
			t.Fatalf("round %d: Purge reaches beyond its range", round)
		}
	}
}

func TestProtect(t *testing.T) {
	skipUnsupported(t)
	m, size := System(), 4*pageSize
	addr := reserve(t, size, pageSize)
	must(t, m.Commit(addr, size))
	b := bytesAt(addr, size)
	b[pageSize] = 7
	for _, c := range []struct {
		p           Protection
		read, write bool
	}{{None, false, false}, {Read, true, false}, {ReadWrite, true, true}, {None, false, false}, {ReadWrite, true, true}} {
		must(t, m.Protect(addr+pageSize, pageSize, c.p))
		if got := !faults(func() { sink = b[pageSize] }); got != c.read {
			t.Errorf("%v: can read: %v", c.p, got)
		}
		if got := !faults(func() { b[pageSize+1]++ }); got != c.write {
			t.Errorf("%v: can write: %v", c.p, got)
		}
		b[pageSize-1], b[2*pageSize] = 1, 1 // the neighbours are as before
	}
	if b[pageSize] != 7 {
		t.Error("Protect changed what the range holds")
	}
}

// readByte keeps reads that only may fault.
var readByte byte

func TestDecommit(t *testing.T) {
	skipUnsupported(t)
	m, size := System(), 4*pageSize
	addr := reserve(t, size, pageSize)
	must(t, m.Commit(addr, size))
	b := bytesAt(addr, size)
	for i := uintptr(0); i < size; i += pageSize {
		b[i] = 7
	}
	must(t, m.Decommit(addr+pageSize, 2*pageSize, "test"))
	for i, want := range []bool{false, true, true, false} {
		if got := faults(func() { readByte = b[uintptr(i)*pageSize] }); got != want {
			t.Errorf("page %d: a read faults: %v, want %v", i, got, want)
		}
	}
	if b[0] != 7 || b[3*pageSize] != 7 {
		t.Error("pages beside the range have changed")
	}
	must(t, m.Commit(addr, size))
	for i, want := range []byte{7, 0, 0, 7} {
		if got := b[uintptr(i)*pageSize]; got != want {
			t.Errorf("page %d is %d after another Commit, want %d", i, got, want)
		}
	}
}

func TestHugeCallsKeepContents(t *testing.T) {
	skipUnsupported(t)
	m, size := System(), max(4*HugePageSize(), 64*pageSize)
	addr := reserve(t, size, pageSize)
	must(t, m.Huge(addr, size))
	must(t, m.Commit(addr, size))
	b := bytesAt(addr, size)
	for i := uintptr(0); i < size; i += pageSize {
		b[i] = byte(i / pageSize)
	}
	must(t, m.SplitHuge(addr, size))
	must(t, m.SplitHuge(addr+pageSize, pageSize))
	must(t, m.NoHuge(addr, size))
	must(t, m.Huge(addr, size))
	for i := uintptr(0); i < size; i += pageSize {
		if b[i] != byte(i/pageSize) {
			t.Fatalf("page %d changed", i/pageSize)
		}
	}
}

func TestBadArguments(t *testing.T) {
	m, page := System(), pageSize
	top := ^uintptr(0) &^ (page - 1)
	ranges := map[string]func(addr, size uintptr) error{
		OpCommit: m.Commit, OpPurge: m.Purge, OpSplitHuge: m.SplitHuge, OpHuge: m.Huge, OpNoHuge: m.NoHuge,
		OpRelease:  m.Release,
		OpDecommit: func(addr, size uintptr) error { return m.Decommit(addr, size, "bad") },
	}
	for op, call := range ranges {
		for _, r := range [][2]uintptr{{0, page}, {page, 0}, {page + 1, page}, {page, page + 1}, {top, 2 * page}} {
			wantRefused(t, op, call(r[0], r[1]))
		}
	}
	files := map[string]func(addr, size uintptr) error{
		OpSyncFile: m.SyncFile, OpRetireFile: m.RetireFile,
		OpProtect: func(addr, size uintptr) error { return m.Protect(addr, size, Read) },
	}
	for op, call := range files {
		for _, r := range [][2]uintptr{{0, page}, {page, 0}, {page + 1, page}, {page, math.MaxUint}, {top, 2 * page}} {
			wantRefused(t, op, call(r[0], r[1]))
		}
	}
	wantRefused(t, OpProtect, m.Protect(page, page, ReadWrite+1))
	for _, r := range [][2]uintptr{{0, page}, {page + 1, page}, {page, 0}, {page, page - 1}, {page, page / 2}, {page, 3 * page}} {
		_, err := m.Reserve(r[0], r[1], "bad")
		wantRefused(t, OpReserve, err)
	}
}

// wantRefused wants an *Error of the operation that does not blame the machine.
func wantRefused(t *testing.T, op string, err error) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Op != op || errors.Is(err, ErrNoMemory) {
		t.Errorf("%s: want a refusal, got %v", op, err)
	}
}

func TestReserveTooMuch(t *testing.T) {
	skipUnsupported(t)
	m := System()
	// A 32-bit process has most of its 4 GiB to itself, so that half of them is not too much.
	for _, size := range []uintptr{^uintptr(1<<26 - 1), ^(2*pageSize - 1)} {
		for _, align := range []uintptr{pageSize, 1 << 30} {
			_, err := m.Reserve(size, align, "too much")
			var e *Error
			if !errors.As(err, &e) || !errors.Is(err, ErrNoMemory) || e.Size != size || e.Hint == "" {
				t.Errorf("Reserve(%#x, %#x): %v", size, align, err)
			}
		}
	}
	reserve(t, pageSize, pageSize) // and it works on
}

func TestErrorSaysWhatWasAsked(t *testing.T) {
	err := error(&Error{Op: OpCommit, Addr: 0xabc000, Size: 67108864, Err: errNoMemory, Hint: "buy some"})
	want := fmt.Sprintf("vmem: commit 67108864 bytes at 0xabc000: %v (buy some)", errNoMemory)
	if err.Error() != want {
		t.Errorf("got  %s\nwant %s", err, want)
	}
	if !errors.Is(err, errNoMemory) || !errors.Is(err, ErrNoMemory) {
		t.Error("errors.Is does not find the cause")
	}
	plain := &Error{Op: OpReserve, Size: 4096, Err: errBadRange}
	if errors.Is(plain, ErrNoMemory) || strings.ContainsAny(plain.Error(), "()") || strings.Contains(plain.Error(), " at ") {
		t.Errorf("%s", plain)
	}
}

func TestPageSizes(t *testing.T) {
	if p := PageSize(); p != uintptr(os.Getpagesize()) || p&(p-1) != 0 {
		t.Errorf("PageSize() = %d", p)
	}
	if h := HugePageSize(); h != 0 && (h <= PageSize() || h&(h-1) != 0) {
		t.Errorf("HugePageSize() = %d", h)
	}
	for p, want := range map[Protection]string{None: "None", Read: "Read", ReadWrite: "ReadWrite", 9: "invalid protection"} {
		if p.String() != want {
			t.Errorf("Protection(%d) = %v", p, p)
		}
	}
}

func TestUnsupportedRefuses(t *testing.T) {
	if Supported {
		t.Skip("this system gives memory outside the Go heap")
	}
	if _, err := System().Reserve(pageSize, pageSize, "test"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Reserve: %v", err)
	}
	if err := System().Commit(pageSize, pageSize); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Commit: %v", err)
	}
}
