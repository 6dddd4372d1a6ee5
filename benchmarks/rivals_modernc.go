package main

import (
	"fmt"
	"sync"
	"unsafe"

	"modernc.org/memory"

	"github.com/freehold-go/freehold/cmd/bench"
)

// modernc.org/memory is the other allocator in pure Go. It is for one goroutine at a time; programs
// put a lock around it, and so does the rival that takes part everywhere. Its list loops are
// written out, because it is fast enough for a function value to show.
func init() {
	var mu sync.Mutex
	var shared memory.Allocator
	locked := func(alloc func(int) (unsafe.Pointer, error)) way {
		return way{
			alloc: func(n int) unsafe.Pointer {
				mu.Lock()
				defer mu.Unlock()
				return must(alloc(n))
			},
			free: func(p unsafe.Pointer, _ int) {
				mu.Lock()
				defer mu.Unlock()
				check(shared.UnsafeFree(p))
			},
		}
	}
	rival{
		name: "modernc + mutex", note: "UnsafeMalloc or UnsafeCalloc, and UnsafeFree, under one sync.Mutex",
		zeroed: locked(shared.UnsafeCalloc), plain: locked(shared.UnsafeMalloc),
	}.register()
	set.Add("list", bench.Contestant{
		Name: "modernc", Note: "UnsafeCalloc and UnsafeFree, one goroutine", Prepare: listModernc,
	})
}

// must panics if memory has run out: there is no measuring on after that.
func must(p unsafe.Pointer, err error) unsafe.Pointer {
	check(err)
	return p
}

func check(err error) {
	if err != nil {
		panic(fmt.Sprintf("benchmarks: modernc.org/memory: %v", err))
	}
}

func listModernc(r *bench.Run) func() uint64 {
	var a memory.Allocator
	return func() uint64 {
		var head *node
		for i := range r.N {
			p, err := a.UnsafeCalloc(nodeSize)
			if err != nil {
				check(err)
			}
			n := (*node)(p)
			n.val, n.next = int64(i), head
			head = n
		}
		r.Peak()
		sum := listSum(head)
		for n := head; n != nil; {
			next := n.next
			if err := a.UnsafeFree(unsafe.Pointer(n)); err != nil {
				check(err)
			}
			n = next
		}
		return sum
	}
}
