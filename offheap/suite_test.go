// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"testing"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/alloctest"
	"github.com/freehold-go/freehold/internal/checks/fakemem"
	"github.com/freehold-go/freehold/internal/debugmode"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/internal/vmem"
)

func addrOf(b []byte) uintptr { return unsafex.SliceAddr(b) }

// config is what offheap promises. With the kill switch double frees and foreign pointers cannot be
// told apart; the message names both. With sampled guarded pages the room of a block that is freed
// at the limit is not always room for the next, since it may have been on pages of its own.
func config() alloctest.Config {
	std.start()
	return alloctest.Config{
		Misuse: true, Concurrent: true, ExactCap: true, Limits: std.guards == nil, MaxWaste: 0.126,
		ErrOutOfMemory: ErrOutOfMemory, ErrLimit: ErrLimit,
	}
}

func needOwnMemory(t testing.TB) {
	t.Helper()
	if freehold.HeapMode() || !vmem.Supported {
		t.Skip("blocks come from the Go heap here")
	}
}

// needMapped is for tests of addresses, which on the Go heap are its own.
func needMapped(t testing.TB) {
	t.Helper()
	if std.start(); !vmem.Supported || std.serving() != nil && std.serving().under == nil {
		t.Skip("blocks come from the Go heap here")
	}
}

// needSlabs is for tests of what only slabs do: in the debug modes, and under the race detector,
// the package's functions have none.
func needSlabs(t testing.TB) {
	t.Helper()
	needOwnMemory(t)
	if std.start(); std.serving() != nil {
		t.Skip("the slabs do not serve here")
	}
}

// needNoSamples skips a test that reads what it has freed, or counts on where blocks lie, where
// some lie on guarded pages.
func needNoSamples(t testing.TB) {
	t.Helper()
	if debugmode.Current().Sample > 0 {
		t.Skip("sample: some blocks lie on guarded pages")
	}
}

func TestSuiteOfFreshHeaps(t *testing.T) {
	needOwnMemory(t)
	cfg := config()
	cfg.New = func(t testing.TB) alloctest.Allocator { return releasedHeap(t, &fakemem.Fake{}) }
	alloctest.Test(t, cfg)
}

// releasedHeap is a heap whose address space goes back after the test, which a real one's never
// does: there is little of it on 32-bit systems.
func releasedHeap(t testing.TB, fake *fakemem.Fake) testHeap {
	t.Cleanup(func() {
		for _, err := range fake.Violations() {
			t.Error(err)
		}
		for _, r := range fake.Outstanding() {
			if err := vmem.System().Release(r.Addr, r.Size); err != nil {
				t.Error(err)
			}
		}
	})
	return newTestHeap(fake)
}

// TestEveryCallFails lets the n-th call to the operating system fail, for each n.
func TestEveryCallFails(t *testing.T) {
	needOwnMemory(t)
	alloctest.FailEach(t, config(), func(t testing.TB, failAt int) (alloctest.Allocator, func() bool) {
		fake := &fakemem.Fake{}
		fake.FailAt(failAt)
		return releasedHeap(t, fake), func() bool { return fake.Injected() > 0 }
	})
}
