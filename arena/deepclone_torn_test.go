// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"log/slog"
	"reflect"
	"sync/atomic"
	"testing"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/internal/checks/testenv"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// coupled has fields of other modules that depend on each other by package unsafe, behind pointers that the
// pass follows before it copies all of them.
type coupled[T any] struct {
	next  *coupled[T]
	boxed any
	list  []*coupled[T]
	v     T
	more  [6]T
}

// TestDeepCloneStaleTorn clones values that lead to the memory that their own copies get, where a stale pointer
// has written another value of the type. No copy may have the number of one value and the pointer of the other.
func TestDeepCloneStaleTorn(t *testing.T) {
	testenv.MisusesMemory(t)
	if debugging() || freehold.HeapMode() {
		t.Skip("the debug modes and the heap keep the memory")
	}
	t.Run("log/slog", func(t *testing.T) {
		tear(t, slog.StringValue("hi"), slog.Int64Value(5000), func(v slog.Value) string {
			return fmt.Sprintf("%v of %d bytes", v.Kind(), len(v.String()))
		})
	})
	t.Run("reflect", func(t *testing.T) {
		tear(t, reflect.ValueOf(&tornPointer).Elem(), reflect.ValueOf(&tornNumber).Elem(), func(v reflect.Value) string {
			if !v.IsValid() {
				return "invalid"
			}
			return fmt.Sprint(v.Kind(), v.Type(), v.Addr().UnsafePointer())
		})
	})
}

var (
	tornNumber  int
	tornPointer *int
)

// tear clones chains of values with is, the last of which leads to the memory of one of the first one's copies.
func tear[T any](t *testing.T, was, is T, describe func(T) string) {
	const stales, chain = 8, 4
	whole := map[string]bool{describe(was): true, describe(is): true, describe(*new(T)): true}
	link := map[string]func(from, to *coupled[T]){
		"pointer":              func(from, to *coupled[T]) { from.next = to },
		"slice":                func(from, to *coupled[T]) { from.list = []*coupled[T]{to} },
		"pointer in interface": func(from, to *coupled[T]) { from.boxed = to },
		"struct in interface":  func(from, to *coupled[T]) { from.boxed = boxed[T]{"s", to} },
		"map":                  func(from, to *coupled[T]) { from.boxed = map[int]*coupled[T]{1: to} },
	}
	for name := range link {
		for n := range 4 * stales {
			target, inBox, long := n/4, n%2 != 0, n/2%2 != 0
			a := NewArena()
			boxes, stale := make([]any, stales), make([]*coupled[T], stales)
			for i := range boxes {
				boxes[i] = DeepClone(a, any(coupled[T]{}))
			}
			a.Reset(Keep)
			for i := range stale {
				stale[i] = New[coupled[T]](a) // Where boxes[i] has its value.
			}
			a.Reset(Keep)
			for _, s := range stale {
				s.v, s.more = was, [6]T{was, was, was, was, was, was}
			}
			list := stale[target]
			for i := range chain {
				n := &coupled[T]{v: is, more: [6]T{is, is, is, is, is, is}}
				if i == 0 && inBox {
					n.boxed = boxes[target]
				} else {
					link[name](n, list)
				}
				list = n
			}
			onlyLongWay(list, long, nil)
			c := cloneStale(t, a, list)
			seen := map[*coupled[T]]bool{}
			for list := []*coupled[T]{c}; len(list) > 0; {
				v := list[len(list)-1]
				list = list[:len(list)-1]
				if v == nil || seen[v] {
					continue
				}
				seen[v] = true
				for _, x := range append(v.more[:], v.v) {
					if d := describe(x); !whole[d] {
						t.Fatalf("%s to value %d, in an interface %v: the copy has %q, made of two values", name, target, inBox, d)
					}
				}
				list = append(append(list, v.next), v.list...)
				switch x := v.boxed.(type) {
				case *coupled[T]:
					list = append(list, x)
				case coupled[T]:
					list = append(list, &x)
				case map[int]*coupled[T]:
					list = append(list, x[1])
				case boxed[T]:
					list = append(list, x.p)
				}
			}
			a.Free()
		}
	}
}

