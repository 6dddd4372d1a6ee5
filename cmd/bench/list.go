package bench

import "sync"

// The list of the field's classic test: build n nodes one in front of the other, walk them, free them in the order of
// the walk. Every contestant's loop is written out, so that no call through a function value blurs nanoseconds.

func init() {
	Register(Workload{
		Name:  "list",
		Doc:   "Build a linked list of n nodes of 16 bytes, walk it, free every node.",
		Op:    "node",
		Size:  "nodes",
		Quick: []int{500_000},
		Full:  []int{2_000_000},
		Ops:   func(n int) int { return n },
		Order: 10,
	},
		Contestant{Name: heapName, Note: "new; freed by the collector", Prepare: listHeap},
		Contestant{Name: "sync.Pool", Note: "Get and Put of *node", Prepare: listSyncPool},
		Contestant{Name: boundName, Note: "unchecked intrusive free list over one mapping, one goroutine", Prepare: listBound},
	)
	addListOffheap()
}

type listNode struct {
	val  int64
	next *listNode
}

func listHeap(r *Run) func() uint64 {
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

func listSyncPool(r *Run) func() uint64 {
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

func listBound(r *Run) func() uint64 {
	list := newBoundList(r.N)
	return func() uint64 {
		var head *boundNode
		for i := range r.N {
			n := list.alloc()
			n.val, n.next = int64(i), head
			head = n
		}
		r.Peak()
		var sum int64
		for n := head; n != nil; n = n.next {
			sum += n.val
		}
		for n := head; n != nil; {
			next := n.next
			list.release(n)
			n = next
		}
		return uint64(sum)
	}
}
