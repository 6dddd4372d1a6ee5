// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"sync"

	"github.com/freehold-go/freehold/cmd/bench/bound"
	"github.com/freehold-go/freehold/offheap"
)

// Bytes is a way to allocate and free blocks of any size. It is for workloads whose blocks cost
// much more than a call through a function value. All contestants make this call.
type Bytes struct {
	// Alloc returns a block of n bytes, n > 0.
	Alloc func(n int) []byte
	// Free takes a block that Alloc returned, unchanged.
	Free func(b []byte)
}

// heapBytes is the Go heap. It always zeroes, and a dropped block is free.
func heapBytes() Bytes {
	return Bytes{
		Alloc: func(n int) []byte { return make([]byte, n) },
		Free:  func([]byte) {},
	}
}

// poolBytes is the way that programs use by hand: a sync.Pool for each power of two. Its blocks are
// not zeroed.
func poolBytes() Bytes {
	pools := new([bits.UintSize]sync.Pool)
	return Bytes{
		Alloc: func(n int) []byte {
			class := bits.Len(uint(n - 1))
			if p, ok := pools[class].Get().(*byte); ok {
				return bound.PooledBytes(p, 1<<class)[:n]
			}
			return make([]byte, 1<<class)[:n]
		},
		Free: func(b []byte) { pools[bits.Len(uint(len(b)-1))].Put(&b[0]) },
	}
}

// boundBytes is the bound for one goroutine.
func boundBytes() Bytes {
	c := new(bound.Classes)
	return Bytes{Alloc: c.Alloc, Free: c.Release}
}

// The ways of freehold: for all goroutines, and with a Local for each.
func offheapUninit() Bytes      { return Bytes{Alloc: offheap.AllocUninit, Free: offheap.Free} }
func offheapZeroed() Bytes      { return Bytes{Alloc: offheap.Alloc, Free: offheap.Free} }
func offheapLocal() Bytes       { l := offheap.NewLocal(); return Bytes{Alloc: l.AllocUninit, Free: l.Free} }
func offheapLocalZeroed() Bytes { l := offheap.NewLocal(); return Bytes{Alloc: l.Alloc, Free: l.Free} }

// Zeroed clears the blocks of a way that does not clear them itself.
func Zeroed(way Bytes) Bytes {
	alloc := way.Alloc
	way.Alloc = func(n int) []byte {
		b := alloc(n)
		clear(b)
		return b
	}
	return way
}

// newRandom is a generator that gives every contestant the same numbers.
func newRandom(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x66726565686f6c64)) }

// logUniform returns a size between low and high whose logarithm is uniform: small blocks are common, large ones
// hold most of the bytes.
func logUniform(random *rand.Rand, low, high float64) int {
	return int(low * math.Exp(random.Float64()*math.Log(high/low)))
}
