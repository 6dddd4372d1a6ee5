// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/offheap"
)

// kinds are ways to make an arena for data without Go pointers.
var kinds = []struct {
	name     string
	make     func() *Arena
	pointers bool // Takes Go pointers.
}{
	{"NewArena", NewArena, true},
	{"NewShared", NewShared, true},
	{"NewOffHeap", func() *Arena { return NewOffHeap(Options{}) }, false},
	{"NewFixed", func() *Arena { return NewFixed(4 << 20) }, false},
	{"Pool", new(Pool).Get, true},
	{"NoReuse", func() *Arena { return NewWith(Options{NoReuse: true}) }, true},
	{"shared off-heap", func() *Arena { return NewOffHeap(Options{Shared: true}) }, false},
}

// uses are all functions that use an arena.
func uses(a *Arena) map[string]func() {
	b := NewBuilder(a)
	some := make([]int, 3)
	return map[string]func(){
		"New":                func() { New[int](a) },
		"New of nothing":     func() { New[struct{}](a) },
		"TryNew":             func() { _, _ = TryNew[int](a) },
		"NewOf":              func() { NewOf(a, reflect.TypeFor[int]()) },
		"MakeSlice":          func() { MakeSlice[int](a, 1, 2) },
		"MakeSlice of none":  func() { MakeSlice[int](a, 0, 0) },
		"TryMakeSlice":       func() { _, _ = TryMakeSlice[int](a, 1, 2) },
		"Append":             func() { Append(a, some, 4) },
		"Append with room":   func() { Append(a, some[:1], 4) },
		"NewFrom":            func() { NewFrom(a, 5) },
		"NewFrom of nothing": func() { NewFrom(a, struct{}{}) },
		"SliceFrom":          func() { SliceFrom(a, some) },
		"SliceFrom of none":  func() { SliceFrom(a, some[:0]) },
		"Grow":               func() { Grow(a, some, 4) },
		"Grow with room":     func() { Grow(a, some[:1], 1) },
		"Collect":            func() { Collect(a, slices.Values(some)) },
		"Collect of none":    func() { Collect(a, slices.Values(some[:0])) },
		"Cleanup":            func() { Cleanup(new(leakTest), a) },
		"String":             func() { String(a, "x") },
		"String of none":     func() { String(a, "") },
		"Bytes":              func() { Bytes(a, "x") },
		"Concat":             func() { Concat(a, "x", "y") },
		"Builder.Write":      func() { _, _ = b.WriteString("x") },
		"Builder.Grow":       func() { b.Grow(10) },
		"Builder.ReadFrom":   func() { _, _ = b.ReadFrom(strings.NewReader("x")) },
		"Of":                 func() { Of[int](a) },
		"Check":              func() { _ = a.Check() },
		"Reset":              func() { a.Reset(Keep) },
		"Checkpoint":         func() { a.Checkpoint() },
		"Rewind":             func() { a.Rewind(Checkpoint{}) },
		"SetLimit":           func() { a.SetLimit(1) },
		"Stats":              func() { a.Stats() },
		"Owns":               func() { a.Owns(some) },
		"ID":                 func() { a.ID() },
		"Free":               func() { a.Free() },
		"Put":                func() { new(Pool).Put(a) },
	}
}

func TestUseAfterFree(t *testing.T) {
	for _, k := range kinds {
		a := k.make()
		id, typed, builder := a.ID(), Of[int](a), NewBuilder(a)
		typed.New()
		New[int](a)
		String(a, "abc")
		_ = builder.WriteByte('x')
		a.Free()
		all := uses(a)
		all["Typed.New"] = func() { typed.New() }
		all["Typed.MakeSlice"] = func() { typed.MakeSlice(1, 1) }
		all["Typed.TryNew"] = func() { _, _ = typed.TryNew() }
		all["Typed.Append"] = func() { typed.Append(nil, 1) }
		all["Builder.WriteByte"] = func() { _ = builder.WriteByte('y') }
		for what, f := range all {
			err, ok := caught(f).(error)
			if !ok || !strings.Contains(err.Error(), "freed") || !strings.Contains(err.Error(), fmt.Sprint(id)) ||
				!strings.Contains(err.Error(), "misuse_test.go") {
				t.Errorf("%s: %s after Free: panic value %v, want an error that names the arena and its place", k.name, what, err)
			}
		}
		if listed(id) {
			t.Errorf("%s: a freed arena is found by its ID", k.name)
		}
	}
}

