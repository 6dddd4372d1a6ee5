// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/internal/checks/samegraph"
	"github.com/freehold-go/freehold/internal/graph"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/offheap"
)

// The oracle states what a clone of a graph must be. It knows from the generator where the rows
// lie, and asks DeepClone nothing:
//
//   - Pointers to package-level variables and to memory of others are shared. The variable that the
//     root points to is copied.
//   - All else is copied, as package samegraph says, and lies in the memory of the destination.
//   - No byte of the rows is written, wherever they lie: in the destination, too.
//   - A refusal leaves the destination as it was.

// A landscape is where the rows of a graph lie.
type landscape struct {
	live    []samegraph.Span // What no clone may write to.
	globals []samegraph.Span
	outside []samegraph.Span
}

// rule is what a clone to a shares with its original.
func (l *landscape) rule(a *Arena) samegraph.Rule {
	r := samegraph.Rule{Globals: slices.Clone(l.outside), Holds: isForeign, Inside: l.insideOf(a)}
	r.Globals = append(r.Globals, l.globals...)
	return r
}

// insideOf says which memory a copy in a may have.
func (l *landscape) insideOf(a *Arena) func(samegraph.Span) bool {
	if a != nil && !a.from.single {
		return func(s samegraph.Span) bool {
			return a.Owns(unsafex.Pointer(s.From)) && a.Owns(unsafex.Pointer(s.End-1))
		}
	}
	grounds := &graph.Grounds{}
	return func(s samegraph.Span) bool {
		if slices.ContainsFunc(l.live, func(row samegraph.Span) bool { return s.From < row.End && row.From < s.End }) {
			return false
		}
		_, known := ownerOf(s.From)
		return !known && grounds.Of(unsafex.Pointer(s.From)) == graph.OnHeap
	}
}

// isForeign says whether the tests make the struct type t as one of another module.
func isForeign(t reflect.Type) bool { return graph.DeclaredIn(t) == foreignPackage }

// An oracle judges the clones of one graph.
type oracle struct {
	*testing.T
	landscape
	script  []byte
	a       *Arena
	long    bool // The first clone takes the long way.
	try     bool // By the functions that return errors.
	refused bool // The graph has a part that cannot be copied.
	collect bool
	limit   int64 // Bytes that the arena may take. 0: any number.
}

func (j *oracle) must(err error, what string) {
	j.Helper()
	if err != nil {
		j.Fatalf("%s: %v\nthe long way %v, limit %d, script %q", what, err, j.long, j.limit, j.script)
	}
}

// judge clones v to the arena, and v or the clone to the Go heap, and judges the clones.
func judge[T any](j *oracle, v T) {
	images := samegraph.ImagesOf(j.live)
	unwritten := func(what string) { j.must(samegraph.Unchanged(images), what) }
	c, ok := judgeRefusal(j, v)
	unwritten("DeepClone wrote to the original, or to other values of the arena")
	if !ok {
		return
	}
	j.must(samegraph.CompareBy(j.rule(j.a), v, c), "DeepClone")
	onlyLongWay(v, !j.long, nil)
	direct := heapOf(j, v)
	unwritten("Heap wrote to the original")
	j.must(samegraph.CompareBy(j.rule(nil), v, direct), "Heap")
	h := heapOf(j, c)
	unwritten("Heap of the clone wrote to the original")
	j.must(samegraph.CompareBy(j.rule(nil), c, h), "Heap of DeepClone")
	if j.collect {
		runtime.GC()
		j.must(samegraph.CompareBy(j.rule(nil), c, h), "after a collection")
		j.must(samegraph.CompareBy(j.rule(nil), v, h), "after a collection, with the original")
	}
	unwritten("the original changed")
	runtime.KeepAlive(v)
}

func heapOf[T any](j *oracle, v T) T {
	if !j.try {
		return Heap(v)
	}
	h, err := tryHeap(v)
	j.must(err, "Heap")
	return h
}

// judgeRefusal clones v to the arena, and says whether it was cloned. If not, it should not have
// been, and the arena is as before.
func judgeRefusal[T any](j *oracle, v T) (c T, ok bool) {
	onlyLongWay(v, j.long, nil)
	if !j.refused && j.limit == 0 && !j.try {
		return DeepClone(j.a, v), true
	}
	var before Stats
	if j.a != nil {
		before = j.a.Stats()
	}
	if j.limit != 0 {
		defer j.a.SetLimit(j.a.SetLimit(before.Held + j.limit))
	}
	c, err := tryDeepClone(j.a, v)
	switch {
	case err == nil && j.refused:
		j.Fatalf("a function was cloned\nscript %q", j.script)
	case err == nil:
		return c, true
	case j.refused && errors.Is(err, ErrUncloneable), j.limit != 0 && errors.Is(err, offheap.ErrLimit):
		if !reflect.ValueOf(&c).Elem().IsZero() {
			j.Fatalf("an error, %v, with a clone\nscript %q", err, j.script)
		}
		if j.a != nil && j.a.from.onGo() && j.a.Stats().InUse != before.InUse {
			j.Fatalf("%d bytes in use after an error, %d before: %v\nscript %q", j.a.Stats().InUse, before.InUse, err, j.script)
		}
		if j.refused {
			if _, err := tryHeap(v); !errors.Is(err, ErrUncloneable) {
				j.Fatalf("Heap: %v\nscript %q", err, j.script)
			}
		}
	default:
		j.must(err, "DeepClone")
	}
	return c, false
}

// judgeStale clones v, which leads to stale values. The clone is refused, or it is sound: it lies in
// the destination's memory and can be cloned again. Live values are not written.
func judgeStale[T any](j *oracle, v T) {
	images := samegraph.ImagesOf(j.live)
	onlyLongWay(v, j.long, nil)
	c, err := staleClone(j.a, v)
	j.must(samegraph.Unchanged(images), "DeepClone wrote to live values")
	if err != nil {
		if !errors.Is(err, ErrUncloneable) && !strings.Contains(err.Error(), "reset or freed before") {
			j.must(err, "DeepClone of stale values")
		}
		return
	}
	h := Heap(c)
	j.must(samegraph.CompareBy(j.rule(nil), c, h), "Heap of a clone of stale values")
	j.must(samegraph.CompareBy(j.rule(j.a), h, c), "the clone of stale values")
	j.must(samegraph.Unchanged(images), "Heap wrote to live values")
}

// staleClone is DeepClone with an error instead of a panic.
func staleClone[T any](a *Arena, v T) (c T, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return tryDeepClone(a, v)
}
