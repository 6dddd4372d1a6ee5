// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"testing"
	"unsafe"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/internal/invariants"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/offheap"
)

// doorKinds are arenas of all kinds, by name, whether they take pointers, and whether they take bools.
func doorKinds(t testing.TB) map[string]doorKind {
	kinds := map[string]doorKind{
		"nil":             {nil, true, true},
		"Go memory":       {NewArena(), true, true},
		"shared":          {NewShared(), true, true},
		"no reuse":        {NewWith(Options{NoReuse: true}), true, true},
		"off-heap":        {NewOffHeap(Options{}), false, true},
		"off-heap shared": {NewOffHeap(Options{Shared: true}), false, true},
		"fixed":           {NewFixed(1 << 20), false, false},
		"Pool":            {new(Pool).Get(), true, true},
	}
	if freehold.HeapMode() {
		kinds = map[string]doorKind{"nil": {nil, true, true}, "heap": {NewArena(), true, true}, "heap shared": {NewShared(), true, true}}
	}
	for _, k := range kinds {
		Cleanup(t, k.a)
	}
	return kinds
}

type doorKind struct {
	a               *Arena
	pointers, bools bool
}

// takes says whether values of the type may lie in the arena.
func (k doorKind) takes(d *typeDesc) bool {
	return (k.pointers || !d.scan) && (k.bools || d.flow != typedFlow)
}

var doorTypes = []reflect.Type{
	reflect.TypeFor[point](), reflect.TypeFor[odd](), reflect.TypeFor[uint32](), reflect.TypeFor[byte](), reflect.TypeFor[flag](),
	reflect.TypeFor[struct{}](), reflect.TypeFor[node](), reflect.TypeFor[string](), reflect.TypeFor[any](), reflect.TypeFor[[200]*int](),
	reflect.TypeFor[[300]uint64](), reflect.TypeFor[map[int]int](),
}

// allZero says whether the n values at p are zero.
func allZero(t reflect.Type, p unsafe.Pointer, n int) bool {
	for i := range n {
		if !reflect.NewAt(t, unsafe.Add(p, uintptr(i)*t.Size())).Elem().IsZero() {
			return false
		}
	}
	return true
}

// scribble fills n values with what their type may hold.
func scribble(t reflect.Type, p unsafe.Pointer, n int) {
	for i := range n {
		v := reflect.NewAt(t, unsafe.Add(p, uintptr(i)*t.Size())).Elem()
		switch t {
		case reflect.TypeFor[node]():
			v.Set(reflect.ValueOf(node{name: fmt.Sprint(i), next: &node{name: "n"}}))
		case reflect.TypeFor[string]():
			v.SetString(fmt.Sprint("text ", i))
		case reflect.TypeFor[any]():
			v.Set(reflect.ValueOf(i + 1<<20))
		case reflect.TypeFor[map[int]int]():
			v.Set(reflect.ValueOf(map[int]int{i: i}))
		case reflect.TypeFor[[200]*int]():
			v.Index(i % 200).Set(reflect.ValueOf(&i))
		case reflect.TypeFor[flag]():
			v.Set(reflect.ValueOf(flag{true}))
		default:
			unsafex.FillAt(v.Addr().UnsafePointer(), t.Size(), 0xA5)
		}
	}
}

// TestUnsafeValues makes values of each type by each way in each kind of arena: they are zero, do not
// overlap, and keep what is written.
func TestUnsafeValues(t *testing.T) {
	for name, k := range doorKinds(t) {
		for range 3 {
			for _, typ := range doorTypes {
				u := UnsafeTypeOf(typ)
				if !k.takes(u.desc) {
					continue
				}
				for _, n := range []int{1, 2, 3, 0, 17, 100, 1, 1} {
					var p unsafe.Pointer
					var err error
					if n == 1 {
						p, err = k.a.UnsafeNew(u)
					} else {
						p, err = k.a.UnsafeMakeSlice(u, n)
					}
					switch {
					case err != nil:
						t.Fatalf("%s: %d of %s: %v", name, n, typ, err)
					case p == nil || uintptr(p)%uintptr(typ.Align()) != 0:
						t.Fatalf("%s: %d of %s lie at %p", name, n, typ, p)
					case !allZero(typ, p, n):
						t.Fatalf("%s: %d of %s are not zero", name, n, typ)
					}
					scribble(typ, p, n)
				}
			}
			b, err := k.a.UnsafeBytes(100)
			if err != nil || len(b) != 100 {
				t.Fatalf("%s: UnsafeBytes: %d bytes, %v", name, len(b), err)
			}
			for i := range b {
				b[i] = 0xA5
			}
			if b, err := k.a.UnsafeBytes(0); b == nil || len(b) != 0 || err != nil {
				t.Errorf("%s: UnsafeBytes(0) is %v, %v", name, b, err)
			}
			k.a.Reset(Keep)
		}
	}
}

