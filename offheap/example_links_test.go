// SPDX-License-Identifier: Apache-2.0

package offheap_test

import (
	"fmt"

	"github.com/freehold-go/freehold/offheap"
)

// Off-heap values hold SliceRefs in place of slices and strings.
func ExampleSliceRef() {
	type user struct {
		name   offheap.SliceRef[byte]
		scores offheap.SliceRef[int32]
	}
	u := offheap.New[user]()
	u.name = offheap.SliceRefOf(offheap.Append(nil, []byte("gopher")...))
	scores := offheap.MakeSlice[int32](0, 4)
	scores = offheap.Append(scores, 3, 1, 2)
	u.scores = offheap.SliceRefOf(scores)

	fmt.Println(string(u.name.Slice()), u.name.Len(), u.scores.Slice())

	offheap.FreeSlice(u.scores.Slice())
	offheap.Free(u.name.Slice())
	offheap.Delete(u)
	// Output: gopher 6 [3 1 2]
}

// Many goroutines push to a list without a lock.
func ExampleAtomicRef() {
	type node struct {
		next offheap.AtomicRef[node]
		n    int
	}
	var head offheap.AtomicRef[node]
	push := func(n int) {
		r := offheap.RefOf(offheap.New[node]())
		p := r.Ptr()
		p.n = n
		for {
			old := head.Load()
			p.next.Store(old)
			if head.CompareAndSwap(old, r) {
				return
			}
		}
	}
	for n := range 3 {
		push(n)
	}
	for r := head.Load(); !r.IsNil(); {
		next := r.Ptr().next.Load()
		fmt.Println(r.Ptr().n)
		offheap.DeleteRef(r)
		r = next
	}
	// Output:
	// 2
	// 1
	// 0
}

// The lowest bit of a link marks a node as deleted, as lock-free lists do.
func ExampleRefFromUint64() {
	type node struct {
		next offheap.AtomicRef[node]
		n    int
	}
	const mark = 1 // Free, because a node is aligned to 8 bytes.
	r := offheap.RefOf(offheap.New[node]())
	marked := offheap.RefFromUint64[node](r.Uint64() | mark)

	isMarked := marked.Uint64()&mark != 0
	plain := offheap.RefFromUint64[node](marked.Uint64() &^ mark)
	fmt.Println(isMarked, plain == r)

	offheap.DeleteRef(r)
	// Output: true true
}