func TestZeroArena(t *testing.T) {
	for what, f := range uses(&Arena{}) {
		if v := caught(f); v == nil || !strings.Contains(fmt.Sprint(v), "no function of the package made") {
			t.Errorf("%s on an Arena of nobody's making: panic %v, want one that says so", what, v)
		}
	}
}

// TestNoHandle: a zero Typed and a zero Map panic. With a nil *Map the panic is Go's own.
func TestNoHandle(t *testing.T) {
	var typed Typed[int]
	var none *Map[int, int]
	for what, f := range map[string]func(){
		"Typed.New":       func() { typed.New() },
		"Typed.TryNew":    func() { _, _ = typed.TryNew() },
		"Typed.MakeSlice": func() { typed.MakeSlice(1, 1) },
		"Typed.Append":    func() { typed.Append(nil, 1) },
		"Map.Update":      func() { none.Update(1, plusOne) },
		"Map.GetOrSet":    func() { none.GetOrSet(1, 1) },
		"Map.Get":         func() { none.Get(1) },
		"Map.Set":         func() { none.Set(1, 1) },
		"Map.Len":         func() { none.Len() },
		"Map.All": func() {
			for range none.All() {
				t.Error("nothing has an entry")
			}
		},
		"Map of zero": func() { new(Map[int, int]).Len() },
	} {
		if _, ok := caught(f).(error); !ok {
			t.Errorf("%s does not panic with an error", what)
		}
	}
}

func TestNilArena(t *testing.T) {
	var a *Arena
	for what, f := range uses(a) {
		if v := caught(f); v != nil {
			t.Errorf("%s on a nil Arena: %v", what, v)
		}
	}
	if a.ID() != 0 || listed(0) || a.Owns(new(int)) || a.Stats() != (Stats{}) {
		t.Error("the nil arena owns something")
	}
	if p := Of[node](a).New(); p.name != "" {
		t.Error("not zero")
	}
	b := NewBuilder(a)
	fmt.Fprintf(b, "%d-", 17)
	_, _ = b.ReadFrom(strings.NewReader("read"))
	if b.String() != "17-read" {
		t.Errorf("a Builder of the nil arena: %q", b.String())
	}
}

func TestCheckpointMisuse(t *testing.T) {
	for _, k := range kinds {
		a, b := k.make(), k.make()
		first := a.Checkpoint()
		New[int](a)
		second := a.Checkpoint()
		foreign := b.Checkpoint()
		wants := func(what, says string, c Checkpoint) {
			t.Helper()
			before := a.Stats()
			if err, ok := caught(func() { a.Rewind(c) }).(error); !ok || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: Rewind to %s: %v", k.name, what, err)
			}
			if a.Stats() != before {
				t.Errorf("%s: Rewind to %s changed the arena", k.name, what)
			}
		}
		wants("another arena's checkpoint", fmt.Sprint(b.ID()), foreign)
		wants("no checkpoint", "rewind the arena that noted the checkpoint", Checkpoint{})
		a.Rewind(second)
		a.Rewind(second)
		a.Rewind(first)
		wants("a later checkpoint", "stale checkpoint: the arena was reset or rewound beyond it: note another", second)
		a.Rewind(first)
		a.Reset(Keep)
		wants("one before Reset", "stale", first)
		if caught(func() { (*Arena)(nil).Rewind(foreign) }) == nil {
			t.Errorf("%s: the nil arena takes a checkpoint", k.name)
		}
		a.Free()
		b.Free()
	}
}

