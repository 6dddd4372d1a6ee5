// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/freehold-go/freehold/internal/sizeclass"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// ownedValue has memory of its own, because it holds a bool.
type ownedValue struct {
	n  uint64
	ok bool
}

// TestOwnedBlocks: of each size, blocks of arenas come and go beside blocks of the program, so that
// the holder's slots have free blocks of both. No function frees, resizes or moves a block of an
// arena, and the arena's free works.
func TestOwnedBlocks(t *testing.T) {
	quiet(t)
	p := NewPurpose("TestOwnedBlocks")
	l := NewLocal()
	defer l.Close()
	for class := range uint32(sizeclass.Count) {
		n := int(sizeclass.Size(class))
		ownedBlocks(t, p, l, nil, n)
		if n%int(unsafex.Size[ownedValue]()) == 0 {
			ownedBlocks(t, p, l, reflect.TypeFor[ownedValue](), n/int(unsafex.Size[ownedValue]()))
		}
	}
	ownedBlocks(t, p, l, nil, 1<<20)
	ownedBlocks(t, p, l, reflect.TypeFor[ownedValue](), 1<<17)
}

func ownedBlocks(t *testing.T, p *Purpose, l *Local, typ reflect.Type, n int) {
	t.Helper()
	var blocks []uintptr
	for range 12 {
		addr, err := makeOwned(p, typ, n)
		if err != nil {
			t.Fatal(err)
		}
		blocks = append(blocks, addr)
		if caught(func() { Free(unsafex.Bytes(addr, 8)) }) == nil { // Its slot may have been refilled just now.
			t.Fatalf("no panic after a Free of a new block of an arena for %d of %v", n, typ)
		}
		Free(AllocUninit(n))
		Free(p.AllocUninit(n))
		l.Free(l.AllocUninit(n))
		Delete(For[ownedValue](p).New())
	}
	for _, addr := range blocks[:6] {
		freeOwned(addr, typ)
	}
	before := ReadStats().InUse
	for _, addr := range blocks[6:] {
		s := unsafex.Slice[uint64](addr, 1, 1)
		v := unsafex.At[ownedValue](addr)
		deleteRef := func() { DeleteRef(RefOf(&s[0])) }
		if typ != nil {
			deleteRef = func() { DeleteRef(RefOf(v)) }
		}
		for name, f := range map[string]func(){
			"Free":                func() { Free(unsafex.Bytes(addr, 8)) },
			"Free of all":         func() { Free(unsafex.Bytes(addr, uintptr(n))) },
			"Local.Free":          func() { l.Free(unsafex.Bytes(addr, uintptr(n))) },
			"Delete":              func() { Delete(v) },
			"DeleteRef":           deleteRef,
			"In(Local).Delete":    func() { In[ownedValue](l).Delete(v) },
			"FreeSlice":           func() { FreeSlice(s) },
			"FreeSlice of typed":  func() { FreeSlice(unsafex.Slice[ownedValue](addr, 1, 1)) },
			"In(Local).FreeSlice": func() { In[uint64](l).FreeSlice(s) },
			"Append":              func() { Append(s, 1) },
			"Grow":                func() { Grow(s, 1) },
			"Realloc":             func() { Realloc(s, 1) },
			"Realloc to none":     func() { Realloc(s, 0) },
			"Realloc of typed":    func() { Realloc(unsafex.Slice[ownedValue](addr, 1, 1), 2) },
			"Free of none":        func() { Free(unsafex.Slice[byte](addr, 0, 0)) },
			"Free inside":         func() { Free(unsafex.Bytes(addr+4, 4)) },
			"Delete inside":       func() { Delete(unsafex.At[uint32](addr + 4)) },
			"Append inside":       func() { Append(unsafex.Slice[uint32](addr+4, 1, 1), 1) },
			"Grow inside":         func() { Grow(unsafex.Slice[uint32](addr+4, 1, 1), 1) },
			"Realloc inside":      func() { Realloc(unsafex.Slice[uint32](addr+4, 1, 1), 2) },
		} {
			v := caught(f)
			var m *MisuseError
			if err, _ := v.(error); !errors.As(err, &m) || !strings.Contains(m.Error(), "only arenas use") {
				t.Errorf("%s of a block of an arena for %d of %v: panic %v, want a MisuseError that names arenas", name, n, typ, v)
			}
		}
	}
	if now := ReadStats().InUse; now != before {
		t.Errorf("refused frees of blocks for %d of %v have changed the bytes in use from %d to %d", n, typ, before, now)
	}
	for _, addr := range blocks[6:] {
		if v := caught(func() { freeOwned(addr, typ) }); v != nil {
			t.Errorf("the arena's free of a block for %d of %v: %v", n, typ, v)
		}
		if v := fmt.Sprint(caught(func() { freeOwned(addr, typ) })); v == "<nil>" {
			t.Errorf("no panic after a second free by the arena of a block for %d of %v", n, typ)
		}
	}
}

// TestOwnedStaleFree frees a block that was freed long ago, again and again, while its slab becomes one of an arena's
// blocks and back. No such free may succeed: the block is an arena's or free at all times. A fault here is found by
// chance, when the slab changes in the midst of a free.
func TestOwnedStaleFree(t *testing.T) {
	quiet(t)
	if std.serving() != nil || runtime.GOMAXPROCS(0) < 2 {
		t.Skip("it takes slabs and two Ps")
	}
	const n = 16 << 10 // A group of one block, which no slot holds.
	trials := 4000
	if testing.Short() {
		trials = 1000
	}
	p := NewPurpose("TestOwnedStaleFree")
	x, y := p.Alloc(n), p.Alloc(n)
	if unsafex.Addr(&y[0]) > unsafex.Addr(&x[0]) {
		x, y = y, x
	}
	low := unsafex.Addr(&y[0])
	Free(x)
	Free(y)
	Purge()
	var stop, freed atomic.Bool
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for !stop.Load() {
			if caught(func() { Free(x) }) == nil {
				freed.Store(true)
			}
		}
	}()
	same := 0
	for range trials {
		y := p.Alloc(n) // x is the other block of its slab.
		if unsafex.Addr(&y[0]) != low {
			Free(y)
			Purge()
			continue
		}
		Free(y) // Now the slab goes.
		var blocks [2]uintptr
		for i := range blocks {
			addr, err := makeOwned(p, nil, n)
			if err != nil {
				t.Fatal(err)
			}
			blocks[i] = addr
			if addr == low {
				same++
			}
		}
		if freed.Load() {
			t.Fatal("the free of a stale slice has freed a block of an arena")
		}
		for _, addr := range blocks {
			freeOwned(addr, nil)
		}
	}
	stop.Store(true)
	<-stopped
	t.Logf("%d of %d times the slab became one of an arena's", same, trials)
}
