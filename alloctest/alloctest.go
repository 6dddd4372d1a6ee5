// SPDX-License-Identifier: Apache-2.0

package alloctest

import (
	"errors"
	"testing"
)

// Allocator has the methods that the suite needs. The package documentation states the contract.
// Sizes are in bytes. An allocator may also implement [Purger], [Limiter] and [Settler]; the suite
// finds them by type assertion.
type Allocator interface {
	// TryAlloc returns a zeroed block of n bytes.
	TryAlloc(n int) ([]byte, error)
	// TryAllocUninit returns a block of n bytes with any contents.
	TryAllocUninit(n int) ([]byte, error)
	// TryAllocAligned returns a zeroed block of n bytes whose address is a multiple of align.
	TryAllocAligned(n, align int) ([]byte, error)
	// TryRealloc changes the length of the block b to n bytes, and may move it.
	TryRealloc(b []byte, n int) ([]byte, error)
	// Free frees the block, given as b or any b[:k].
	Free(b []byte)
	// InUse returns the bytes of the blocks in use. It may count a block by its length or by a
	// larger size that it was rounded to, but must use the same number when the block is freed.
	InUse() int64
}

// Purger is an allocator that can return unused memory to the operating system at once. The suite
// calls Purge between operations: blocks in use must not change, and later blocks must be zeroed as
// always.
type Purger interface{ Purge() }

// Limiter is an allocator whose memory can be limited. SetLimit sets the bound of the bytes in use
// and returns the old bound, which the suite restores. The suite calls it only with
// [Config.Limits]. If the bound is one of the bytes that the allocator holds, free ones among them, the
// allocator has a method Held() int64, which returns these.
type Limiter interface{ SetLimit(n int64) (old int64) }

// Settler is an allocator whose InUse lags behind, for example because frees wait in a queue. The
// suite calls Settle, while no other call is under way, before it compares InUse.
type Settler interface{ Settle() }

// Config describes the promises of the allocator under test beyond the contract. Its zero value,
// with New set, is the bare contract for one goroutine.
type Config struct {
	// New returns the allocator for one subtest. It may return the same one each time, as it must
	// for an allocator that is a package. Close resources in t.Cleanup. Ops and FailEach do not use
	// New.
	New func(t testing.TB) Allocator

	// Misuse says that Free and TryRealloc panic for memory that is not a live block. For a block
	// that was freed already (and not allocated again since) the message has "double free" or
	// "already" in it, for an address inside a block "interior" or "inside", for memory that the
	// allocator does not own "foreign" or "not allocated". Case does not matter.
	Misuse bool

	// Concurrent says that several goroutines may use the allocator at once, and that a goroutine
	// may free a block that another one allocated.
	Concurrent bool

	// GCStress runs the garbage collector again and again during the concurrent checks, and
	// alternates its target. It is slow. It finds memory that the collector should not see.
	GCStress bool

	// Limits runs the checks for an allocator that is a [Limiter].
	Limits bool

	// ExactCap says that the capacity of a block is its length.
	ExactCap bool

	// MaxAlign is the largest alignment promised, in bytes. Zero means 4096.
	MaxAlign int

	// MaxSize is the largest block that the suite requests and must get, in bytes. Zero means 33
	// MiB, 4 MiB in -short mode.
	MaxSize int

	// MaxLive bounds the bytes that the blocks of an Ops stream hold together. Zero means 16 MiB.
	MaxLive int

	// MaxWaste, if not zero, bounds the waste of blocks of more than 64 bytes: the rise of InUse
	// beyond the length, as a share of the length: 0.125 for one eighth.
	MaxWaste float64

	// ErrOutOfMemory must be found by errors.Is in the error for an impossible block. If it is nil,
	// any error is accepted.
	ErrOutOfMemory error

	// ErrLimit must be found by errors.Is in the error for a block that a limit forbids. If it is
	// nil, any error is accepted.
	ErrLimit error
}

// withDefaults returns the configuration with its zero sizes replaced.
func (c Config) withDefaults() Config {
	if c.MaxAlign == 0 {
		c.MaxAlign = 4096
	}
	if c.MaxSize == 0 {
		c.MaxSize = 33 << 20
		if testing.Short() {
			c.MaxSize = 4 << 20
		}
	}
	if c.MaxLive == 0 {
		c.MaxLive = 16 << 20
	}
	return c
}

// isOOM reports whether err is the error promised for memory that cannot be had.
func (c *Config) isOOM(err error) bool {
	return err != nil && (c.ErrOutOfMemory == nil || errors.Is(err, c.ErrOutOfMemory))
}

// isLimit reports whether err is the error promised for a limit reached.
func (c *Config) isLimit(err error) bool {
	return err != nil && (c.ErrLimit == nil || errors.Is(err, c.ErrLimit))
}

// CheckLeaks notes the bytes of a in use, and makes the test fail if another number is in use at
// its end. Call it before you register cleanups that free blocks: cleanups run last in, first out.
// If a is a [Settler], CheckLeaks calls Settle before it reads the number.
func CheckLeaks(t testing.TB, a interface{ InUse() int64 }) {
	t.Helper()
	before := settledInUse(a)
	t.Cleanup(func() {
		t.Helper()
		if t.Failed() {
			return // The test stopped early, so blocks in use say nothing new.
		}
		if after := settledInUse(a); after != before {
			t.Errorf("alloctest: %d bytes in use at the end, %d at the start: %+d leaked",
				after, before, after-before)
		}
	})
}

// settledInUse returns a.InUse() after letting a finish what it has put off.
func settledInUse(a interface{ InUse() int64 }) int64 {
	if s, ok := a.(Settler); ok {
		s.Settle()
	}
	return a.InUse()
}
