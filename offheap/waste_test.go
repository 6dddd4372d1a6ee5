// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"testing"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// TestWaste asks for sizes up to 4 MiB: none takes more than an eighth above the requested bytes.
// Large blocks take whole granules, which is what they occupy of the machine at most.
func TestWaste(t *testing.T) {
	needSlabs(t)
	quiet(t)
	p := NewPurpose("waste")
	for n := 65; n <= 4<<20; n += 1 + n/100 {
		for _, alloc := range []func(int) []byte{AllocUninit, p.AllocUninit} {
			before := ReadStats().InUse
			b := alloc(n)
			took := ReadStats().InUse - before
			if took < int64(n) || took*8 > int64(n)*9 {
				t.Fatalf("%d bytes take %d, %.1f %% more", n, took, 100*float64(took-int64(n))/float64(n))
			}
			Free(b)
		}
	}
}

// TestNoHeapAllocations: nothing on the fast paths, nor for large blocks, allocates on the Go heap.
func TestNoHeapAllocations(t *testing.T) {
	needSlabs(t)
	needNoSamples(t)
	unpurged(t) // Its ticks allocate, and on a slow machine there are many in 200 runs.
	l := NewLocal()
	defer l.Close()
	p := NewPurpose("no heap allocations")
	kept := New[point]()
	defer Delete(kept)
	ref := RefOf(kept)
	flag := RefOf(New[flags]())
	defer DeleteRef(flag)
	s := MakeSlice[point](0, 64)
	defer func() { FreeSlice(s) }()
	type mega [1 << 20]byte
	type wide struct {
		_ UnsafeSelfContained
		p *int
		b [60_000]byte
	}
	for what, f := range map[string]func(){
		"New":                  func() { Delete(New[point]()) },
		"New of bools":         func() { Delete(New[flags]()) },
		"New of pointers":      func() { Delete(New[link]()) },
		"New of 60 KB":         func() { Delete(New[wide]()) },
		"New of 1 MiB":         func() { Delete(New[mega]()) },
		"TryNew":               func() { v, _ := TryNew[point](); Delete(v) },
		"Alloc":                func() { Free(Alloc(100)) },
		"AllocUninit":          func() { Free(AllocUninit(5000)) },
		"AllocAligned":         func() { Free(AllocAligned(100, 64)) },
		"Alloc of 1 MiB":       func() { Free(AllocUninit(1 << 20)) },
		"Local":                func() { l.Free(l.Alloc(100)) },
		"Local uninit":         func() { l.Free(l.AllocUninit(100)) },
		"NewIn":                func() { deleteIn(l, In[point](l).New()) },
		"NewIn of bools":       func() { deleteIn(l, In[flags](l).New()) },
		"NewIn of pointers":    func() { deleteIn(l, In[link](l).New()) },
		"NewIn of 60 KB":       func() { deleteIn(l, In[wide](l).New()) },
		"NewIn of 1 MiB":       func() { deleteIn(l, In[mega](l).New()) },
		"NewRef":               func() { DeleteRef(RefOf(New[point]())) },
		"Ref":                  func() { ref.Ptr().X = RefOf(ref.Ptr()).Ptr().Y },
		"Ref of bools":         func() { flag.Ptr().A = true },
		"MakeSlice":            func() { FreeSlice(MakeSlice[point](3, 10)) },
		"MakeSlice of bools":   func() { FreeSlice(MakeSlice[flags](3, 10)) },
		"Append in place":      func() { s = Append(s[:3], point{1, 2}) },
		"Append that grows":    func() { FreeSlice(Append(MakeSlice[point](4, 4), point{1, 2})) },
		"Realloc":              func() { Free(Realloc(Alloc(100), 1000)) },
		"Purpose":              func() { Free(p.Alloc(100)) },
		"NewFor":               func() { Delete(For[flags](p).New()) },
		"freed by a Local":     func() { l.Free(Alloc(100)) },
		"freed by the package": func() { Free(l.Alloc(100)) },
	} {
		if n := testing.AllocsPerRun(200, f); n != 0 {
			t.Errorf("%s: %v allocations on the Go heap each time", what, n)
		}
	}
	if unsafex.Size[wide]() < 60_000 {
		t.Error("the wide type is not wide")
	}
}
