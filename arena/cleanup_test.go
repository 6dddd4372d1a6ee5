// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/freehold-go/freehold/internal/sanitize"
)

// TestCleanup: at the end of a test its arena is freed, unless the test has done so.
func TestCleanup(t *testing.T) {
	for _, k := range kinds {
		test := &leakTest{}
		a, b := Cleanup(test, k.make()), Cleanup(test, k.make())
		New[point](a)
		New[point](b)
		test.Cleanup(func() { New[point](a) }) // It runs before.
		b.Free()
		id := a.ID()
		if !listed(id) {
			t.Errorf("%s: the arena is gone before the test ends", k.name)
		}
		if s := test.end(); s != "" {
			t.Errorf("%s: %s", k.name, s)
		}
		if listed(id) {
			t.Errorf("%s: the arena is not freed", k.name)
		}
	}
	test := &leakTest{}
	if a := Cleanup(test, nil); a != nil || test.end() != "" {
		t.Error("the nil arena")
	}
	pool := new(Pool)
	pool.Put(Cleanup(test, pool.Get()))
	if s := test.end(); s != "" {
		t.Errorf("an arena that was put back: %s", s)
	}
}

// TestCleanupDamage: a write beside a value fails the test, and does not end the program.
func TestCleanupDamage(t *testing.T) {
	if sanitize.Enabled {
		t.Skip("a sanitizer ends the program at the write")
	}
	if !inModes(t, "guard,guardmaps=1") {
		return
	}
	for _, k := range kinds {
		test := &leakTest{}
		a := Cleanup(test, k.make())
		p := MakeSlice[int64](a, 3, 3)
		*(*byte)(unsafe.Add(unsafe.Pointer(&p[0]), 24))++
		s := test.end()
		if !strings.Contains(s, "at the end of the test") || !strings.Contains(s, "canary") || !strings.Contains(s, fmt.Sprintf("arena %d, which was made by ", a.id)) {
			t.Errorf("%s: %q", k.name, s)
		}
	}
}

// TestDamagedBlock: if Free or Reset finds a damaged block of offheap, the next one does not free
// again what the first has freed.
func TestDamagedBlock(t *testing.T) {
	if sanitize.Enabled {
		t.Skip("a sanitizer ends the program at the write")
	}
	if !inModes(t, "guard,guardmaps=1") {
		return
	}
	for name, end := range map[string]func(*Arena){"Free": (*Arena).Free, "Reset": func(a *Arena) { a.Reset(Keep) }} {
		for _, damaged := range []int{0, 1, 2, 3} {
			for _, a := range []*Arena{NewOffHeap(Options{}), NewFixed(1000), sharedOffHeap()} {
				behind := (*byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(four(a)[damaged])), 24))
				*behind++
				for range 2 {
					wantPanic(t, fmt.Sprintf("%s, value %d of arena %s", name, damaged, a.rec.from.name), func() { end(a) }, "canary")
				}
				*behind--
				end(a)
				if name == "Reset" {
					if s := a.Stats(); s.Held != 0 {
						t.Errorf("%+v after Reset", s)
					}
					a.Free()
				}
			}
		}
	}
}

// four makes four values.
func four(a *Arena) (list [][]int64) {
	for range 4 {
		list = append(list, MakeSlice[int64](a, 3, 3))
	}
	return list
}

// TestCleanupLost: if the test has written over its arena, it fails, and the other cleanups run.
func TestCleanupLost(t *testing.T) {
	for _, k := range kinds {
		test := &leakTest{}
		ran := false
		test.Cleanup(func() { ran = true })
		a := Cleanup(test, k.make())
		id, kept := a.ID(), copyOf(a)
		reflect.ValueOf(a).Elem().SetZero()
		if s := test.end(); !strings.Contains(s, fmt.Sprintf("arena %d, which was made by ", id)) || !strings.Contains(s, "use NewArena") || !ran {
			t.Errorf("%s: %q", k.name, s)
		}
		reflect.ValueOf(a).Elem().Set(reflect.ValueOf(kept).Elem())
		a.Free()
	}
}

//go:noinline
func forgetsInTest() { New[point](NewArena()) }

// TestCheckFreed: arenas without Free fail the test, whether the collector has taken them or not.
func TestCheckFreed(t *testing.T) {
	owning(t)
	kept := NewArena()
	defer kept.Free()
	good := &leakTest{}
	CheckFreed(good)
	pool := new(Pool)
	pool.Put(pool.Get())
	for _, k := range kinds {
		a := k.make()
		New[point](a)
		good.Cleanup(a.Free)
	}
	if s := good.end(); s != "" {
		t.Errorf("all arenas are freed, but: %s", s)
	}
	if n := len(registry.places.watches); n != 0 {
		t.Errorf("%d watches are left", n)
	}
	bad := &leakTest{}
	CheckFreed(bad)
	for range 20 {
		forgetsInTest()
	}
	held := []*Arena{NewArena(), NewShared(), NewOffHeap(Options{}), NewFixed(100), pool.Get()}
	for range 2 {
		runtime.GC() // Of the forgotten ones it takes most.
	}
	List()
	s := bad.end()
	if n := strings.Count(s, "forgetsInTest at "); n != 20 {
		t.Errorf("%d of 20 forgotten arenas are listed:\n%s", n, s)
	}
	if n := strings.Count(s, "TestCheckFreed at "); n != len(held) {
		t.Errorf("%d of %d arenas that are still there are listed:\n%s", n, len(held), s)
	}
	for _, a := range held {
		a.Free()
	}
}
