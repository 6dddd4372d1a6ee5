// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"slices"
	"sync"

	"github.com/freehold-go/freehold/cmd/bench"
	"github.com/freehold-go/freehold/cmd/bench/bound"
	"github.com/freehold-go/freehold/offheap"
)

// The list of the field's classic test: build n nodes one in front of the other, walk them, free
// them in the order of the walk. Every contestant's loop is written out, because a call through a
// function value would take a measurable part of the nanoseconds.

func listWorkloads() []bench.Workload {
	return []bench.Workload{{
		Name:  "list",
		Doc:   "Build a linked list of n nodes of 16 bytes, walk it, free every node.",
		Op:    "node",
		Size:  "nodes",
		Quick: []int{500_000},
		Full:  []int{2_000_000},
		Ops:   func(n int) int { return n },
		Contestants: slices.Concat([]bench.Contestant{
			{Name: heapName, Note: "new; freed by the collector", Prepare: listHeap},
			{Name: "sync.Pool", Note: "Get and Put of *node", Prepare: listSyncPool},
			{Name: boundName, Note: "unchecked intrusive free list over one mapping, one goroutine", Prepare: listBound},
		}, own(
			bench.Contestant{Name: "offheap New", Note: "New and Delete of nodes with pointers, safe for all goroutines", Prepare: listOffheap},
			bench.Contestant{Name: "offheap Local", Note: "New and Delete of nodes with pointers, one goroutine", Prepare: listLocal},
			bench.Contestant{Name: "offheap Ref", Note: "New and Delete of pointer-free nodes linked by Ref", Prepare: listRef},
		), sampled("offheap New", listOffheap)),
		Bars: append(sampledBars("list", "offheap New", 1.02, 0),
			bench.AtMost("list, offheap New by the Go heap", listBar, bench.TimeRatio("list", 0, "offheap New", heapName)),
			bench.AtMost("list, offheap Local by the bound", 1.6, bench.TimeRatio("list", 0, "offheap Local", boundName)),
		),
	}}
}

type listNode struct {
	val  int64
	next *listNode
}

func listHeap(r *bench.Run) func() uint64 {
	return func() uint64 {
		var head *listNode
		for i := range r.N {
			n := new(listNode)
			n.val, n.next = int64(i), head
			head = n
		}
		r.Peak()
		return listSum(head)
	}
}

func listSum(head *listNode) uint64 {
	var sum int64
	for n := head; n != nil; n = n.next {
		sum += n.val
	}
	return uint64(sum)
}

func listSyncPool(r *bench.Run) func() uint64 {
	pool := sync.Pool{New: func() any { return new(listNode) }}
	return func() uint64 {
		var head *listNode
		for i := range r.N {
			n := pool.Get().(*listNode)
			n.val, n.next = int64(i), head
			head = n
		}
		r.Peak()
		sum := listSum(head)
		for n := head; n != nil; {
			next := n.next
			n.next = nil
			pool.Put(n)
			n = next
		}
		return sum
	}
}

func listBound(r *bench.Run) func() uint64 {
	list := bound.NewList(r.N)
	return func() uint64 {
		var head *bound.Node
		for i := range r.N {
			n := list.Alloc()
			n.Val, n.Next = int64(i), head
			head = n
		}
		r.Peak()
		var sum int64
		for n := head; n != nil; n = n.Next {
			sum += n.Val
		}
		for n := head; n != nil; {
			next := n.Next
			list.Release(n)
			n = next
		}
		return uint64(sum)
	}
}

// An ownNode is a listNode that may live outside the Go heap, because it only ever points to others that do.
type ownNode struct {
	_    offheap.UnsafeSelfContained
	val  int64
	next *ownNode
}

func ownSum(head *ownNode) uint64 {
	var sum int64
	for n := head; n != nil; n = n.next {
		sum += n.val
	}
	return uint64(sum)
}

func listOffheap(r *bench.Run) func() uint64 {
	return func() uint64 {
		var head *ownNode
		for i := range r.N {
			n := offheap.New[ownNode]()
			n.val, n.next = int64(i), head
			head = n
		}
		r.Peak()
		sum := ownSum(head)
		for n := head; n != nil; {
			next := n.next
			offheap.Delete(n)
			n = next
		}
		return sum
	}
}

func listLocal(r *bench.Run) func() uint64 {
	local := offheap.NewLocal()
	r.Cleanup(local.Close)
	from := offheap.In[ownNode](local)
	return func() uint64 {
		var head *ownNode
		for i := range r.N {
			n := from.New()
			n.val, n.next = int64(i), head
			head = n
		}
		r.Peak()
		sum := ownSum(head)
		for n := head; n != nil; {
			next := n.next
			from.Delete(n)
			n = next
		}
		return sum
	}
}

// A refNode is a listNode without pointers.
type refNode struct {
	val  int64
	next offheap.Ref[refNode]
}

func listRef(r *bench.Run) func() uint64 {
	return func() uint64 {
		var head offheap.Ref[refNode]
		for i := range r.N {
			n := offheap.New[refNode]()
			n.val, n.next = int64(i), head
			head = offheap.RefOf(n)
		}
		r.Peak()
		var sum int64
		for ref := head; !ref.IsNil(); {
			n := ref.Ptr()
			sum += n.val
			ref = n.next
		}
		for ref := head; !ref.IsNil(); {
			n := ref.Ptr()
			ref = n.next
			offheap.Delete(n)
		}
		return uint64(sum)
	}
}