// TestUnsafeTypeOnce: there is one UnsafeType for each type, and none of a type that reflect did not
// make.
func TestUnsafeTypeOnce(t *testing.T) {
	if u := UnsafeTypeOf(reflect.TypeFor[point]()); u != UnsafeTypeOf(reflect.TypeFor[point]()) || u.Type() != reflect.TypeFor[point]() || u.String() != "arena.point" {
		t.Errorf("two of one type, or the wrong one: %v", u)
	}
	type fake struct{ reflect.Type }
	for _, f := range []func(){
		func() { UnsafeTypeOf(nil) },
		func() { UnsafeTypeOf(fake{reflect.TypeFor[point]()}) },
		func() { _, _ = new(Arena).UnsafeNew(UnsafeTypeOf(reflect.TypeFor[point]())) },
		func() { _, _ = new(Arena).UnsafeBytes(1) },
		func() { _, _ = NewArena().UnsafeBytes(-1) },
		func() { _, _ = NewArena().UnsafeMakeSlice(UnsafeTypeOf(reflect.TypeFor[point]()), -1) },
		func() { _, _, _ = NewArena().UnsafeGrow(UnsafeTypeOf(reflect.TypeFor[point]()), nil, 1, 0, 2) },
		func() { NewArena().UnsafeTrim(UnsafeTypeOf(reflect.TypeFor[point]()), nil, 2, 1) },
		func() { _, _ = NewArena().UnsafeGoMap(UnsafeTypeOf(reflect.TypeFor[point]()), 0) },
		func() { newGoMap[int, int](NewArena(), -1) },
		func() { new(UnsafeSlabs).MakeSlice(UnsafeTypeOf(reflect.TypeFor[point]()), -1) },
		func() { new(UnsafeSlabs).Bytes(-1) },
	} {
		if caught(f) == nil {
			t.Error("no panic")
		}
	}
}

// TestUnsafeFreed: each way panics in an arena that was freed.
func TestUnsafeFreed(t *testing.T) {
	u, m := UnsafeTypeOf(reflect.TypeFor[node]()), UnsafeTypeOf(reflect.TypeFor[map[int]int]())
	for _, a := range []*Arena{NewArena(), NewShared(), NewWith(Options{NoReuse: true})} {
		p, err := a.UnsafeMakeSlice(u, 4)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = a.UnsafeBytes(3)
		a.Free()
		for i, f := range []func(){
			func() { _, _ = a.UnsafeNew(u) },
			func() { _, _ = a.UnsafeMakeSlice(u, 2) },
			func() { _, _ = a.UnsafeMakeSlice(u, 0) },
			func() { _, _ = a.UnsafeBytes(2) },
			func() { _, _, _ = a.UnsafeGrow(u, p, 1, 4, 5) },
			func() { a.UnsafeTrim(u, p, 1, 4) },
			func() { _, _ = a.UnsafeGoMap(m, 0) },
			func() { newGoMap[int, int](a, 0) },
		} {
			if caught(f) == nil {
				t.Errorf("way %d works in an arena that was freed", i)
			}
		}
	}
}

