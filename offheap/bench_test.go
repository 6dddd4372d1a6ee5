// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"fmt"
	"testing"
)

type benchNode struct {
	next Ref[benchNode]
	n    int64
}

type heapNode struct {
	next *heapNode
	n    int64
}

// lists are the ways to build, walk and free a list of n nodes; each returns the sum of its
// numbers.
var lists = []struct {
	name string
	run  func(n int64) int64
}{
	{"New", func(n int64) (sum int64) {
		var head *link
		for i := range n {
			v := New[link]()
			v.Next, v.N = head, i
			head = v
		}
		for v := head; v != nil; v = v.Next {
			sum += v.N
		}
		for head != nil {
			next := head.Next
			Delete(head)
			head = next
		}
		return sum
	}},
	{"Local", func(n int64) (sum int64) {
		l := NewLocal()
		defer l.Close()
		from := In[link](l)
		var head *link
		for i := range n {
			v := from.New()
			v.Next, v.N = head, i
			head = v
		}
		for v := head; v != nil; v = v.Next {
			sum += v.N
		}
		for head != nil {
			next := head.Next
			from.Delete(head)
			head = next
		}
		return sum
	}},
	{"Ref", func(n int64) (sum int64) {
		var head Ref[benchNode]
		for i := range n {
			v := New[benchNode]()
			v.next, v.n = head, i
			head = RefOf(v)
		}
		for r := head; !r.IsNil(); {
			v := r.Ptr()
			sum, r = sum+v.n, v.next
		}
		for !head.IsNil() {
			v := head.Ptr()
			head = v.next
			Delete(v)
		}
		return sum
	}},
	{"heap", func(n int64) (sum int64) {
		var head *heapNode
		for i := range n {
			head = &heapNode{head, i}
		}
		for v := head; v != nil; v = v.next {
			sum += v.n
		}
		return sum
	}},
}

// TestLists runs what BenchmarkList measures, once.
func TestLists(t *testing.T) {
	quiet(t)
	for _, l := range lists {
		if got := l.run(10_000); got != 10_000*9_999/2 {
			t.Errorf("%s: the sum is %d", l.name, got)
		}
	}
}

// BenchmarkList is a list of 100,000 nodes: built, walked and freed; the time is that of one node.
func BenchmarkList(b *testing.B) {
	const n = 100_000
	for _, l := range lists {
		b.Run(l.name, func(b *testing.B) {
			rounds := 0
			for b.Loop() {
				if l.run(n) != n*(n-1)/2 {
					b.Fatal("the sum is wrong")
				}
				rounds++
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(rounds)/n, "ns/node")
		})
	}
}

var escaped []byte // Keeps the compiler from putting blocks on the stack.

// pairs are the ways to allocate a block of n bytes and free it at once.
func pairs(l *Local) map[string]func(n int) {
	return map[string]func(n int){
		"Alloc":       func(n int) { Free(Alloc(n)) },
		"AllocUninit": func(n int) { Free(AllocUninit(n)) },
		"Local":       func(n int) { l.Free(l.AllocUninit(n)) },
		"heap":        func(n int) { escaped = make([]byte, n) },
	}
}

func TestPairs(t *testing.T) {
	quiet(t)
	l := NewLocal()
	defer l.Close()
	for _, pair := range pairs(l) {
		for n := 1; n <= 4096; n *= 2 {
			pair(n)
		}
	}
}

// BenchmarkPair is one allocation and one free, alone.
func BenchmarkPair(b *testing.B) {
	l := NewLocal()
	defer l.Close()
	for name, pair := range pairs(l) {
		for _, n := range []int{32, 512, 4096} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					pair(n)
				}
			})
		}
	}
	b.Run("New/32", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			Delete(New[[4]int64]())
		}
	})
	b.Run("In/32", func(b *testing.B) {
		b.ReportAllocs()
		from := In[[4]int64](l)
		for b.Loop() {
			from.Delete(from.New())
		}
	})
}

// BenchmarkRef is a look-up of a Ref to a value of its own, and to an element of a small and of a large
// block. With FREEHOLD=leaks each look-up finds the record of the block.
func BenchmarkRef(b *testing.B) {
	const n = 1 << 12
	own := make([]Ref[benchNode], n)
	for i := range own {
		own[i] = RefOf(New[benchNode]())
		defer DeleteRef(own[i])
	}
	elements := func(n int) (refs []Ref[benchNode], free func()) {
		s := MakeSlice[benchNode](n, n)
		for i := range s {
			refs = append(refs, RefOf(&s[i]))
		}
		return refs, func() { FreeSlice(s) }
	}
	small, free := elements(16)
	defer free()
	large, free := elements(n)
	defer free()
	for _, way := range []struct {
		name string
		refs []Ref[benchNode]
	}{{"own", own}, {"small", small}, {"large", large}} {
		b.Run(way.name, func(b *testing.B) {
			i, sum := 0, int64(0)
			for b.Loop() {
				sum += way.refs[i&(len(way.refs)-1)].Ptr().n
				i++
			}
			if sum != 0 {
				b.Fatal("the numbers are not 0")
			}
		})
	}
}

// BenchmarkPairParallel is the same on all Ps at once.
func BenchmarkPairParallel(b *testing.B) {
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			Delete(New[[4]int64]())
		}
	})
}

// BenchmarkRefusedWithLocals is a request that a limit refuses while many Locals are open.
func BenchmarkRefusedWithLocals(b *testing.B) {
	needSlabs(b)
	for range 2000 {
		l := NewLocal()
		defer l.Close()
		defer Free(l.Alloc(16))
	}
	defer SetLimit(SetLimit(ReadStats().Held))
	for b.Loop() {
		if _, err := TryAlloc(1 << 20); err == nil {
			b.Fatal("it is granted")
		}
	}
}
