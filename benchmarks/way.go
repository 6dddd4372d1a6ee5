package main

import (
	"fmt"
	"unsafe"

	"github.com/freehold-go/freehold/cmd/bench"
	"github.com/freehold-go/freehold/cmd/bench/workloads"
)

// A way is a rival's pair of functions on raw blocks. They are called through function values,
// which costs about a nanosecond: nothing beside a call through cgo or a lock, and the same for all
// of them.
type way struct {
	alloc func(n int) unsafe.Pointer
	free  func(p unsafe.Pointer, n int)
}

// A node is the node of the workload list. Rivals keep it outside the Go heap, where the collector
// does not see its pointers.
type node struct {
	val  int64
	next *node
}

const nodeSize = int(unsafe.Sizeof(node{}))

// list is the workload list. The blocks must be zeroed, as new's are, because the collector looks
// at the old value of a pointer that is overwritten.
func list(w way) func(r *bench.Run) func() uint64 {
	return func(r *bench.Run) func() uint64 {
		return func() uint64 {
			var head *node
			for i := range r.N {
				n := (*node)(w.alloc(nodeSize))
				n.val, n.next = int64(i), head
				head = n
			}
			r.Peak()
			sum := listSum(head)
			for n := head; n != nil; {
				next := n.next
				w.free(unsafe.Pointer(n), nodeSize)
				n = next
			}
			return sum
		}
	}
}

func listSum(head *node) uint64 {
	var sum int64
	for n := head; n != nil; n = n.next {
		sum += n.val
	}
	return uint64(sum)
}

// pair is the loop of the workloads pair and pair/all.
func pair(w way) func(size int) func() func(n int) uint64 {
	return func(size int) func() func(n int) uint64 {
		return func() func(n int) uint64 {
			return func(n int) (sum uint64) {
				for i := range n {
					p := w.alloc(size)
					*(*byte)(p) = byte(i)
					sum += uint64(*(*byte)(p))
					w.free(p, size)
				}
				return sum
			}
		}
	}
}

// handoff fills and empties the batches of the workload handoff.
func handoff(w way) func() workloads.HandoffWay {
	const size = int(unsafe.Sizeof(workloads.HandoffBlock{}))
	return func() workloads.HandoffWay {
		return workloads.HandoffWay{
			Fill: func(b *workloads.HandoffBatch, seq uint64) {
				for i := range b {
					p := (*workloads.HandoffBlock)(w.alloc(size))
					p.Seq = seq + uint64(i)
					b[i] = p
				}
			},
			Empty: func(b *workloads.HandoffBatch) {
				for i, p := range b {
					w.free(unsafe.Pointer(p), size)
					b[i] = nil
				}
			},
		}
	}
}

// bytes is the way of the workloads with blocks of any size.
func (w way) bytes() workloads.Bytes {
	return workloads.Bytes{
		Alloc: func(n int) []byte { return unsafe.Slice((*byte)(w.alloc(n)), n) },
		Free:  func(b []byte) { w.free(unsafe.Pointer(unsafe.SliceData(b)), len(b)) },
	}
}

// A rival is an allocator that takes part in every workload that fits it.
type rival struct {
	name    string
	note    string
	zeroed  way
	plain   way  // not zeroed; its functions are nil if the rival always zeroes
	oneOnly bool // safe for one goroutine at a time only
	env     []string
	slow    bool // so slow that it is left out of the quick selection
}

func (v rival) contestant(prepare func(r *bench.Run) func() uint64) bench.Contestant {
	return bench.Contestant{Name: v.name, Note: v.note, Prepare: prepare, Env: v.env, FullOnly: v.slow}
}

// register adds the rival to the workloads.
func (v rival) register() {
	unzeroed := v.plain
	if unzeroed.alloc == nil {
		unzeroed = v.zeroed
	}
	checked(v.name, unzeroed)
	checked(v.name, v.zeroed)
	set.Add("list", v.contestant(list(v.zeroed)))
	set.Add("pair", v.contestant(workloads.Pair(pair(v.zeroed), false)))
	set.Add("fragmentation/log", v.contestant(workloads.Fragmentation(unzeroed.bytes, nil)))
	set.Add("fragmentation/big", v.contestant(workloads.Fragmentation(unzeroed.bytes, nil)))
	if v.oneOnly {
		return
	}
	set.Add("pair/all", v.contestant(workloads.Pair(pair(v.zeroed), true)))
	set.Add("churn", v.contestant(workloads.Churn(unzeroed.bytes, false)))
	set.Add("churn/zeroed", v.contestant(workloads.Churn(v.zeroed.bytes, true)))
	set.Add("handoff", v.contestant(workloads.Handoff(handoff(v.zeroed), false)))
}

// checked panics early on a rival that is not filled in.
func checked(name string, w way) {
	if w.alloc == nil || w.free == nil {
		panic(fmt.Sprintf("benchmarks: rival %q has no way to allocate or to free", name))
	}
}