// TestUnsafeGrow grows slices step by step. All elements stay, new ones are zero, and the last slice
// stays where it is as long as its chunk has room.
func TestUnsafeGrow(t *testing.T) {
	for name, k := range doorKinds(t) {
		for range 2 { // In the second round the chunks are dirty.
			for _, typ := range doorTypes {
				u := UnsafeTypeOf(typ)
				if !k.takes(u.desc) || typ.Size() > 1000 {
					continue
				}
				var p unsafe.Pointer
				var room int
				for n := range 150 {
					q, r, err := k.a.UnsafeGrow(u, p, n, room, n+1)
					if err != nil || r <= n {
						t.Fatalf("%s: %s from %d of %d to %d: %d, %v", name, typ, n, room, n+1, r, err)
					}
					if q == p && r == room && n == room {
						t.Fatalf("%s: %s stays without room", name, typ)
					}
					if r != room && !allZero(typ, unsafe.Add(q, uintptr(max(n, 0))*typ.Size()), r-n) {
						t.Fatalf("%s: %s: new elements are not zero", name, typ)
					}
					p, room = q, r
					scribble(typ, unsafe.Add(p, uintptr(n)*typ.Size()), 1)
					if typ == reflect.TypeFor[node]() && n%10 == 0 {
						if s := unsafe.Slice((*node)(p), n); n > 0 && (s[n-1].name == "" || s[n/2].next.name != "n") {
							t.Fatalf("%s: an element is lost: %v", name, s)
						}
					}
				}
				if allZero(typ, p, 1) && typ.Size() != 0 && typ != reflect.TypeFor[map[int]int]() {
					t.Errorf("%s: the first element of %s is lost", name, typ)
				}
			}
			k.a.Reset(Keep)
		}
	}
}

// TestUnsafeGrowInPlace: the last slice grows where it is, and a foreign block that ends where the
// arena allocates next does not.
func TestUnsafeGrowInPlace(t *testing.T) {
	u := UnsafeTypeOf(reflect.TypeFor[*int]())
	a := Cleanup(t, NewArena())
	if freehold.HeapMode() || a.debug.apart() {
		t.Skip("values lie apart")
	}
	New[*int](a)
	p, _ := a.UnsafeMakeSlice(u, 2)
	if q, room, err := a.UnsafeGrow(u, p, 2, 2, 3); q != p || room < 3 || err != nil {
		t.Errorf("the last slice moved from %p to %p, with room for %d, %v", p, q, room, err)
	}
	first := New[*int](a)
	if q, _, _ := a.UnsafeGrow(u, p, 2, 2, 3); q == p {
		t.Error("a slice grew over the value behind it")
	}
	// A block of the Go heap that ends where the chunk of the type begins, as it might be.
	b := a.bumpFor(u.desc)
	a.Reset(Keep)
	*New[*int](a) = new(int)
	a.Reset(Keep)
	if b.trim(unsafex.PtrAddr(b.chunk.base)-8, 0, 8) || b.extend(unsafex.PtrAddr(b.chunk.base)-8, 8, 16, 16, 8, true) != 0 {
		t.Error("a block before the chunk was taken for the last one of the chunk")
	}
	runtime.KeepAlive(first)
}

// TestUnsafeTrim gives back the tail of the last slice: the next value lies there, and is zero. It
// gives back no other tail.
func TestUnsafeTrim(t *testing.T) {
	for name, k := range doorKinds(t) {
		for _, typ := range doorTypes {
			u := UnsafeTypeOf(typ)
			if !k.takes(u.desc) || typ.Size() == 0 || typ.Size() > 1000 {
				continue
			}
			for range 300 { // A chunk that is small next to a slice would leave the slice to a chunk of its own.
				if _, err := k.a.UnsafeNew(u); err != nil {
					t.Fatal(err)
				}
			}
			p, err := k.a.UnsafeMakeSlice(u, 8)
			if err != nil {
				t.Fatal(err)
			}
			scribble(typ, p, 2)
			left := k.a.UnsafeTrim(u, p, 2, 8)
			inPlace := k.a != nil && (name != "fixed" || u.desc.flow == wordFlow) && !freehold.HeapMode() && (k.a.shared == nil && k.a.debug == nil || k.a.shared != nil && k.a.shared.in.debug == nil)
			if inPlace && left != 2 || left != 2 && left != 8 {
				t.Errorf("%s: %s: %d of 8 are left, want 2", name, typ, left)
			}
			q, err := k.a.UnsafeMakeSlice(u, 6)
			if err != nil || !allZero(typ, q, 6) {
				t.Errorf("%s: %s: behind a tail that was given back is something, %v", name, typ, err)
			}
			if next := unsafe.Add(p, 2*typ.Size()); inPlace && q != next && uintptr(next)%8 == 0 {
				t.Errorf("%s: %s: the next values lie at %p, want %p", name, typ, q, next)
			}
			if n := k.a.UnsafeTrim(u, p, 1, 2); n != 2 && inPlace {
				t.Errorf("%s: %s: a slice that is not the last one gave back %d", name, typ, n)
			}
			scribble(typ, q, 6)
			if k.a.UnsafeTrim(u, q, 6, 6) != 6 {
				t.Errorf("%s: %s: nothing to give back, and something was", name, typ)
			}
		}
	}
}

