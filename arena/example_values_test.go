// SPDX-License-Identifier: Apache-2.0

package arena_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/offheap"
)

func ExampleNewFrom() {
	a := arena.NewArena()
	defer a.Free()
	boss := arena.NewFrom(a, employee{Name: "Ada"})
	e := arena.NewFrom(a, employee{Name: "Bo", Boss: boss})
	fmt.Println(e.Name, "works for", e.Boss.Name)
	// Output: Bo works for Ada
}

func ExampleSliceFrom() {
	a := arena.NewArena()
	defer a.Free()
	buffer := []int{1, 2, 3}
	kept := arena.SliceFrom(a, buffer)
	clear(buffer) // The next round uses it again.
	fmt.Println(kept)
	// Output: [1 2 3]
}

func ExampleGrow() {
	a := arena.NewArena()
	defer a.Free()
	var ids []int
	for _, batch := range [][]int{{1, 2}, {3, 4, 5}} {
		ids = arena.Grow(a, ids, len(batch)) // At most one copy for each batch.
		for _, id := range batch {
			ids = append(ids, id) // There is room: it stays in the arena.
		}
	}
	fmt.Println(ids)
	// Output: [1 2 3 4 5]
}

func ExampleCollect() {
	a := arena.NewArena()
	defer a.Free()
	words := arena.Collect(a, strings.FieldsSeq("to be or not to be"))
	fmt.Println(len(words), words[3])
	// Output: 6 not
}

func ExampleMap_Update() {
	a := arena.NewArena()
	defer a.Free()
	count := arena.NewMap[string, int](a, 0)
	for word := range strings.FieldsSeq("to be or not to be") {
		count.Update(word, func(n int, _ bool) int { return n + 1 })
	}
	be, _ := count.Get("be")
	fmt.Println(count.Len(), be)
	// Output: 4 2
}

func ExampleMap_GetOrSet() {
	a := arena.NewArena()
	defer a.Free()
	number := arena.NewMap[string, int](a, 0) // Each word gets the next number.
	for word := range strings.FieldsSeq("to be or not to be") {
		n, known := number.GetOrSet(word, number.Len())
		fmt.Print(n, " ", known, "; ")
	}
	// Output: 0 false; 1 false; 2 false; 3 false; 0 true; 1 true;
}

func ExampleMap_MarshalJSON() {
	a := arena.NewArena()
	defer a.Free()
	m := arena.NewMap[string, []int](a, 0)
	m.Set("b", []int{1, 2})
	m.Set("a", nil)
	text, err := json.Marshal(m)
	fmt.Println(string(text), err)
	// Output: {"a":null,"b":[1,2]} <nil>
}

func ExampleMap_UnmarshalJSON() {
	a := arena.NewArena()
	defer a.Free()
	m := arena.NewMap[string, int](a, 0) // Before: the arena must be known.
	if err := json.Unmarshal([]byte(`{"a": 1, "b": 2}`), m); err != nil {
		fmt.Println(err)
	}
	fmt.Println(slices.Sorted(m.Keys()), maps.Collect(m.All())["b"])
	// Output: [a b] 2
}

func ExampleNewWith() {
	a := arena.NewWith(arena.Options{Shared: true, Limit: 64 << 20, NoReuse: true})
	defer a.Free()
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() { arena.String(a, fmt.Sprint("result ", i)) })
	}
	wg.Wait()
	fmt.Println(a.Stats().Held <= 64<<20)
	// Output: true
}

func ExampleNewOffHeap_shared() {
	type entry struct{ Key, Offset uint32 } // No Go pointers.
	a := arena.NewOffHeap(arena.Options{Shared: true, Purpose: offheap.NewPurpose("index")})
	defer a.Free()
	blocks := make([][]entry, 4)
	var wg sync.WaitGroup
	for i := range blocks { // Each goroutine builds a block of one table.
		wg.Go(func() {
			for j := range uint32(100) {
				blocks[i] = arena.Append(a, blocks[i], entry{uint32(i), j})
			}
		})
	}
	wg.Wait()
	fmt.Println(blocks[3][99])
	// Output: {3 99}
}

func ExampleCleanup() {
	test := func(t *testing.T) {
		a := arena.Cleanup(t, arena.NewArena()) // It is checked and freed at the end of the test.
		if s := arena.Concat(a, "a", "b"); s != "ab" {
			t.Errorf("%q", s)
		}
	}
	_ = test
}

func ExampleCheckFreed() {
	test := func(t *testing.T) {
		arena.CheckFreed(t) // The test fails if the handler frees not each arena that it makes.
		var requests arena.Pool
		handle := func() { requests.Put(requests.Get()) }
		handle()
	}
	_ = test
}

// A stack keeps memory of its arena from call to call.
type stack struct {
	a     *arena.Arena
	round arena.Round // When all was allocated.
	all   []string
}

func (s *stack) push(v string) {
	if how := s.round.Ended(); how != "" {
		panic("the arena of this stack was " + how)
	}
	s.all = arena.Append(s.a, s.all, arena.String(s.a, v))
	s.round = s.a.Round()
}

func ExampleRound() {
	a := arena.NewArena()
	defer a.Free()
	s := stack{a: a}
	s.push("a")
	s.push("b")
	fmt.Println(s.all)
	a.Reset(arena.Keep)
	defer func() { fmt.Println(recover()) }()
	s.push("c")
	// Output:
	// [a b]
	// the arena of this stack was reset
}
