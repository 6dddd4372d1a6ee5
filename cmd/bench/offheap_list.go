package bench

import "github.com/freehold-go/freehold/offheap"

// addListOffheap adds the ways of freehold to list.
func addListOffheap() {
	addOwn("list",
		Contestant{Name: "offheap New", Note: "New and Delete of nodes with pointers, safe for all goroutines", Prepare: listOffheap},
		Contestant{Name: "offheap Local", Note: "NewIn and DeleteIn of nodes with pointers, one goroutine", Prepare: listLocal},
		Contestant{Name: "offheap Ref", Note: "New and Delete of pointer-free nodes linked by Ref", Prepare: listRef},
	)
	addSampled("list", 0, "offheap New", listOffheap, 1.02, 0)
	AddBar(Bar{"list, offheap New by the Go heap", listBar, TimeRatio("list", 0, "offheap New", heapName)})
	AddBar(Bar{"list, offheap Local by the bound", 1.6, TimeRatio("list", 0, "offheap Local", boundName)})
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

func listOffheap(r *Run) func() uint64 {
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

func listLocal(r *Run) func() uint64 {
	local := offheap.NewLocal()
	r.Cleanup(local.Close)
	return func() uint64 {
		var head *ownNode
		for i := range r.N {
			n := offheap.NewIn[ownNode](local)
			n.val, n.next = int64(i), head
			head = n
		}
		r.Peak()
		sum := ownSum(head)
		for n := head; n != nil; {
			next := n.next
			offheap.DeleteIn(local, n)
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

func listRef(r *Run) func() uint64 {
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
