// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// checked is the Purpose of the tests here.
func checked(t *testing.T) *Purpose {
	t.Helper()
	needStaleReads(t)
	unpurged(t)
	return NewPurposeWith("checked when freed", PurposeOptions{CheckFreed: true})
}

// neighbours are two blocks of one slab, which the second one keeps from going back when the first
// is freed.
func neighbours(p *Purpose, n int) (b, other []byte) {
	b, other = p.Alloc(n), p.Alloc(n)
	if std.spanOf(addrOf(b)) == std.spanOf(addrOf(other)) {
		return b, other
	}
	defer Free(b)
	defer Free(other)
	return neighbours(p, n)
}

// writeStale writes to a freed block, as a program with a stale pointer does.
//
//go:norace
func writeStale(addr uintptr) { *unsafex.At[byte](addr) = 0xEE }

// misuseOf calls f and returns the MisuseError that it panics with, or nil.
func misuseOf(f func()) (e *MisuseError) {
	defer func() {
		if v := recover(); v != nil {
			e = v.(*MisuseError)
		}
	}()
	f()
	return nil
}

// TestCheckFreed: the allocation that would hand a written block out panics, and the block is set
// aside.
func TestCheckFreed(t *testing.T) {
	p := checked(t)
	needSlabs(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // Or the block may wait with a P that serves no request here.
	for _, n := range []int{16, 100, 5000, 65_536} {
		b, other := neighbours(p, n)
		addr := addrOf(b)
		Free(b)
		writeStale(addr + uintptr(n)/2)
		var later [][]byte
		var e *MisuseError
		for range max(200, 300_000/n) { // The block is one of those that are free; it comes in its turn.
			if e = misuseOf(func() { later = append(later, p.AllocUninit(n)) }); e != nil {
				break
			}
		}
		if e == nil {
			t.Fatalf("%d bytes: no allocation told of the write", n)
		}
		if e.Kind != "write after Free" || e.Addr != addr+uintptr(n)/2 || !strings.Contains(e.Error(), "ee") || !strings.Contains(e.Here, "TestCheckFreed") {
			t.Errorf("%d bytes: %v, called at %s", n, e, e.Here)
		}
		for range 200 {
			later = append(later, p.AllocUninit(n))
		}
		for _, c := range later {
			if addrOf(c) == addr {
				t.Errorf("%d bytes: the written block was handed out after all", n)
			}
			Free(c)
		}
		Free(other)
		Free(unsafex.Bytes(addr, uintptr(n))) // Back into use, for the other tests.
	}
}

// TestCheckFreedClean: without a write nothing is told, whatever memory the slabs are made of.
func TestCheckFreedClean(t *testing.T) {
	p := checked(t)
	for round := range 3 {
		var blocks [][]byte
		for range 2000 { // Dirty granules for the slabs of the Purpose.
			blocks = append(blocks, fillSecret(Alloc(1000)))
		}
		for _, b := range blocks {
			Free(b)
		}
		blocks = blocks[:0]
		for i := range 2000 {
			blocks = append(blocks, fillSecret(p.AllocUninit(1000)))
			if i%3 == 0 {
				Free(blocks[i])
				blocks[i] = fillSecret(p.Alloc(1000))
			}
		}
		for _, b := range blocks {
			Free(b)
		}
		if round == 1 {
			Purge()
		}
	}
	if err := Check(); err != nil {
		t.Error(err)
	}
}

// TestCheckFreedLate: a write to a block whose memory is given away is told by the next allocation,
// or by Check.
func TestCheckFreedLate(t *testing.T) {
	p := checked(t)
	needSlabs(t)
	const n = 60_000 // The middle of such a block lies on pages of its own, which the purge takes.
	for how, tell := range map[string]func() error{
		"Alloc": func() error {
			if e := misuseOf(func() { Free(p.Alloc(n)) }); e != nil {
				return e
			}
			return nil
		},
		"Check": Check,
	} {
		b, other := neighbours(p, n)
		writable := addrOf(b)
		Free(b)
		writeStale(writable + n/2)
		Purge()
		var e *MisuseError
		if err := tell(); !errors.As(err, &e) || e.Kind != "write after Free" || e.Addr != writable+n/2 {
			t.Errorf("%s tells %v", how, err)
		}
		Free(other)
		if err := tell(); err != nil {
			t.Errorf("%s tells it twice: %v", how, err)
		}
	}
}

// TestCheckFreedTracked: where blocks have records, a write is told when the block leaves the
// quarantine.
func TestCheckFreedTracked(t *testing.T) {
	p := checked(t)
	if std.records() == nil {
		t.Skip("the slabs serve here")
	}
	b := p.Alloc(100)
	addr := addrOf(b)
	Free(b)
	writeStale(addr + 50)
	e := misuseOf(func() {
		for range 40 {
			Free(p.Alloc(2 << 20)) // More than the quarantine keeps, and more than it keeps of poisoned blocks.
		}
		for range 2000 {
			Free(p.Alloc(1))
		}
	})
	if e == nil {
		if !errors.As(Check(), &e) {
			t.Fatal("nobody told of the write")
		}
	}
	if e.Kind != "write after Free" || e.Addr != addr+50 {
		t.Errorf("%v", e)
	}
}
