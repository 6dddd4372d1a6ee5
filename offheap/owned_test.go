// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/freehold-go/freehold/internal/sizeclass"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// ownedValue has memory of its own, because it holds a bool.
type ownedValue struct {
	n  uint64
	ok bool
}

// TestOwnedBlocks: of each size, blocks of arenas come and go beside blocks of the program, so that the holder's slots
// have free blocks of both. No function frees, resizes or moves a block by a value that an arena has cut from it, and the
// arena's free works once.
func TestOwnedBlocks(t *testing.T) {
	quiet(t)
	p := NewPurpose("TestOwnedBlocks")
	l := NewLocal()
	defer l.Close()
	for class := range uint32(sizeclass.Count) {
		n := int(sizeclass.Size(class))
		ownedBlocks(t, p, l, nil, n, 8)
		if size := int(unsafex.Size[ownedValue]()); n%size == 0 && n > size {
			ownedBlocks(t, p, l, reflect.TypeFor[ownedValue](), n/size, uintptr(size))
		}
	}
	ownedBlocks(t, p, l, nil, 1<<20, 8)
	ownedBlocks(t, p, l, reflect.TypeFor[ownedValue](), 1<<17, unsafex.Size[ownedValue]())
}

// ownedBlocks is TestOwnedBlocks for blocks of n values, of which an arena cuts the first one lead bytes behind the beginning.
func ownedBlocks(t *testing.T, p *Purpose, l *Local, typ reflect.Type, n int, lead uintptr) {
	t.Helper()
	var blocks []uintptr
	for range 6 {
		addr, err := makeOwned(p, typ, n)
		if err != nil {
			t.Fatal(err)
		}
		blocks = append(blocks, addr)
		Free(AllocUninit(n))
		Free(p.AllocUninit(n))
		l.Free(l.AllocUninit(n))
		Delete(For[ownedValue](p).New())
	}
	before := ReadStats().InUse
	for _, addr := range blocks {
		at := addr + lead
		s, v := unsafex.Slice[uint64](at, 1, 1), unsafex.At[ownedValue](at)
		for name, f := range map[string]func(){
			"Free":                func() { Free(unsafex.Bytes(at, 8)) },
			"Local.Free":          func() { l.Free(unsafex.Bytes(at, 8)) },
			"Delete":              func() { Delete(v) },
			"In(Local).Delete":    func() { In[ownedValue](l).Delete(v) },
			"FreeSlice":           func() { FreeSlice(s) },
			"FreeSlice of typed":  func() { FreeSlice(unsafex.Slice[ownedValue](at, 1, 1)) },
			"In(Local).FreeSlice": func() { In[uint64](l).FreeSlice(s) },
			"Append":              func() { Append(s, 1) },
			"Grow":                func() { Grow(s, 1) },
			"Realloc":             func() { Realloc(s, 1) },
			"Realloc to none":     func() { Realloc(s, 0) },
			"Realloc of typed":    func() { Realloc(unsafex.Slice[ownedValue](at, 1, 1), 2) },
		} {
			if n <= 8 && typ == nil {
				continue // There is no room for a value.
			}
			v := caught(f)
			var m *MisuseError
			if err, _ := v.(error); !errors.As(err, &m) {
				t.Errorf("%s of a value in a block of an arena for %d of %v: panic %v, want a MisuseError", name, n, typ, v)
			}
		}
	}
	if now := ReadStats().InUse; now != before {
		t.Errorf("refused frees of blocks for %d of %v have changed the bytes in use from %d to %d", n, typ, before, now)
	}
	for _, addr := range blocks {
		if v := caught(func() { freeOwned(addr, typ) }); v != nil {
			t.Errorf("the arena's free of a block for %d of %v: %v", n, typ, v)
		}
		if v := fmt.Sprint(caught(func() { freeOwned(addr, typ) })); v == "<nil>" {
			t.Errorf("no panic after a second free by the arena of a block for %d of %v", n, typ)
		}
	}
}
