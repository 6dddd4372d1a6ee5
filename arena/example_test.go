// SPDX-License-Identifier: Apache-2.0

package arena_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"reflect"
	"strings"
	"sync"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/offheap"
)

type employee struct {
	Name    string
	Boss    *employee
	Reports []*employee
}

func Example() {
	a := arena.NewArena()
	defer a.Free() // All of it at once.

	boss := arena.New[employee](a)
	boss.Name = arena.String(a, "Ada")
	for _, name := range []string{"Bo", "Cy"} {
		e := arena.New[employee](a)
		e.Name, e.Boss = arena.String(a, name), boss
		boss.Reports = arena.Append(a, boss.Reports, e)
	}
	fmt.Println(boss.Reports[1].Name, "works for", boss.Reports[1].Boss.Name)
	// Output: Cy works for Ada
}

func ExampleArena_Reset() {
	a := arena.NewArena()
	defer a.Free()
	for round := range 3 {
		squares := arena.MakeSlice[int](a, 0, 8)
		for i := range round + 2 {
			squares = arena.Append(a, squares, i*i)
		}
		fmt.Println(squares)
		a.Reset(arena.Keep) // The next round has the memory of this one.
	}
	// Output:
	// [0 1]
	// [0 1 4]
	// [0 1 4 9]
}

func ExampleMode() {
	a := arena.NewArena()
	defer a.Free()
	arena.MakeSlice[byte](a, 10<<20, 10<<20) // One request was large.
	a.Reset(arena.KeepUpTo(64 << 10))        // The next ones need not pay for it.
	fmt.Println(a.Stats().Held <= 64<<10)
	// Output: true
}

func ExampleCheckpoint() {
	a := arena.NewArena()
	defer a.Free()
	kept := arena.String(a, "kept")
	c := a.Checkpoint()
	for _, candidate := range []string{"one", "two"} {
		_ = arena.Concat(a, "tried ", candidate)
		a.Rewind(c) // Frees the values of the attempt; earlier values stay.
	}
	fmt.Println(kept)
	// Output: kept
}

func ExampleOf() {
	a := arena.NewArena()
	defer a.Free()
	employees := arena.Of[employee](a) // Looks the type up once.
	var last *employee
	for range 1000 {
		e := employees.New()
		e.Boss, last = last, e
	}
	depth := 0
	for e := last; e != nil; e = e.Boss {
		depth++
	}
	fmt.Println(depth)
	// Output: 1000
}

func ExampleTyped() {
	type page struct {
		index arena.Typed[uint32] // May be kept as long as the arena is in use.
	}
	a := arena.NewArena()
	defer a.Free()
	p := page{arena.Of[uint32](a)}
	fmt.Println(p.index.Append(p.index.MakeSlice(1, 4), 7, 8))
	// Output: [0 7 8]
}

func ExampleBuilder() {
	a := arena.NewArena()
	defer a.Free()
	b := arena.NewBuilder(a)
	fmt.Fprintf(b, "%d bottles, ", 99)
	_, _ = io.Copy(b, strings.NewReader("then 98"))
	fmt.Println(b.String())
	// Output: 99 bottles, then 98
}

func ExampleMap() {
	a := arena.NewArena()
	defer a.Free()
	count := arena.NewMap[string, int](a, 0)
	for word := range strings.FieldsSeq("to be or not to be") {
		n, _ := count.Get(word)
		count.Set(word, n+1)
	}
	be, _ := count.Get("be")
	fmt.Println(count.Len(), be)
	// Output: 4 2
}

func ExamplePool() {
	var requests arena.Pool // One for the process.
	handle := func(name string) {
		a := requests.Get()
		defer requests.Put(a)
		fmt.Println(arena.Concat(a, "hello ", name))
	}
	handle("Ada")
	handle("Bo")
	// Output:
	// hello Ada
	// hello Bo
}

func ExampleNewContext() {
	greet := func(ctx context.Context, name string) string {
		a := arena.FromContext(ctx) // The nil arena if there is none: then it is the Go heap.
		return arena.Concat(a, "hello ", name)
	}
	a := arena.NewArena()
	defer a.Free()
	fmt.Println(greet(arena.NewContext(context.Background(), a), "Ada"))
	fmt.Println(greet(context.Background(), "Bo"))
	// Output:
	// hello Ada
	// hello Bo
}

func ExampleNewShared() {
	a := arena.NewShared()
	defer a.Free()
	results := arena.MakeSlice[string](a, 3, 3)
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() { results[i] = arena.Concat(a, "part ", fmt.Sprint(i)) })
	}
	wg.Wait()
	fmt.Println(results)
	// Output: [part 0 part 1 part 2]
}

