package offheap

import (
	"syscall"
	"testing"
)

func cpu() float64 {
	var r syscall.Rusage
	syscall.Getrusage(0, &r)
	return float64(r.Utime.Nano() + r.Stime.Nano())
}

type lnode struct {
	val  int64
	next *lnode
	_    UnsafeSelfContained
}
type rnode struct {
	val  int64
	next uint64
}

func BenchmarkPair32(b *testing.B) {
	c0 := cpu()
	defer func() { b.ReportMetric((cpu()-c0)/float64(b.N), "cpu-ns") }()
	for b.Loop() {
		p := New[[4]int64]()
		Delete(p)
	}
}
func BenchmarkPairLocal32(b *testing.B) {
	l := NewLocal()
	defer l.Close()
	c0 := cpu()
	defer func() { b.ReportMetric((cpu()-c0)/float64(b.N), "cpu-ns") }()
	for b.Loop() {
		p := NewIn[[4]int64](l)
		DeleteIn(l, p)
	}
}
func BenchmarkPairHeap32(b *testing.B) {
	c0 := cpu()
	defer func() { b.ReportMetric((cpu()-c0)/float64(b.N), "cpu-ns") }()
	for b.Loop() {
		sink = new([4]int64)
	}
}

var sink *[4]int64

func BenchmarkList(b *testing.B) {
	const N = 2_000_000
	c0 := cpu()
	for b.Loop() {
		var head *rnode
		for i := range int64(N) {
			n := New[rnode]()
			n.val = i
			n.next = uint64(uintptrOf(head))
			head = n
		}
		sum := int64(0)
		for n := head; n != nil; n = ptrOf(n.next) {
			sum += n.val
		}
		for n := head; n != nil; {
			next := ptrOf(n.next)
			Delete(n)
			n = next
		}
		if sum != N*(N-1)/2 {
			b.Fatal(sum)
		}
	}
	b.ReportMetric((cpu()-c0)/float64(b.N)/N, "cpu-ns/node")
}
func BenchmarkListLocal(b *testing.B) {
	const N = 2_000_000
	l := NewLocal()
	defer l.Close()
	c0 := cpu()
	for b.Loop() {
		var head *rnode
		for i := range int64(N) {
			n := NewIn[rnode](l)
			n.val = i
			n.next = uint64(uintptrOf(head))
			head = n
		}
		sum := int64(0)
		for n := head; n != nil; n = ptrOf(n.next) {
			sum += n.val
		}
		for n := head; n != nil; {
			next := ptrOf(n.next)
			DeleteIn(l, n)
			n = next
		}
		if sum != N*(N-1)/2 {
			b.Fatal(sum)
		}
	}
	b.ReportMetric((cpu()-c0)/float64(b.N)/N, "cpu-ns/node")
}
func TestSmoke(t *testing.T) {
	p := New[rnode]()
	p.val = 3
	Delete(p)
	func() {
		defer func() { t.Log(recover()) }()
		Delete(p)
	}()
	func() {
		defer func() { t.Log(recover()) }()
		b := Alloc(100)
		Free(b[1:])
	}()
	func() {
		defer func() { t.Log(recover()) }()
		Free(make([]byte, 100))
	}()
	func() {
		defer func() { t.Log(recover()) }()
		New[map[int]int]()
	}()
	b := Alloc(1 << 20)
	func() {
		defer func() { t.Log(recover()) }()
		Free(b[1:])
	}()
	Free(b)
	func() {
		defer func() { t.Log(recover()) }()
		Free(b)
	}()
	q := New[[3]bool]()
	Delete(q)
	t.Logf("%+v", ReadStats())
	for _, r := range Regions() {
		t.Log(r)
	}
}

type hnode struct {
	val  int64
	next *hnode
}

func BenchmarkListHeap(b *testing.B) {
	const N = 2_000_000
	c0 := cpu()
	for b.Loop() {
		var head *hnode
		for i := range int64(N) {
			head = &hnode{i, head}
		}
		sum := int64(0)
		for n := head; n != nil; n = n.next {
			sum += n.val
		}
		if sum != N*(N-1)/2 {
			b.Fatal(sum)
		}
	}
	b.ReportMetric((cpu()-c0)/float64(b.N)/N, "cpu-ns/node")
}