// A boxed is not held by an interface as its address alone.
type boxed[T any] struct {
	name string
	p    *coupled[T]
}

// TestDeepCloneStaleBoxesEnd clones values in interfaces that lie in one another, the innermost a stale one of
// the arena that the copies go to.
func TestDeepCloneStaleBoxesEnd(t *testing.T) {
	if debugging() || freehold.HeapMode() {
		t.Skip("the arena does not reuse the memory")
	}
	type box struct {
		next any
		_    [6]uintptr
	}
	const limit = 16 << 20
	for depth := 1; depth <= mostDepth+2; depth++ {
		a := NewArena()
		a.SetLimit(limit)
		list := DeepClone(a, any(box{next: 1}))
		a.Reset(Keep)
		for range depth {
			list = box{next: list}
		}
		n := 0
		if c := cloneStale(t, a, &list); c != nil {
			for b, ok := (*c).(box); ok; b, ok = b.next.(box) {
				n++
			}
		}
		if held := a.Stats().Held; held > 1<<20 {
			t.Errorf("%d values in interfaces took %d bytes", depth, held)
		}
		if n > depth+1 {
			t.Errorf("the copy of %d values in interfaces has %d", depth+1, n)
		}
		a.Free()
	}
}

// TestDeepCloneAlignment clones a number of 8 bytes within a stale byte slice that begins at any address.
func TestDeepCloneAlignment(t *testing.T) {
	if debugging() || freehold.HeapMode() {
		t.Skip("the arena does not reuse the memory")
	}
	for from := range 16 {
		a := NewArena()
		old := New[[64]byte](a)
		a.Reset(Keep)
		type counter struct{ n atomic.Int64 }
		var all []*counter
		for range 4 {
			all = append(all, New[counter](a))
			all[len(all)-1].n.Store(5)
		}
		type views struct {
			bytes []byte
			list  []*counter
		}
		v := &views{old[from:40], all[2:]} // These lie behind old[16].
		for name, clone := range map[string]func() *views{
			"Heap": func() *views { return Heap(v) }, "DeepClone": func() *views { return DeepClone(a, v) },
			"DeepClone elsewhere": func() *views { return DeepClone(NewArena(), v) },
		} {
			c := clone()
			for i, n := range c.list {
				if n.n.Add(1) != 6 || uintptr(unsafex.PtrAddr(unsafex.PtrOf(n)))%8 != 0 { // Add panics on 32-bit systems.
					t.Errorf("%s of bytes from %d on: number %d has the address %p and is %d", name, from, i, n, n.n.Load())
				}
			}
			if len(c.bytes) != 40-from || cap(c.bytes) != 64-from {
				t.Errorf("%s of bytes from %d on has %d bytes, capacity %d", name, from, len(c.bytes), cap(c.bytes))
			}
		}
		a.Free()
	}
}

// TestDeepCloneStaleWords clones maps that lie in a row. The first one's copy gets the memory of the second, a stale
// one, which is one word.
func TestDeepCloneStaleWords(t *testing.T) {
	testenv.MisusesMemory(t)
	if debugging() || freehold.HeapMode() {
		t.Skip("the arena does not reuse the memory")
	}
	for used := range 5 {
		a := NewArena()
		old := MakeSlice[map[int]int](a, 8, 8)
		a.Reset(Keep)
		live := MakeSlice[map[int]int](a, used, used)
		for i := range live {
			live[i] = map[int]int{i: 1}
		}
		for i := used; i < len(old); i++ {
			old[i] = map[int]int{i: 2}
		}
		for from := range old {
			for end := from + 1; end <= len(old); end++ {
				rows := old[from:end:end]
				onlyLongWay(&rows, false, nil)
				at := a.Checkpoint()
				if c := cloneStale(t, a, &rows); c != nil {
					for i, m := range *c {
						if m != nil && len(m) != 1 { // It is nil if the pass gave up and its memory was wiped.
							t.Errorf("%d used: map %d of [%d:%d] has the copy %v", used, i, from, end, m)
						}
					}
				}
				a.Rewind(at)
				for i := used; i < len(old); i++ {
					old[i] = map[int]int{i: 2}
				}
			}
		}
		a.Free()
	}
}
