// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"testing"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/alloctest"
	"github.com/freehold-go/freehold/offheap"
)

// blocks makes the functions of offheap an allocator for the suite.
type blocks struct{}

func (blocks) TryAlloc(n int) ([]byte, error)               { return offheap.TryAlloc(n) }
func (blocks) TryAllocUninit(n int) ([]byte, error)         { return offheap.TryAllocUninit(n) }
func (blocks) TryAllocAligned(n, align int) ([]byte, error) { return offheap.TryAllocAligned(n, align) }
func (blocks) TryRealloc(b []byte, n int) ([]byte, error)   { return offheap.TryRealloc(b, n) }
func (blocks) Free(b []byte)                                { offheap.Free(b) }
func (blocks) InUse() int64                                 { return offheap.ReadStats().InUse }
func (blocks) Held() int64                                  { return offheap.ReadStats().Held }
func (blocks) Purge()                                       { offheap.Purge() }
func (blocks) SetLimit(n int64) (old int64)                 { return offheap.SetLimit(n) }

// localBlocks makes a Local one. What it does not have comes from the functions of the package.
type localBlocks struct {
	blocks
	l *offheap.Local
}

func (b localBlocks) TryAlloc(n int) ([]byte, error)       { return b.l.TryAlloc(n) }
func (b localBlocks) TryAllocUninit(n int) ([]byte, error) { return b.l.TryAllocUninit(n) }
func (b localBlocks) Free(p []byte)                        { b.l.Free(p) }

// promises are those of offheap. With sampled guarded pages the room of a block that is freed at the
// limit is not always room for the next, since it may have been on pages of its own.
func promises() alloctest.Config {
	return alloctest.Config{
		Misuse: true, Concurrent: true, ExactCap: true, Limits: freehold.Modes().Sample == 0, MaxWaste: 0.126,
		ErrOutOfMemory: offheap.ErrOutOfMemory, ErrLimit: offheap.ErrLimit,
	}
}

func TestBlocks(t *testing.T) {
	c := promises()
	c.GCStress = true
	c.New = func(testing.TB) alloctest.Allocator { return blocks{} }
	alloctest.Test(t, c)
}

func TestBlocksOfLocal(t *testing.T) {
	c := promises()
	c.Concurrent, c.Limits = false, false
	c.New = func(t testing.TB) alloctest.Allocator {
		l := offheap.NewLocal()
		t.Cleanup(l.Close)
		return localBlocks{l: l}
	}
	alloctest.Test(t, c)
}

func FuzzBlocks(f *testing.F) {
	alloctest.FuzzSeeds(f)
	f.Fuzz(func(t *testing.T, ops []byte) { alloctest.Ops(t, blocks{}, ops, promises()) })
}

// valuesOf are the functions of offheap for one type.
func valuesOf[T any](value func(i int) T) alloctest.Typed[T] {
	return alloctest.Typed[T]{
		New: offheap.New[T], Delete: offheap.Delete[T],
		MakeSlice: offheap.MakeSlice[T], FreeSlice: offheap.FreeSlice[T],
		Append: offheap.Append[T], Value: value, Misuse: true,
		InUse: func() int64 { return offheap.ReadStats().InUse },
	}
}

// flags has no padding: in a slice that Go's append has grown, padding may hold what lay there
// before, such as an address of the Go heap, which the mode pointers reports after a copy.
type flags struct {
	a bool
	b [6]uint8
	c bool
	n int64
}

type link struct {
	_    offheap.UnsafeSelfContained
	next *link
	n    int64
}

// manyFlags is a large block of its own.
type manyFlags [70_000]bool

func TestValues(t *testing.T) {
	t.Run("bytes", func(t *testing.T) { alloctest.TestTyped(t, valuesOf(func(i int) byte { return byte(i) })) })
	t.Run("plain", func(t *testing.T) {
		alloctest.TestTyped(t, valuesOf(func(i int) pair { return pair{int64(i), -int64(i)} }))
	})
	t.Run("bools", func(t *testing.T) {
		alloctest.TestTyped(t, valuesOf(func(i int) flags { return flags{i%2 == 0, [6]uint8{uint8(i)}, i%3 == 0, int64(i)} }))
	})
	t.Run("large with bools", func(t *testing.T) {
		alloctest.TestTyped(t, valuesOf(func(i int) (v manyFlags) { v[i%70_000] = true; return v }))
	})
	t.Run("self-contained", func(t *testing.T) {
		alloctest.TestTyped(t, valuesOf(func(i int) link { return link{n: int64(i)} }))
	})
	t.Run("of a Local", func(t *testing.T) {
		l := offheap.NewLocal()
		defer l.Close()
		typed := offheap.In[flags](l)
		alloctest.TestTyped(t, alloctest.Typed[flags]{
			New: typed.New, Delete: typed.Delete, Value: func(i int) flags { return flags{a: i%2 == 0, n: int64(i)} },
			Misuse: true, InUse: func() int64 { return offheap.ReadStats().InUse },
		})
	})
}
