// SPDX-License-Identifier: Apache-2.0

//go:build (asan || msan || valgrind) && linux && (amd64 || arm64)

package sanitize_test

import (
	"testing"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// leaf has no pointers, tree has.
type (
	leaf struct{ a, b uint64 }
	tree struct {
		left, right *tree
		n           uint64
	}
)

//go:noinline
func newLeaf(a *arena.Arena) *leaf { return arena.New[leaf](a) }

//go:noinline
func newTree(a *arena.Arena) *tree { return arena.New[tree](a) }

//go:noinline
func readLeaf(p *leaf) {
	if p.b == 7 {
		sink++
	}
}

//go:noinline
func writeLeaf(p *leaf) { p.b = 7 }

//go:noinline
func readTree(p *tree) {
	if p.n == 7 {
		sink++
	}
}

//go:noinline
func free(a *arena.Arena) { a.Free() }

//go:noinline
func reset(a *arena.Arena) { a.Reset(arena.Keep) }

// grow builds a tree of that depth.
func grow(a *arena.Arena, depth int) *tree {
	t := newTree(a)
	if depth > 0 {
		t.left, t.right = grow(a, depth-1), grow(a, depth-1)
	}
	return t
}

func (t *tree) sum() uint64 {
	if t == nil {
		return 0
	}
	return t.n + t.left.sum() + t.right.sum()
}

// work uses an arena in every way that programs do, correctly.
func work(a *arena.Arena) {
	for range 3 {
		for range 100 {
			writeLeaf(newLeaf(a))
			s := arena.MakeSlice[byte](a, 3, 61)
			s = arena.Append(a, s, []byte("more than there is room for, so that it moves elsewhere in the arena")...)
			if arena.String(a, s)[3:7] != "more" {
				panic("wrong string")
			}
		}
		at := a.Checkpoint()
		newLeaf(a).a = 1
		a.Rewind(at)
		readLeaf(newLeaf(a))
		a.Reset(arena.Keep)
	}
	a.Free()
}

var arenaRows = []row{
	{name: "arena: correct", run: func() { work(arena.NewArena()) }},
	{name: "arena: correct, off the heap", run: func() { work(arena.NewOffHeap(arena.Options{})) }},
	{name: "arena: correct, with pointers", run: func() {
		for range 3 {
			a := arena.NewArena()
			sink += grow(a, 8).sum()
			a.Free()
		}
	}},
	{name: "arena: read after Free", run: func() {
		a := arena.NewArena()
		p := newLeaf(a)
		free(a)
		readLeaf(p)
	},
		asan:     append(report("use after Free: access 8 bytes into a block of 16 bytes (sanitize_test.leaf, arena 1) that was freed", "readLeaf", "newLeaf", "sanitize_test.free"), "freed, by Free of arena 1:\n"),
		msan:     append(report("use after Free: access 8 bytes into a block of 16 bytes (sanitize_test.leaf, arena 1) that was freed", "readLeaf", "newLeaf", "sanitize_test.free"), "freed, by Free of arena 1:\n"),
		valgrind: []string{"Invalid read of size 8", "sanitize_test.readLeaf"}}, // Valgrind takes the address for one of the chunk, which is a block of Go's.
	{name: "arena: write after Reset, and after other values were made", run: func() {
		a := arena.NewArena()
		p := newLeaf(a)
		reset(a)
		for range 1000 {
			writeLeaf(newLeaf(a))
		}
		writeLeaf(p)
	},
		asan:     report("use after Reset: access 8 bytes into a block of 16 bytes (sanitize_test.leaf, arena 1) that was freed", "writeLeaf", "newLeaf", "sanitize_test.reset"),
		valgrind: []string{"Invalid write of size 8", "sanitize_test.writeLeaf"}},
	{name: "arena: read of a scalar beside pointers after Free", run: func() {
		a := arena.NewArena()
		p := newTree(a)
		free(a)
		readTree(p)
	},
		asan: report("use after Free: access 16 bytes into a block of 24 bytes (sanitize_test.tree, arena 1) that was freed", "readTree", "newTree"),
		msan: report("use after Free: access 16 bytes into a block of 24 bytes (sanitize_test.tree, arena 1) that was freed", "readTree", "newTree")},
	{name: "arena: overflow", run: func() {
		p := newLeaf(arena.NewArena())
		writeLeaf(unsafex.Elem(p, 1))
	},
		asan:     report("overflow: access 8 bytes behind a block of 16 bytes (sanitize_test.leaf, arena 1)", "writeLeaf", "newLeaf"),
		valgrind: []string{"Invalid write of size 8", "sanitize_test.writeLeaf"}},
	{name: "arena: off the heap, read after Free", run: func() {
		a := arena.NewOffHeap(arena.Options{})
		p := newLeaf(a)
		free(a)
		readLeaf(p)
	},
		asan:     report("use after Free: access 8 bytes into a block of 16 bytes (sanitize_test.leaf, arena 1) that was freed", "readLeaf", "newLeaf"),
		msan:     report("use after Free: access 8 bytes into a block of 16 bytes (sanitize_test.leaf, arena 1) that was freed", "readLeaf", "newLeaf"),
		valgrind: []string{"Invalid read of size 8", "sanitize_test.readLeaf", "8 bytes inside a block of size 16 free'd"}},
}

func init() { all = append(all, arenaRows...) }

// TestArena holds package arena to what each sanitizer must make of its values.
func TestArena(t *testing.T) { check(t, arenaRows) }
