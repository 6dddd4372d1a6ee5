// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"strings"
	"testing"
	"unsafe"
)

type withFirst struct {
	First int64
	Rest  [3]int64
}

// wrongFrees frees blocks by the right address and the wrong type. Each returns the block's end.
var wrongFrees = map[string]func() (free, wrong func()){
	"Delete of the first field": func() (free, wrong func()) {
		p := New[withFirst]()
		return func() { Delete(p) }, func() { Delete(&p.First) }
	},
	"Delete of another type": func() (free, wrong func()) {
		p := New[point]()
		return func() { Delete(p) }, func() { Delete((*[2]float64)(unsafe.Pointer(p))) }
	},
	"Delete of a slice's first element": func() (free, wrong func()) {
		s := MakeSlice[point](4, 4)
		return func() { FreeSlice(s) }, func() { Delete(&s[0]) }
	},
	"DeleteRef of the first field": func() (free, wrong func()) {
		p := New[withFirst]()
		return func() { Delete(p) }, func() { DeleteRef(RefOf(&p.First)) }
	},
	"FreeSlice of an array that comes first": func() (free, wrong func()) {
		p := New[struct{ List [4]int64 }]()
		return func() { Delete(p) }, func() { FreeSlice(p.List[:]) }
	},
	"Delete of bytes": func() (free, wrong func()) {
		b := Alloc(16)
		return func() { Free(b) }, func() { Delete((*point)(unsafe.Pointer(&b[0]))) }
	},
	"DeleteIn of the first field": func() (free, wrong func()) {
		p := New[withFirst]()
		return func() { Delete(p) }, func() {
			l := NewLocal()
			defer l.Close()
			deleteIn(l, &p.First)
		}
	},
}

// TestFreesOfWrongType needs a mode that knows the type of every block.
func TestFreesOfWrongType(t *testing.T) {
	inModes(t, func(t *testing.T) {
		if !knowsTypes() {
			t.Skip("the slabs do not know the types of plain blocks")
		}
		for what, start := range wrongFrees {
			free, wrong := start()
			m := wantMisuse(t, what, "wrong type", wrong)
			if m.Op == "" || m.Addr == 0 {
				t.Errorf("%s: %+v", what, m)
			}
			free() // Nothing has changed.
		}
	}, "guard", "leaks", "pointers", allModes)
}

// TestOpenLocalsAreListed: with a mode that keeps stacks, Leaks has the place that made a Local.
func TestOpenLocalsAreListed(t *testing.T) {
	inModes(t, func(t *testing.T) {
		l := makesHere()
		list := func() (n int, text string) {
			for _, leak := range Leaks() {
				if leak.Type == "offheap.Local" && strings.Contains(leak.Stack, "TestOpenLocalsAreListed") {
					n += leak.Blocks
					text = leak.String()
				}
			}
			return n, text
		}
		if n, text := list(); n != 1 || !strings.Contains(text, "1 Local, not closed, allocated by:") || !strings.Contains(text, "makesHere") {
			t.Errorf("%d open Locals, want 1, made by makesHere:\n%s", n, text)
		}
		l.Close()
		if n, _ := list(); n != 0 {
			t.Errorf("%d Locals are listed after Close", n)
		}
	}, "leaks", "guard")
}

//go:noinline
func makesHere() *Local { return NewLocal() }