// TestUnsafeTrimCheckpoint: a tail from before a checkpoint stays, so that values made since lie
// behind the checkpoint, and Rewind frees them.
func TestUnsafeTrimCheckpoint(t *testing.T) {
	for name, k := range doorKinds(t) {
		for _, typ := range doorTypes {
			u := UnsafeTypeOf(typ)
			if !k.takes(u.desc) || typ.Size() == 0 || typ.Size() > 1000 {
				continue
			}
			p, _ := k.a.UnsafeMakeSlice(u, 8)
			old := k.a.Checkpoint()
			q, _ := k.a.UnsafeMakeSlice(u, 8)
			c := k.a.Checkpoint()
			if n := k.a.UnsafeTrim(u, q, 1, 8); n != 8 {
				t.Errorf("%s: %s: %d left of a slice from before a checkpoint", name, typ, n)
			}
			r, _ := k.a.UnsafeMakeSlice(u, 4)
			scribble(typ, r, 4)
			k.a.Rewind(c)
			if n := k.a.UnsafeTrim(u, q, 1, 8); n != 8 {
				t.Errorf("%s: %s: %d left of a slice from before a checkpoint that was rewound to", name, typ, n)
			}
			k.a.Rewind(old)
			if n := k.a.UnsafeTrim(u, p, 1, 8); n != 8 {
				t.Errorf("%s: %s: %d left of a slice from before an older checkpoint", name, typ, n)
			}
			s, _ := k.a.UnsafeMakeSlice(u, 8)
			if !allZero(typ, s, 8) {
				t.Errorf("%s: %s: values after Rewind are not zero", name, typ)
			}
			k.a.Reset(Keep)
		}
	}
}

// TestUnsafeTrimChecked: with invariants on, a tail that was written to is found.
func TestUnsafeTrimChecked(t *testing.T) {
	a := NewArena()
	if !invariants.Enabled || freehold.HeapMode() || a.debug != nil {
		t.Skip("without checks, or in a mode that puts values apart")
	}
	u := UnsafeTypeOf(reflect.TypeFor[point]())
	p, _ := a.UnsafeMakeSlice(u, 3)
	unsafe.Slice((*point)(p), 3)[2].y = 1
	if caught(func() { a.UnsafeTrim(u, p, 1, 3) }) == nil {
		t.Error("a tail that was written to was given back")
	}
}

