// SPDX-License-Identifier: Apache-2.0

package offheap_test

import (
	"fmt"

	"github.com/freehold-go/freehold/offheap"
)

// A Typed says from where memory comes and in which way. Bytes are a Typed[byte].
func ExampleTyped() {
	type vertex struct{ X, Y, Z float64 }
	meshes := offheap.NewPurpose("meshes")
	vertices := offheap.For[vertex](meshes)
	list := vertices.MakeSlice(0, 100)
	list = vertices.Append(list, vertex{X: 1}, vertex{Y: 2})

	pages := offheap.For[byte](meshes).Aligned(4096)
	page, err := pages.TryMakeSlice(4096, 4096)
	if err != nil {
		fmt.Println(err)
		return
	}

	local := offheap.NewLocal()
	defer local.Close()
	numbers := offheap.In[uint64](local).Realloc(nil, 10)

	fmt.Println(len(list), len(page), len(numbers))
	offheap.FreeSlice(list)
	offheap.Free(page)
	offheap.In[uint64](local).FreeSlice(numbers)
	// Output: 2 4096 10
}

// Grow allocates at least what is asked for, and the program may use all that the block has.
func ExampleGrow() {
	buf := offheap.Grow([]byte(nil), 1000)
	fmt.Println(len(buf), cap(buf) >= 1000)
	buf = append(buf, "no further allocation"...)
	fmt.Println(string(buf))
	offheap.FreeSlice(buf)
	// Output:
	// 0 true
	// no further allocation
}

// The bytes behind the old length are zero.
func ExampleTyped_Realloc() {
	buffers := offheap.For[byte](offheap.NewPurpose("buffers"))
	b := buffers.MakeSlice(4, 4)
	copy(b, "head")
	b = buffers.Realloc(b, 64<<10)
	fmt.Println(string(b[:4]), len(b))
	offheap.Free(b)
	// Output: head 65536
}
