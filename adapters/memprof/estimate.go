// SPDX-License-Identifier: Apache-2.0

package memprof

import (
	"cmp"
	"math"
	"runtime"
	"slices"
	"strings"

	"github.com/freehold-go/freehold/offheap"
)

// An estimate is the number and the bytes of blocks that the samples of one site stand for.
type estimate struct {
	stack   []runtime.Frame // innermost first
	purpose string
	size    int64 // bytes of each block
	values  [4]int64
}

// The figures of an estimate, in the order of Go's heap profile.
const (
	allocObjects = iota
	allocSpace
	inuseObjects
	inuseSpace
)

// estimates is the profile, most bytes in use first.
func estimates() []estimate {
	var list []estimate
	for s := range offheap.Samples() {
		list = append(list, estimateOf(&s))
	}
	slices.SortFunc(list, func(a, b estimate) int {
		return cmp.Or(cmp.Compare(b.values[inuseSpace], a.values[inuseSpace]), cmp.Compare(b.values[allocSpace], a.values[allocSpace]))
	})
	return list
}

func estimateOf(s *offheap.Sample) estimate {
	e := estimate{stack: frames(s.Stack), purpose: s.Purpose, size: s.Size}
	for i, n := range [...]int64{s.Allocs, s.Allocs - s.Frees} {
		blocks := float64(n) * s.Weight
		e.values[2*i], e.values[2*i+1] = int64(math.Round(blocks)), int64(math.Round(blocks*float64(s.Size)))
	}
	return e
}

// allocator begins the names of functions that are left out at the leaf.
const allocator = "github.com/freehold-go/freehold/offheap."

// frames are those of a stack, without offheap's own at the leaf.
func frames(pcs []uintptr) (list []runtime.Frame) {
	next := runtime.CallersFrames(pcs)
	for more := len(pcs) > 0; more; {
		var f runtime.Frame
		f, more = next.Next()
		if len(list) > 0 || !strings.HasPrefix(f.Function, allocator) {
			list = append(list, f)
		}
	}
	return list
}
