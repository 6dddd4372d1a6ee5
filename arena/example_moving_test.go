// SPDX-License-Identifier: Apache-2.0

package arena_test

import (
	"fmt"
	"strings"
	"sync"

	"github.com/freehold-go/freehold/arena"
)

// The functions of this file are quoted in docs/moving-over.md; internal/checks/lint holds the page
// to them. What they come from is in moving_experiment_test.go and, for libraries that ours must
// not depend on, in benchmarks/moving_test.go.

type location struct{ x, y int }

func experimentAfter(xs []int) *location {
	a := arena.NewArena()
	defer a.Free()
	list := arena.MakeSlice[*location](a, 0, len(xs))
	for _, x := range xs {
		p := arena.New[location](a)
		p.x, p.y = x, x*x
		list = append(list, p)
	}
	return arena.Clone(list[len(list)-1])
}

func zAfter(lines []string) (total int) {
	a := arena.NewArena() // One that many goroutines use at once is arena.NewShared().
	defer a.Free()
	for range 3 {
		var list []*entry
		for i, line := range lines {
			e := arena.New[entry](a)
			e.number = i
			e.text = arena.String(a, line) // What e points to stays alive.
			list = arena.Append(a, list, e)
		}
		for _, e := range list {
			total += e.number + len(e.text)
		}
		a.Reset(arena.Keep)
	}
	return total
}

type entry struct {
	number int
	text   string
}

func nukeAfter(lines []string) (total int) {
	a := arena.NewArena()
	defer a.Free()
	lengths := arena.MakeSlice[int](a, 0, 4)
	for _, line := range lines {
		p := arena.New[location](a)
		p.x = len(line)
		lengths = arena.Append(a, lengths, p.x)
	}
	for _, n := range lengths {
		total += n
	}
	a.Reset(arena.Keep)
	return total
}

type request struct {
	words []string
	index map[string]int
}

var requests = sync.Pool{New: func() any { return &request{index: map[string]int{}} }}

func poolBefore(body string) int {
	r := requests.Get().(*request)
	defer func() {
		clear(r.words) // Or the pool keeps what they point to.
		r.words = r.words[:0]
		clear(r.index)
		requests.Put(r)
	}()
	r.words = append(r.words, strings.Fields(body)...)
	for _, w := range r.words {
		r.index[w]++
	}
	return len(r.index)
}

var arenas arena.Pool

func poolAfter(body string) int {
	a := arenas.Get()
	defer arenas.Put(a)
	var words []string
	for w := range strings.FieldsSeq(body) {
		words = arena.Append(a, words, w)
	}
	index := arena.NewMap[string, int](a, len(words))
	for _, w := range words {
		n, _ := index.Get(w)
		index.Set(w, n+1)
	}
	return index.Len()
}

func Example_moving() {
	lines := []string{"a", "bc", "def"}
	fmt.Println(*experimentAfter([]int{1, 2, 3}))
	fmt.Println(zAfter(lines), nukeAfter(lines))
	fmt.Println(poolBefore("to be or not to be"), poolAfter("to be or not to be"))
	// Output:
	// {3 9}
	// 27 6
	// 4 4
}
