// SPDX-License-Identifier: Apache-2.0

package offheap_test

import (
	"fmt"

	"github.com/freehold-go/freehold/offheap"
)

// The README shows pushAll.

type node struct {
	key  uint64
	next offheap.Ref[node]
}

func pushAll(keys []uint64) (head offheap.Ref[node]) {
	for _, key := range keys {
		n := offheap.RefOf(offheap.New[node]())
		*n.Ptr() = node{key: key, next: head}
		head = n
	}
	return head // offheap.DeleteRef frees a node
}

func Example_pushAll() {
	head := pushAll([]uint64{1, 2, 3})
	for !head.IsNil() {
		n := head.Ptr()
		fmt.Print(n.key, " ")
		next := n.next
		offheap.DeleteRef(head)
		head = next
	}
	// Output: 3 2 1
}