func ExampleNewOffHeap() {
	type sample struct{ At, Value int64 } // No Go pointers.
	a := arena.NewOffHeap(arena.Options{Purpose: offheap.NewPurpose("samples"), Limit: 1 << 30})
	defer a.Free() // It must be freed: the collector does not free off-heap memory.
	var samples []sample
	for i := range int64(5) {
		samples = arena.Append(a, samples, sample{i, i * i})
	}
	fmt.Println(samples[4])
	// Output: {4 16}
}

func ExampleOptions() {
	a := arena.NewOffHeap(arena.Options{Limit: 4096})
	defer a.Free()
	_, err := arena.TryMakeSlice[int64](a, 100_000, 100_000)
	fmt.Println(errors.Is(err, offheap.ErrLimit))
	// Output: true
}

func ExampleNewFixed() {
	type particle struct{ X, Y, DX, DY float32 }
	a := arena.NewFixed(1 << 20) // From here on it asks the system for nothing.
	defer a.Free()
	for range 60 {
		particles := arena.MakeSlice[particle](a, 1000, 1000)
		particles[0].X++
		a.Reset(arena.Keep)
	}
	_, err := arena.TryMakeSlice[particle](a, 1<<20, 1<<20)
	fmt.Println(errors.Is(err, offheap.ErrLimit))
	// Output: true
}

func ExampleArena_SetLimit() {
	a := arena.NewArena()
	defer a.Free()
	a.SetLimit(1 << 20)
	if _, err := arena.TryMakeSlice[byte](a, 2<<20, 2<<20); errors.Is(err, offheap.ErrLimit) {
		fmt.Println("the request is too large")
	}
	// Output: the request is too large
}

func ExampleStats() {
	a := arena.NewArena()
	defer a.Free()
	arena.MakeSlice[int64](a, 1000, 1000)
	s := a.Stats()
	fmt.Println(s.InUse >= 8000, s.Held >= s.InUse)
	// Output: true true
}

func ExampleTotals() {
	a := arena.NewArena()
	defer a.Free()
	arena.MakeSlice[int64](a, 1000, 1000)
	t := arena.ReadTotals() // Of all arenas of the process, for a metric.
	fmt.Println(t.Arenas >= 1, t.Held >= 8000)
	// Output: true true
}

func ExampleInfo() {
	a := arena.NewArena()
	defer a.Free()
	for _, info := range arena.List() { // Arenas that are not freed, and where each was made.
		if info.ID == a.ID() {
			fmt.Println(info.Made[strings.LastIndex(info.Made, "/")+1 : strings.LastIndex(info.Made, ":")])
		}
	}
	// Output: example_test.go
}

func ExampleClone() {
	a := arena.NewArena()
	name := arena.String(a, "a name that must outlive the arena")
	kept := arena.Clone(name)
	a.Free()
	fmt.Println(kept)
	// Output: a name that must outlive the arena
}

func ExampleNewOf() {
	a := arena.NewArena()
	defer a.Free()
	v := arena.NewOf(a, reflect.TypeFor[employee]()) // As reflect.New.
	v.(*employee).Name = "Ada"
	fmt.Printf("%T %s\n", v, v.(*employee).Name)
	// Output: *arena_test.employee Ada
}

func ExampleDeepClone() {
	ada := &employee{Name: "Ada"}
	ada.Reports = []*employee{{Name: "Bo", Boss: ada}}
	a := arena.NewArena()
	defer a.Free()
	copied, err := arena.DeepClone(a, ada) // With all that it leads to, cycles too.
	if err != nil {
		log.Fatal(err)
	}
	ada.Name = "Eve"
	fmt.Println(copied.Reports[0].Boss.Name)
	// Output: Ada
}

func ExampleHeap() {
	a := arena.NewArena()
	boss := arena.New[employee](a)
	boss.Name = arena.String(a, "Ada")
	boss.Reports = arena.Append(a, boss.Reports, arena.New[employee](a))
	kept, err := arena.Heap(boss) // The way back: nothing of it is in the arena.
	if err != nil {
		log.Fatal(err)
	}
	a.Free()
	fmt.Println(kept.Name, len(kept.Reports))
	// Output: Ada 1
}

func ExampleCloneOptions() {
	type job struct{ Done chan bool }
	a := arena.NewArena()
	defer a.Free()
	j := &job{make(chan bool, 1)}
	_, err := arena.DeepClone(a, j) // Nothing can copy a channel.
	fmt.Println(errors.Is(err, arena.ErrUncloneable))
	copied, err := arena.DeepClone(a, j, arena.CloneOptions{Share: []reflect.Type{reflect.TypeFor[chan bool]()}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(copied.Done == j.Done)
	// Output:
	// true
	// true
}
