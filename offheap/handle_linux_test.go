// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"path/filepath"
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

// TestOpenFilesAreListed: with a mode that keeps stacks, Leaks has the place that opened a file.
func TestOpenFilesAreListed(t *testing.T) {
	inModes(t, func(t *testing.T) {
		f := opensHere(t)
		l := NewLocal()
		list := func(typ string) (n int, stack string) {
			for _, leak := range Leaks() {
				if leak.Type == typ && strings.Contains(leak.Stack, "TestOpenFilesAreListed") {
					n += leak.Blocks
					stack = leak.Stack
				}
			}
			return n, stack
		}
		if n, stack := list("offheap.File"); n != 1 || !strings.Contains(stack, "opensHere") {
			t.Errorf("%d open files, want 1, opened by opensHere:\n%s", n, stack)
		}
		if n, _ := list("offheap.Local"); n != 1 {
			t.Errorf("%d open Locals, want 1", n)
		}
		var text strings.Builder
		if err := WriteLeaks(&text); err != nil || !strings.Contains(text.String(), "1 File, not closed, allocated by:") {
			t.Errorf("%v:\n%s", err, &text)
		}
		l.Close()
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		for _, typ := range []string{"offheap.File", "offheap.Local"} {
			if n, _ := list(typ); n != 0 {
				t.Errorf("%d of %s are listed after Close", n, typ)
			}
		}
	}, "leaks", "guard")
}

//go:noinline
func opensHere(t *testing.T) *File {
	f, err := CreateFile(filepath.Join(t.TempDir(), "listed"), 1<<16)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