// TestUnsafeLimit lets the limit refuse each allocation in turn. The error says so, and the arena
// works on as soon as the limit allows it.
func TestUnsafeLimit(t *testing.T) {
	types := []*UnsafeType{UnsafeTypeOf(reflect.TypeFor[node]()), UnsafeTypeOf(reflect.TypeFor[point]()), UnsafeTypeOf(reflect.TypeFor[odd]()), UnsafeTypeOf(reflect.TypeFor[[200]*int]())}
	maps := UnsafeTypeOf(reflect.TypeFor[map[string]int]())
	round := func(a *Arena) (n int, err error) {
		step := func(e error) bool {
			if err == nil {
				if err = e; e == nil {
					n++
				}
			}
			return err == nil
		}
		for _, u := range types {
			var p unsafe.Pointer
			room := 0
			for i := 0; i < 40 && err == nil; i += 5 {
				q, r, e := a.UnsafeGrow(u, p, room, room, i+5)
				if e != nil && (q != p || r != room) {
					return n, fmt.Errorf("a slice moved though it could not grow: %w", e)
				}
				p, room = q, r
				step(e)
				_, e = a.UnsafeNew(u)
				step(e)
				_, e = a.UnsafeMakeSlice(u, 7)
				step(e)
				_, e = a.UnsafeBytes(300)
				step(e)
				_, e = a.UnsafeGoMap(maps, 20)
				step(e)
				_, e = tryGoMap[int, int](a, 5)
				step(e)
			}
		}
		return n, err
	}
	for name, a := range map[string]*Arena{"Go memory": NewArena(), "shared": NewShared(), "no reuse": NewWith(Options{NoReuse: true})} {
		Cleanup(t, a)
		all, err := round(a)
		if err != nil || all != 4*8*6 {
			t.Fatalf("%s: %d values without a limit, %v", name, all, err)
		}
		most := a.Stats().Held
		a.Reset(GiveBack)
		last := 0
		for i := range int64(40) {
			a.SetLimit(1 + most*i/10)
			n, err := round(a)
			if err != nil && !errors.Is(err, offheap.ErrLimit) {
				t.Fatalf("%s: a limit of %d of %d bytes: %v", name, i, most, err)
			}
			if err == nil && n != all || n < last/2 {
				t.Errorf("%s: with %d bytes %d values of %d, with less there were %d", name, a.SetLimit(0), n, all, last)
			}
			last = n
			if held := a.Stats(); held.Held > 1+most*i/10 || held.InUse > held.Held {
				t.Errorf("%s: %+v with a limit of %d", name, held, 1+most*i/10)
			}
			a.Reset([]Mode{Keep, GiveBack, KeepUpTo(2000)}[i%3])
		}
		if last != all {
			t.Errorf("%s: with four times the bytes %d values of %d", name, last, all)
		}
		a.SetLimit(0)
	}
	for _, n := range []int{1 << 29, 1 << 30, 1<<31 - 1} {
		a := Cleanup(t, NewArena())
		n *= max(1, 1<<20*int(^uint(0)>>63))
		if _, err := a.UnsafeMakeSlice(types[0], n); !errors.Is(err, offheap.ErrOutOfMemory) {
			t.Errorf("%d nodes: %v", n, err)
		}
		if _, _, err := a.UnsafeGrow(types[0], nil, 0, 0, n); !errors.Is(err, offheap.ErrOutOfMemory) {
			t.Errorf("%d nodes: %v", n, err)
		}
		if _, err := a.UnsafeGoMap(maps, n); !errors.Is(err, offheap.ErrOutOfMemory) {
			t.Errorf("a map of %d: %v", n, err)
		}
	}
}

// TestUnsafeRefused: types that must not lie off the heap panic with the path of the pointer, as they
// do in New.
func TestUnsafeRefused(t *testing.T) {
	if freehold.HeapMode() {
		t.Skip("there is no memory off the heap")
	}
	for _, a := range []*Arena{NewOffHeap(Options{}), NewOffHeap(Options{Shared: true}), NewFixed(1000)} {
		Cleanup(t, a)
		u := UnsafeTypeOf(reflect.TypeFor[node]())
		for _, f := range []func(){
			func() { _, _ = a.UnsafeNew(u) },
			func() { _, _ = a.UnsafeMakeSlice(u, 2) },
			func() { _, _, _ = a.UnsafeGrow(u, nil, 0, 0, 2) },
		} {
			if caught(f) == nil {
				t.Errorf("arena %d takes a node", a.ID())
			}
		}
	}
}

// TestUnsafeGrowPointers grows slices of pointers while the collector runs. It must see all of them.
func TestUnsafeGrowPointers(t *testing.T) {
	u := UnsafeTypeOf(reflect.TypeFor[node]())
	for name, k := range doorKinds(t) {
		if !k.pointers {
			continue
		}
		var p unsafe.Pointer
		room := 0
		for n := range 200 {
			if n == room {
				var err error
				if p, room, err = k.a.UnsafeGrow(u, p, n, room, n+1); err != nil {
					t.Fatal(err)
				}
				if k.a != nil {
					_, _ = k.a.UnsafeNew(u) // So that the next step copies.
				}
			}
			unsafe.Slice((*node)(p), room)[n] = node{name: fmt.Sprint("node ", n), next: &node{name: fmt.Sprint(n)}}
			if n%64 == 0 {
				runtime.GC()
			}
		}
		runtime.GC()
		for i, v := range unsafe.Slice((*node)(p), 200) {
			if v.name != fmt.Sprint("node ", i) || v.next.name != fmt.Sprint(i) {
				t.Fatalf("%s: node %d is %q", name, i, v.name)
			}
		}
	}
}
