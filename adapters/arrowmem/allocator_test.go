// SPDX-License-Identifier: Apache-2.0

package arrowmem

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/freehold-go/freehold/offheap"
)

// newAllocator makes an allocator with an account of its own, which the test must leave empty.
func newAllocator(t testing.TB) *Allocator {
	t.Helper()
	a := NewAllocator(Options{Purpose: offheap.NewPurpose(t.Name())})
	t.Cleanup(func() {
		if n := inUse(t, a); n != 0 {
			t.Errorf("%d bytes are in use at the end of the test", n)
		}
	})
	return a
}

// inUse is the bytes in use on the allocator's account.
func inUse(t testing.TB, a *Allocator) int64 {
	t.Helper()
	list := offheap.ReadStats().Purposes
	i := slices.IndexFunc(list, func(s offheap.PurposeStats) bool { return s.Name == a.purpose.Name() })
	if i < 0 {
		t.Fatalf("no purpose %q", a.purpose.Name())
	}
	return list[i].InUse
}

func address(b []byte) uintptr { return reflect.ValueOf(b).Pointer() }

func allZero(b []byte) bool { return !slices.ContainsFunc(b, func(c byte) bool { return c != 0 }) }

// The sizes and pairs of sizes of arrow's own tests of its allocators:
// arrow/memory/go_allocator_test.go and arrow/memory/mallocator/mallocator_test.go of arrow-go
// v18.8.0, and larger ones.
var (
	sizes = []int{0, 1, 4, 33, 64, 65, 4095, 4096, 4097, 8192, 8193, 70_000, 1 << 20}
	pairs = [][2]int{{0, 1}, {1, 0}, {1, 2}, {1, 33}, {4, 4}, {32, 16}, {32, 1}, {200, 100}, {200, 200}, {200, 300},
		{64, 256}, {256, 64}, {80, 81}, {4096, 100_000}, {100_000, 64}, {1 << 20, 2 << 20}}
)

func TestAllocate(t *testing.T) {
	a := newAllocator(t)
	for _, size := range sizes {
		b := a.Allocate(size)
		if len(b) != size || cap(b) != size || !allZero(b) || size > 0 && address(b)%64 != 0 {
			t.Errorf("Allocate(%d): length %d, capacity %d, at %#x, zero: %v", size, len(b), cap(b), address(b), allZero(b))
		}
		for i := range b {
			b[i] = 0xFF // So that the next one is not zero by luck.
		}
		a.Free(b)
	}
}

func TestReallocate(t *testing.T) {
	for _, pair := range pairs {
		t.Run(fmt.Sprintf("%dTo%d", pair[0], pair[1]), func(t *testing.T) {
			a := newAllocator(t)
			b := a.Allocate(pair[0])
			for i := range b {
				b[i] = byte(i)
			}
			want := make([]byte, pair[1])
			copy(want, b)
			b = a.Reallocate(pair[1], b)
			if !bytes.Equal(b, want) || len(b) > 0 && address(b)%64 != 0 {
				t.Errorf("%d bytes at %#x are not those from before with zeros behind", len(b), address(b))
			}
			if n := inUse(t, a); n > 4*int64(pair[1])+8<<10 {
				t.Errorf("%d bytes in use by a block of %d", n, pair[1])
			}
			a.Free(b)
		})
	}
}

// TestChecked is arrow's check of an allocator, through the Buffer that all of arrow uses.
func TestChecked(t *testing.T) {
	checked := memory.NewCheckedAllocator(newAllocator(t))
	defer checked.AssertSize(t, 0)
	b := memory.NewResizableBuffer(checked)
	defer b.Release()
	want := []byte{}
	for _, n := range []int{0, 1, 64, 65, 1000, 100, 0, 300, 1 << 20, 10} {
		old := len(want)
		b.Resize(n)
		want = append(want, make([]byte, max(0, n-old))...)[:n]
		for i := min(old, n); i < n; i++ {
			want[i], b.Bytes()[i] = byte(i), byte(i)
		}
		if !bytes.Equal(b.Bytes(), want) || n > 0 && address(b.Bytes())%64 != 0 {
			t.Fatalf("resized to %d: %d bytes at %#x are not what was written", n, b.Len(), address(b.Bytes()))
		}
	}
	if n := checked.CurrentAlloc(); n != 64 {
		t.Errorf("a buffer of 10 bytes takes %d", n)
	}
}

func TestRefused(t *testing.T) {
	a := newAllocator(t)
	kept := a.Allocate(1000)
	copy(kept, "kept")
	a.purpose.SetLimit(8 << 20)
	mustPanic := func(what string, want error, f func()) {
		t.Helper()
		defer func() {
			t.Helper()
			if err, _ := recover().(error); err == nil || want != nil && !errors.Is(err, want) {
				t.Errorf("%s: panicked with %v, want %v", what, err, want)
			}
		}()
		f()
	}
	mustPanic("Allocate beyond the limit", offheap.ErrLimit, func() { a.Allocate(64 << 20) })
	mustPanic("Reallocate beyond the limit", offheap.ErrLimit, func() { a.Reallocate(64<<20, kept) })
	mustPanic("Allocate(-1)", nil, func() { a.Allocate(-1) })
	mustPanic("Reallocate(-1)", nil, func() { a.Reallocate(-1, kept) })
	if string(kept[:4]) != "kept" {
		t.Error("a block that could not grow has lost its bytes")
	}
	a.purpose.SetLimit(1)
	if kept = a.Reallocate(10, kept); string(kept[:4]) != "kept" || len(kept) != 10 {
		t.Errorf("a block that shrinks at the limit has %d bytes, or others", len(kept))
	}
	a.Free(kept)
	mustPanic("a second Free", nil, func() {
		defer func() {
			v := recover()
			if m, ok := v.(*offheap.MisuseError); !ok || m.Kind != "double free" {
				t.Errorf("a second Free: %v", v)
			}
			panic(v)
		}()
		a.Free(kept)
	})
	a.Free(nil)
}

func TestManyGoroutines(t *testing.T) {
	a := newAllocator(t)
	var workers sync.WaitGroup
	for g := range 4 {
		workers.Go(func() {
			b := a.Allocate(64)
			for i := range 1000 {
				n := 64 * (1 + i*(g+7)%300)
				b = a.Reallocate(n, b)
				b[0], b[n-1] = byte(g), byte(g)
				if b[0] != byte(g) {
					t.Error("two goroutines have the same block")
				}
			}
			a.Free(b)
		})
	}
	workers.Wait()
}

// TestZeroAllocator: an Allocator that NewAllocator did not make says so.
func TestZeroAllocator(t *testing.T) {
	for what, f := range map[string]func(a *Allocator){
		"Allocate":   func(a *Allocator) { a.Allocate(64) },
		"Reallocate": func(a *Allocator) { a.Reallocate(64, nil) },
	} {
		func() {
			defer func() {
				if m, _ := recover().(*offheap.MisuseError); m == nil || m.Op != "arrowmem.Allocator."+what {
					t.Errorf("%s of a zero Allocator: %v", what, m)
				}
			}()
			f(new(Allocator))
		}()
	}
}