func TestLengths(t *testing.T) {
	for _, k := range append(kinds[:len(kinds):len(kinds)], kinds[0]) {
		a := k.make()
		for _, n := range []int{-1, -4096, math.MinInt} {
			for what, f := range map[string]func(){
				"MakeSlice":            func() { MakeSlice[int](a, n, 4) },
				"MakeSlice's capacity": func() { MakeSlice[int](a, 0, n) },
				"MakeSlice of nothing": func() { MakeSlice[struct{}](a, n, 4) },
				"MakeSlice of nil":     func() { MakeSlice[int](nil, n, 4) },
				"TryMakeSlice":         func() { _, _ = TryMakeSlice[int](a, n, n) },
				"Typed.MakeSlice":      func() { Of[int](a).MakeSlice(n, 1) },
				"Builder.Grow":         func() { NewBuilder(a).Grow(n) },
				"SetLimit":             func() { a.SetLimit(int64(n)) },
				"KeepUpTo":             func() { KeepUpTo(int64(n)) },
				"NewFixed":             func() { NewFixed(n) },
				"NewOffHeap":           func() { NewOffHeap(Options{Limit: int64(n)}) },
			} {
				err, ok := caught(f).(error)
				if !ok || errors.Is(err, offheap.ErrOutOfMemory) || !strings.Contains(err.Error(), fmt.Sprint(n)) {
					t.Errorf("%s: %s of %d: %v, want an error that names the number", k.name, what, n, err)
				}
			}
		}
		if caught(func() { MakeSlice[int](a, 5, 4) }) == nil {
			t.Error("a length beyond the capacity")
		}
		const bits = 32 << (math.MaxUint >> 63)
		for _, n := range []int{math.MaxInt, math.MaxInt - 4095, math.MaxInt/2 + 1, 1 << (bits - 4), 1<<(bits-4) + 1, 1 << (bits - 2), math.MaxInt/16 + 1} {
			for what, f := range map[string]func() error{
				"point":  func() error { _, err := TryMakeSlice[point](a, 0, n); return err },
				"bytes":  func() error { _, err := TryMakeSlice[[24]byte](a, n, n); return err },
				"append": func() error { _, err := tryAppend(a, []point{{}}, pretended[point](n)...); return err },
			} {
				if err := f(); !errors.Is(err, offheap.ErrOutOfMemory) {
					t.Errorf("%s: %d of %s: %v, want ErrOutOfMemory", k.name, n, what, err)
				}
			}
			if err, ok := caught(func() { MakeSlice[point](a, 0, n) }).(error); !ok || !errors.Is(err, offheap.ErrOutOfMemory) {
				t.Errorf("%s: MakeSlice of %d: %v", k.name, n, err)
			}
			if uint64(n) < maxBytes {
				continue // As a length of bytes it is none to refuse.
			}
			if err, ok := caught(func() { Concat(a, pretendedString(n), pretendedString(n)) }).(error); !ok || !errors.Is(err, offheap.ErrOutOfMemory) {
				t.Errorf("%s: Concat of %d: %v", k.name, n, err)
			}
		}
		if p := New[point](a); *p != (point{}) {
			t.Error("the arena does not work any more")
		}
		a.Free()
	}
}

// pretended is a slice of n elements that are not there. It may be counted, not read.
func pretended[T any](n int) (s []T) {
	header := (*struct {
		p        unsafe.Pointer
		len, cap int
	})(unsafe.Pointer(&s))
	header.len, header.cap = n, n
	return s
}

func pretendedString(n int) (s string) {
	header := (*struct {
		p   unsafe.Pointer
		len int
	})(unsafe.Pointer(&s))
	header.len = n
	return s
}

func TestRefusedTypes(t *testing.T) {
	if freehold.HeapMode() {
		t.Skip("the Go heap takes every type")
	}
	for _, k := range kinds {
		if k.pointers {
			continue
		}
		a := k.make()
		for what, f := range map[string]func(){
			"New":       func() { New[node](a) },
			"NewOf":     func() { NewOf(a, reflect.TypeFor[node]()) },
			"MakeSlice": func() { MakeSlice[node](a, 1, 1) },
			"Append":    func() { Append(a, []node{{}}, node{}) },
			"Of":        func() { Of[node](a) },
			"NewFrom":   func() { NewFrom(a, node{}) },
			"SliceFrom": func() { SliceFrom(a, []node(nil)) },
			"Grow":      func() { Grow(a, []node{}, 1) },
			"Collect":   func() { Collect(a, slices.Values([]node{{}})) },
		} {
			if err, ok := caught(f).(error); !ok || !strings.Contains(err.Error(), "node.name: string") {
				t.Errorf("%s: %s of a type with pointers: %v, want the field's path", k.name, what, err)
			}
		}
		a.Free()
	}
	a := NewFixed(1000)
	defer a.Free()
	if err, ok := caught(func() { New[flag](a) }).(error); !ok || !strings.Contains(err.Error(), "bool") {
		t.Errorf("a bool in a fixed arena: %v", err)
	}
}

func TestContext(t *testing.T) {
	a := NewArena()
	defer a.Free()
	ctx := NewContext(context.Background(), a)
	if FromContext(ctx) != a || FromContext(context.Background()) != nil {
		t.Error("not the arena that was put in")
	}
}
