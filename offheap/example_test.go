// SPDX-License-Identifier: Apache-2.0

package offheap_test

import (
	"errors"
	"fmt"

	"github.com/freehold-go/freehold/offheap"
)

// A table of a million counters that the collector never looks at.
func Example() {
	counts := offheap.MakeSlice[uint32](1_000_000, 1_000_000)
	defer offheap.FreeSlice(counts)
	for i := range 10_000_000 {
		counts[i%len(counts)]++
	}
	fmt.Println(counts[0], counts[999_999])
	// Output: 10 10
}

func ExampleAlloc() {
	b := offheap.Alloc(1 << 20)
	n := copy(b, "off the heap")
	fmt.Println(string(b[:n]), len(b), b[n])
	offheap.Free(b)
	// Output: off the heap 1048576 0
}

func ExampleTryAlloc() {
	old := offheap.SetLimit(1 << 20)
	defer offheap.SetLimit(old)
	_, err := offheap.TryAlloc(64 << 20)
	fmt.Println(errors.Is(err, offheap.ErrLimit))
	// Output: true
}

func ExampleRealloc() {
	b := offheap.Alloc(4)
	copy(b, "grow")
	b = offheap.Realloc(b, 8)
	fmt.Printf("%q\n", b)
	offheap.Free(b)
	// Output: "grow\x00\x00\x00\x00"
}

func ExampleNew() {
	type vertex struct{ X, Y, Z float64 }
	v := offheap.New[vertex]()
	v.Y = 2
	fmt.Println(*v)
	offheap.Delete(v)
	// Output: {0 2 0}
}

// A type that holds a Go pointer is refused: the collector would not see the pointer.
func ExampleNew_refused() {
	type user struct {
		ID   int
		Name string
	}
	defer func() { fmt.Println(recover() != nil) }()
	offheap.New[user]()
	// Output: true
}

// Freeing twice panics as long as the block has not been handed out again.
func ExampleFree_twice() {
	b := offheap.Alloc(100)
	offheap.Free(b)
	defer func() {
		var misuse *offheap.MisuseError
		if err, ok := recover().(error); ok && errors.As(err, &misuse) {
			fmt.Println(misuse.Kind)
		}
	}()
	offheap.Free(b)
	// Output: double free
}

// Values link to each other by Refs, which the collector takes for numbers.
func ExampleRef() {
	type node struct {
		next offheap.Ref[node]
		n    int
	}
	var head offheap.Ref[node]
	for i := range 5 {
		r := offheap.RefOf(offheap.New[node]())
		*r.Ptr() = node{next: head, n: i}
		head = r
	}
	for !head.IsNil() {
		v := head.Ptr()
		fmt.Print(v.n, " ")
		next := v.next
		offheap.DeleteRef(head)
		head = next
	}
	// Output: 4 3 2 1 0
}

func ExampleLocal() {
	l := offheap.NewLocal()
	defer l.Close()
	p := offheap.In[[4]int](l).New()
	p[3] = 7
	b := l.Alloc(10)
	fmt.Println(*p, len(b))
	l.Free(b)
	offheap.Delete(p) // Its blocks are ordinary ones.
	// Output: [0 0 0 7] 10
}

func ExamplePurpose() {
	index := offheap.NewPurpose("index")
	index.SetLimit(1 << 20)
	b := index.Alloc(4096)
	for _, p := range offheap.ReadStats().Purposes {
		if p.Name == index.Name() {
			fmt.Println(p.Name, p.InUse)
		}
	}
	_, err := index.TryAlloc(2 << 20)
	fmt.Println(errors.Is(err, offheap.ErrLimit))
	offheap.Free(b)
	// Output:
	// index 4096
	// true
}

func ExampleAppend() {
	var s []int
	for i := range 1000 {
		s = offheap.Append(s, i, -i)
	}
	fmt.Println(len(s), s[1998], s[1999])
	offheap.FreeSlice(s)
	// Output: 2000 999 -999
}

// A type may point to off-heap memory by ordinary pointers if it says so. Nothing else keeps what
// they point to alive, and a pointer into the Go heap would be lost.
func ExampleUnsafeSelfContained() {
	type node struct {
		_     offheap.UnsafeSelfContained
		left  *node
		right *node
		n     int
	}
	root := offheap.New[node]()
	root.n = 1
	root.left = offheap.New[node]()
	root.left.n = 2
	fmt.Println(root.n, root.left.n, root.right == nil)
	offheap.Delete(root.left)
	offheap.Delete(root)
	// Output: 1 2 true
}
