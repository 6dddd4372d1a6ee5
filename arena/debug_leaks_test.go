// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/internal/debugmode"
	"github.com/freehold-go/freehold/internal/sanitize"
	"github.com/freehold-go/freehold/offheap"
)

// leakTest is a test whose end is called by hand.
type leakTest struct {
	cleanups []func()
	failure  string
}

func (l *leakTest) Helper()                           {}
func (l *leakTest) Cleanup(f func())                  { l.cleanups = append(l.cleanups, f) }
func (l *leakTest) Errorf(format string, args ...any) { l.failure += fmt.Sprintf(format, args...) }

func (l *leakTest) end() string {
	for i := len(l.cleanups) - 1; i >= 0; i-- {
		l.cleanups[i]()
	}
	return l.failure
}

func TestCheckLeaks(t *testing.T) {
	owning(t)
	old := NewOffHeap(Options{})
	defer old.Free()
	good := &leakTest{}
	CheckLeaks(good)
	a := NewOffHeap(Options{})
	good.Cleanup(a.Free)
	NewArena()
	NewShared()
	New[point](old)
	if s := good.end(); s != "" {
		t.Errorf("nothing is leaked, but: %s", s)
	}
	for what, made := range map[string]func() *Arena{
		"off-heap": func() *Arena { return NewOffHeap(Options{}) }, "fixed": func() *Arena { return NewFixed(1000) },
	} {
		bad := &leakTest{}
		CheckLeaks(bad)
		b := made()
		s := bad.end()
		if !strings.Contains(s, "freehold: leak: arena ") || !strings.Contains(s, "("+what+")") || !strings.Contains(s, "debug_leaks_test.go") {
			t.Errorf("a %s arena is leaked: %q", what, s)
		}
		b.Free()
	}
}

// TestLeaksMode: in the mode leaks an off-heap arena is one leak, with all of its bytes and the
// stack that made it, and its chunks are none.
func TestLeaksMode(t *testing.T) {
	for _, words := range []string{"leaks", "leaks,guard", "leaks,guard,guardmaps=1,pointers"} {
		t.Run(words, func(t *testing.T) {
			if inModes(t, words) {
				testLeaks(t)
			}
		})
	}
}

// offheapLeaks are the blocks that would be lost if the process ended now.
func offheapLeaks() (list []debugmode.Block) {
	for b := range debugmode.Live() {
		if b.Leak && b.FreeOp == "" {
			list = append(list, b)
		}
	}
	return list
}

func testLeaks(t *testing.T) {
	leaks := offheapLeaks
	for _, made := range []func() *Arena{func() *Arena { return NewOffHeap(Options{}) }, func() *Arena { return NewFixed(1 << 20) }} {
		a := made()
		c := a.Checkpoint()
		for range 100 {
			New[[10]int64](a)
		}
		list := leaks()
		if len(list) != 1 || list[0].Arena != a.ID() || int64(list[0].Size) != a.Stats().Held || list[0].Size < 8000 ||
			!strings.Contains(list[0].Alloc.String(), "arena.testLeaks") {
			t.Errorf("one arena is not freed: %+v, it holds %d", list, a.Stats().Held)
		}
		for _, i := range List() {
			if i.ID == a.ID() && !strings.Contains(i.Stack, "arena.testLeaks") {
				t.Errorf("List knows no stack: %+v", i)
			}
		}
		a.Rewind(c)
		a.Reset(GiveBack)
		if list := leaks(); len(list) != 1 || int64(list[0].Size) != a.Stats().Held {
			t.Errorf("after Reset: %+v, it holds %d", list, a.Stats().Held)
		}
		a.Free()
		if list := leaks(); len(list) != 0 {
			t.Errorf("after Free: %+v", list)
		}
	}
	NewArena()
	if list := leaks(); len(list) != 0 || len(offheap.Leaks()) != 0 {
		t.Errorf("an arena on Go memory is a leak: %+v, %v", list, offheap.Leaks())
	}
}

// TestPointersMode: the mode finds a Go pointer in an off-heap arena, with its type and field, when
// the arena frees its memory and on demand.
func TestPointersMode(t *testing.T) {
	if sanitize.Enabled && sanitize.Kind != "asan" {
		t.Skip("the mode is ignored, since it reads what nobody may have written")
	}
	if !inModes(t, "pointers") {
		return
	}
	type link struct {
		_    offheap.UnsafeSelfContained
		n    int
		next *int
	}
	a := NewOffHeap(Options{})
	p := New[link](a)
	p.next = new(int)
	sink = p.next
	err := offheap.Check()
	if err == nil || !strings.Contains(err.Error(), "heap pointer in off-heap memory") || !strings.Contains(err.Error(), "arena.link.next") ||
		!strings.Contains(err.Error(), "arena.TestPointersMode") {
		t.Errorf("a Go pointer in an arena: %v", err)
	}
	if v := caught(a.Free); v == nil || !strings.Contains(fmt.Sprint(v), "heap pointer") {
		t.Errorf("Free of an arena with a Go pointer: %v", v)
	}
	p.next = nil
	q := New[uintptr](a)
	*q = 5
	a.Free()
}
