// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"maps"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/internal/vmem"
	"github.com/freehold-go/freehold/offheap"
)

type (
	convertedA struct {
		N    int
		Next *convertedA
		m    map[string]*int
	}
	convertedB convertedA
	numbersA   []int
	numbersB   []int
	pointerA   *int
	pointerB   *int
	leading    *leading
	listing    []listing
	tabling    map[string]tabling
	boxing     any
	arrayOf4   [4]int
)

// TestDeepCloneByManyTypes leads to one variable by several types, as conversions without package
// unsafe make them.
func TestDeepCloneByManyTypes(t *testing.T) {
	cloners(t, func(t *testing.T, clone func(*[]any, ...CloneOptions) *[]any) {
		for _, o := range []CloneOptions{{}, {Share: []reflect.Type{reflect.TypeFor[chan int]()}}} {
			for turn := range 12 {
				n := new(int)
				v := &convertedA{N: 1, m: map[string]*int{"n": n}}
				v.Next = v
				text := make([]byte, 8, 16)
				four := &arrayOf4{1, 2, 3, 4}
				var b strings.Builder
				b.WriteString("built")
				s := b.String()
				var l leading
				l = &l
				list := listing{nil, nil}
				list[0] = list
				table := tabling{}
				table["self"] = table
				parts := []any{
					v, (*convertedB)(v), &v.N, pointerA(n), pointerB(n), n,
					numbersA(four[:2:3]), numbersB(four[1:]), four, (*[4]int)(four), (*[2]int)(four[2:]), four[:],
					text, (*[8]byte)(text), [8]byte(text), &b, s, s[1:3], l, &l, list, &list, table, &table,
					any(boxing(four)), struct{ a any }{[1]any{list}},
				}
				for i := range turn { // Another order of finding them.
					j := (i*7 + turn) % len(parts)
					parts[i], parts[j] = parts[j], parts[i]
				}
				where := make(map[reflect.Type]any)
				c := *clone(&parts, o)
				for i, p := range c {
					if reflect.TypeOf(p) != reflect.TypeOf(parts[i]) {
						t.Fatalf("part %d is a %T, the original a %T", i, p, parts[i])
					}
					where[reflect.TypeOf(p)] = p
				}
				w := where[reflect.TypeFor[*convertedA]()].(*convertedA)
				if w == v || w.Next != w || (*convertedA)(where[reflect.TypeFor[*convertedB]()].(*convertedB)) != w {
					t.Fatal("one variable of two types became two")
				}
				f := where[reflect.TypeFor[*arrayOf4]()].(*arrayOf4)
				f[2] = 7
				if g := where[reflect.TypeFor[*[2]int]()].(*[2]int); g[0] != 7 || where[reflect.TypeFor[numbersB]()].(numbersB)[1] != 7 || four[2] != 3 {
					t.Fatal("an array and slices of it became two")
				}
				x := where[reflect.TypeFor[[]byte]()].([]byte)
				x[3] = 'x'
				if where[reflect.TypeFor[*[8]byte]()].(*[8]byte)[3] != 'x' || cap(x) != 16 || text[3] != 0 {
					t.Fatal("a byte slice and its array became two")
				}
				r := where[reflect.TypeFor[leading]()].(leading)
				if *r != r {
					t.Fatal("a pointer to itself leads elsewhere")
				}
				k := where[reflect.TypeFor[tabling]()].(tabling)
				k["more"] = nil
				if len(k["self"]["self"]) != 2 || len(table) != 1 {
					t.Fatal("a map in itself became two")
				}
				h := where[reflect.TypeFor[listing]()].(listing)
				if &h[0] != &h[0][0] {
					t.Fatal("a slice in itself became two")
				}
			}
		}
	})
}

type holder struct {
	n int
	z struct{}
	y [0]int
	m int
}

// TestHeapZeroSizeInArena: what Heap returns may outlive all arenas, so no pointer in it may lead to
// one, not even a pointer to no bytes.
func TestHeapZeroSizeInArena(t *testing.T) {
	type pair struct {
		z *struct{}
		y *[0]int
		e any
	}
	for _, a := range []*Arena{NewArena(), NewShared(), NewOffHeap(Options{}), NewFixed(1 << 10)} {
		if freehold.HeapMode() {
			break
		}
		h := New[holder](a)
		for _, long := range []bool{false, true} {
			p := &pair{&h.z, &h.y, &h.z}
			onlyLongWay(p, long, nil)
			c := Heap(p)
			if c.z == &h.z || c.y == &h.y || c.e == any(&h.z) {
				t.Errorf("%s: the copy on the heap has a pointer into the arena", a.rec.from.name)
			}
		}
		a.Free()
	}
	if vmem.Supported && !freehold.HeapMode() && !raceEnabled { // Otherwise a block is an object of the Go heap.
		b := offheap.New[holder]()
		if Heap(&pair{z: &b.z}).z == &b.z {
			t.Error("the copy on the heap has a pointer into a block")
		}
		offheap.Delete(b)
	}
	h := new(holder)
	if c := Heap(&pair{z: &h.z}); c.z != &h.z {
		t.Error("a pointer to no bytes on the Go heap, which is an identity, was not kept")
	}
}

// TestDeepCloneStaleKey: the box of an interface key of a stale map comes to hold something that
// cannot be hashed. The clone panics and changes nothing.
func TestDeepCloneStaleKey(t *testing.T) {
	if debugging() || freehold.HeapMode() || freehold.NoReuseMode() {
		t.Skip("the memory is not reused")
	}
	a := NewArena()
	defer a.Free()
	m := DeepClone(a, map[any]int{[1]any{1}: 1, [1]any{2}: 2})
	a.Reset(Keep)
	for range 4 {
		*New[any](a) = []int{1} // The boxes lie in memory of the array's elements.
	}
	b := NewArena()
	defer b.Free()
	for range 20 {
		before := b.Stats()
		r := func() (r any) {
			defer func() { r = recover() }()
			DeepClone(b, &m)
			return nil
		}()
		if e, ok := r.(runtime.Error); !ok || !strings.Contains(e.Error(), "unhashable") {
			t.Fatalf("the clone ended with %v", r)
		}
		if after := b.Stats(); after.InUse != before.InUse {
			t.Fatalf("the clone left %d bytes in use, %d before", after.InUse, before.InUse)
		}
		if c := DeepClone(b, []string{"good"}); c[0] != "good" {
			t.Fatal(c)
		}
	}
}

// TestDeepCloneNaN: each NaN is a key of its own.
func TestDeepCloneNaN(t *testing.T) {
	cloners(t, func(t *testing.T, clone func(*map[any]*int, ...CloneOptions) *map[any]*int) {
		n := 3
		m := map[any]*int{math.NaN(): &n, [2]float64{1, math.NaN()}: &n, 0.0: &n, "x": &n}
		m[math.NaN()] = &n
		c := *clone(&m)
		values := make(map[*int]int)
		for v := range maps.Values(c) {
			values[v]++
		}
		if len(c) != 5 || len(values) != 1 || values[&n] != 0 {
			t.Fatalf("%d entries with %d values", len(c), len(values))
		}
	})
}
