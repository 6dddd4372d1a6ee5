// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/freehold-go/freehold/alloctest"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// lockFree is a node of a lock-free stack, with a field in front that would move a 64-bit word to a
// multiple of 4 on a 32-bit processor.
type lockFree struct {
	key  uint32
	next AtomicRef[lockFree]
}

type lockFreeTyped struct {
	on   bool
	next AtomicRef[lockFreeTyped]
}

func TestAtomicRef(t *testing.T) {
	quiet(t)
	if n := unsafe.Sizeof(AtomicRef[int]{}); n != 8 {
		t.Errorf("an AtomicRef is %d bytes, want 8", n)
	}
	if typ := reflect.TypeFor[AtomicRef[int]]().Field(1).Type; typ != reflect.TypeFor[atomic.Uint64]() {
		t.Errorf("the number is a %s; go vet reports copies of an atomic.Uint64, which is aligned to 8", typ)
	}
	var a AtomicRef[point]
	p, q := RefOf(New[point]()), RefOf(New[point]())
	if !a.Load().IsNil() || a.CompareAndSwap(p, q) || !a.CompareAndSwap(Ref[point]{}, p) || a.Load() != p {
		t.Errorf("CompareAndSwap leaves %v", a.Load())
	}
	if old := a.Swap(q); old != p || a.Load() != q {
		t.Errorf("Swap gives %v and leaves %v", old, a.Load())
	}
	a.Store(Ref[point]{})
	if !a.Load().IsNil() {
		t.Errorf("Store of nil leaves %v", a.Load())
	}
	DeleteRef(p)
	DeleteRef(q)
}

// TestAtomicRefAlignment: a 64-bit word must lie at a multiple of 8, on 32-bit processors too, in
// values and slices of each kind of memory.
func TestAtomicRefAlignment(t *testing.T) {
	quiet(t)
	for range 100 {
		p, q, s := New[lockFree](), New[lockFreeTyped](), MakeSlice[lockFree](3, 3)
		for _, addr := range []uintptr{unsafex.Addr(&p.next), unsafex.Addr(&q.next), unsafex.Addr(&s[1].next), unsafex.Addr(&s[2].next)} {
			if addr%8 != 0 {
				t.Fatalf("an AtomicRef lies at %#x", addr)
			}
		}
		p.next.Store(RefOf(p))
		q.next.Store(RefOf(q))
		Delete(p)
		Delete(q)
		FreeSlice(s)
	}
}

// TestAtomicRefStack pushes from many goroutines. The tag in the upper bits of the head is a
// version.
func TestAtomicRefStack(t *testing.T) {
	quiet(t)
	var head AtomicRef[lockFree]
	node := func(r Ref[lockFree]) Ref[lockFree] { return RefFromUint64[lockFree](r.Uint64() & (1<<RefBits - 1)) }
	next := func(r, old Ref[lockFree]) Ref[lockFree] { // r, with the version after that of old.
		version := old.Uint64()>>RefBits + 1
		return RefFromUint64[lockFree](r.Uint64() | version<<RefBits)
	}
	push := func(r Ref[lockFree]) {
		for {
			old := head.Load()
			r.Ptr().next.Store(node(old))
			if head.CompareAndSwap(old, next(r, old)) {
				return
			}
		}
	}
	const workers, each = 8, 500
	var done sync.WaitGroup
	for g := range workers {
		done.Go(func() {
			for i := range each {
				r := RefOf(New[lockFree]())
				r.Ptr().key = uint32(g*each + i)
				push(r)
			}
		})
	}
	done.Wait()
	if version := head.Load().Uint64() >> RefBits; version != workers*each%256 {
		t.Errorf("the version is %d after %d changes", version, workers*each)
	}
	seen := map[uint32]bool{}
	for r := node(head.Load()); !r.IsNil(); {
		p := r.Ptr()
		if seen[p.key] {
			t.Fatalf("node %d is there twice", p.key)
		}
		seen[p.key] = true
		old := r
		r = p.next.Load()
		DeleteRef(old)
	}
	if len(seen) != workers*each {
		t.Errorf("%d nodes of %d are there", len(seen), workers*each)
	}
}

// TestRefNumbers: the bits that RefBits calls free are 0 for each kind of block.
func TestRefNumbers(t *testing.T) {
	quiet(t)
	refNumbers[byte](t)
	refNumbers[uint16](t)
	refNumbers[point](t)
	refNumbers[flags](t)
	refNumbers[link](t)
	refNumbers[lockFree](t)
	refNumbers[[9000]uint64](t)
	refNumbers[struct{}](t)
	if n := uint64(guardedRef); n>>(RefBits-1) != 1 {
		t.Errorf("the Ref of a guarded block has the bit %#x", n)
	}
	if n := (Ref[int]{}).Uint64(); n != 0 || !RefFromUint64[int](0).IsNil() {
		t.Errorf("the number of nil is %d", n)
	}
}

func refNumbers[T any](t *testing.T) {
	t.Helper()
	s := MakeSlice[T](7, 7)
	p := New[T]()
	for _, q := range append([]*T{p}, &s[0], &s[1], &s[6]) {
		r := RefOf(q)
		n := r.Uint64()
		if n == 0 || n>>RefBits != 0 || n%uint64(unsafex.Align[T]()) != 0 || RefFromUint64[T](n) != r || unsafex.Size[T]() > 0 && RefFromUint64[T](n).Ptr() != q {
			t.Errorf("%v has the number %#x, which does not lead back or has bits that should be free", r, n)
		}
		for _, tag := range []uint64{1 << RefBits, 1 << 63, 255 << RefBits} {
			tagged := RefFromUint64[T](n | tag)
			if unsafex.Size[T]() > 0 {
				alloctest.MustPanic(t, func() { tagged.Ptr() }, "does not lead to", "tag")
			}
			if RefFromUint64[T](tagged.Uint64()&^tag) != r {
				t.Errorf("%v has lost bits with its tag", r)
			}
		}
		if unsafex.Align[T]() > 1 {
			alloctest.MustPanic(t, func() { RefFromUint64[T](n | 1).Ptr() }, "does not lead to")
		}
	}
	Delete(p)
	FreeSlice(s)
}

// TestForgedNumbers resolves each number around a block of a type with a bool: it leads to a place
// where a value of the type begins, or nowhere.
func TestForgedNumbers(t *testing.T) {
	quiet(t)
	s, other := MakeSlice[odd](40, 40), MakeSlice[flags](40, 40)
	size := unsafe.Sizeof(odd{})
	base, at := unsafex.SliceAddr(s), RefOf(&s[0]).Uint64()
	for step := range 40 * uint64(size) {
		var p *odd
		v := caught(func() { p = RefFromUint64[odd](at + step).Ptr() })
		if (v == nil) != (step%uint64(size) == 0) || v == nil && unsafex.Addr(p) != base+uintptr(step) {
			t.Fatalf("%d bytes on: %v, panic value %v", step, p, v)
		}
		if caught(func() { RefFromUint64[bool](at + step).Ptr() }) == nil || caught(func() { RefFromUint64[uint64](at + step).Ptr() }) == nil {
			t.Fatalf("%d bytes on, a value of another type", step)
		}
	}
	damaged[odd](t, RefOf(&other[1]).Uint64())
	damaged[odd](t, 0x5a5a_5a5a_5a5a)
	FreeSlice(s)
	FreeSlice(other)
}
