// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"math/rand/v2"

	"github.com/freehold-go/freehold/cmd/bench"
	"github.com/freehold-go/freehold/offheap"
	"github.com/freehold-go/freehold/pool"
)

// Values that are found by handles, in random order: a raw pointer is the bound.

const (
	rawPointer = "raw pointer"
	goMap      = "map[uint64]*T"
	ownSlab    = "pool.Slab"
	ownSlabOff = "pool.Slab off heap"
	ownRef     = "offheap Ref"
)

// A slabValue has 56 bytes: with its generation it is a cache line.
type slabValue struct {
	seq, next uint64
	raw       *slabValue
	_         [4]uint64
}

// A plainValue is one without pointers.
type plainValue struct {
	seq, next uint64
	_         [5]uint64
}

func poolSlabWorkloads() []bench.Workload {
	const get, chase, churn, all = "pool/slab", "pool/slab/chase", "pool/slab/churn", "pool/slab/all"
	sizes, quick := []int{1 << 20}, []int{1 << 16}
	each := func(n int) int { return n }
	return []bench.Workload{
		{
			Name: get, Doc: "Read n values of 56 bytes in random order.", Op: "value", Size: "values", Heap: goMap, Bound: rawPointer, Full: sizes, Quick: quick, Ops: each,
			Contestants: append([]bench.Contestant{
				{Name: rawPointer, Prepare: slabPointers(readPointers)}, {Name: goMap, Prepare: slabMap},
			}, own(
				bench.Contestant{Name: ownSlab, Prepare: slabHandles(readHandles)},
				bench.Contestant{Name: ownSlabOff, Prepare: slabPlain},
				bench.Contestant{Name: ownRef, Prepare: slabRefs},
			)...),
			Bars: []bench.Bar{
				bench.AtMost("pool/slab, Get by a raw pointer, random", 2, bench.TimeRatio(get, 1<<20, ownSlab, rawPointer)),
				bench.AtMost("pool/slab, Get by a map", 0.2, bench.TimeRatio(get, 1<<20, ownSlab, goMap)),
			},
		},
		{
			Name: chase, Doc: "Each value has the handle of the next.", Op: "value", Size: "values", Heap: rawPointer, Bound: rawPointer, Full: sizes, Ops: each,
			Contestants: append([]bench.Contestant{{Name: rawPointer, Prepare: slabPointers(chasePointers)}},
				own(bench.Contestant{Name: ownSlab, Prepare: slabHandles(chaseHandles)})...),
			Bars: []bench.Bar{bench.AtMost("pool/slab/chase, Get by a raw pointer", 1.3, bench.TimeRatio(chase, 0, ownSlab, rawPointer))},
		},
		{
			Name: churn, Doc: "Make a value and delete it, beside 1,000 others; the Go heap has GOGC=6400, so that collections cost next to nothing.",
			Op: "value", Size: "values", Full: []int{1}, Ops: func(int) int { return pairsPerRound },
			Contestants: append([]bench.Contestant{{Name: heapName, Prepare: churnNew, Env: []string{"GOGC=6400"}}}, own(
				bench.Contestant{Name: ownSlab, Prepare: churnSlab},
			)...),
			Bars: []bench.Bar{bench.AtMost("pool/slab/churn, New and Delete by new", 0.7, bench.TimeRatio(churn, 0, ownSlab, heapName))},
		},
		{
			Name: all, Doc: "Visit all values, where a random tenth of n slots is alive.", Op: "value", Size: "slots", Heap: rawPointer, Bound: rawPointer, Full: sizes,
			Ops: func(n int) int { return (n + 9) / 10 },
			Contestants: append([]bench.Contestant{{Name: rawPointer, Note: "a slice of pointers to the living values", Prepare: allPointers}},
				own(bench.Contestant{Name: ownSlab, Note: "All", Prepare: allSlab})...),
			Bars: []bench.Bar{bench.AtMost("pool/slab/all, All by a slice of pointers", 1.5, bench.TimeRatio(all, 0, ownSlab, rawPointer))},
		},
	}
}

// slabOrder is the order in which n values are read.
func slabOrder(n int) []int { return rand.New(rand.NewPCG(1, 2)).Perm(n) }

func slabPointers(read func(ps []*slabValue) uint64) func(*bench.Run) func() uint64 {
	return func(r *bench.Run) func() uint64 {
		values := make([]slabValue, r.N)
		ps := make([]*slabValue, r.N)
		order := slabOrder(r.N)
		for k, i := range order {
			values[i].seq = uint64(i)
			values[i].raw = &values[order[(k+1)%r.N]]
			ps[k] = &values[i]
		}
		return func() uint64 { return read(ps) }
	}
}

func readPointers(ps []*slabValue) (sum uint64) {
	for _, p := range ps {
		sum += p.seq
	}
	return sum
}

func chasePointers(ps []*slabValue) (sum uint64) {
	p := ps[0]
	for range ps {
		sum += p.seq
		p = p.raw
	}
	return sum
}

func slabMap(r *bench.Run) func() uint64 {
	values := make([]slabValue, r.N)
	m := make(map[uint64]*slabValue, r.N)
	var keys []uint64
	for _, i := range slabOrder(r.N) {
		values[i].seq = uint64(i)
		m[uint64(i)] = &values[i]
		keys = append(keys, uint64(i))
	}
	return func() (sum uint64) {
		for _, k := range keys {
			sum += m[k].seq
		}
		return sum
	}
}

func slabHandles(read func(s *pool.Slab[slabValue], hs []pool.Handle[slabValue]) uint64) func(*bench.Run) func() uint64 {
	return func(r *bench.Run) func() uint64 {
		s := new(pool.Slab[slabValue])
		made := make([]pool.Handle[slabValue], r.N)
		for i := range made {
			h, v := s.New()
			v.seq = uint64(i)
			made[i] = h
		}
		hs := make([]pool.Handle[slabValue], r.N)
		order := slabOrder(r.N)
		for k, i := range order {
			hs[k] = made[i]
			s.Get(made[i]).next = made[order[(k+1)%r.N]].Uint64()
		}
		return func() uint64 { return read(s, hs) }
	}
}

func readHandles(s *pool.Slab[slabValue], hs []pool.Handle[slabValue]) (sum uint64) {
	for _, h := range hs {
		sum += s.Get(h).seq
	}
	return sum
}

func chaseHandles(s *pool.Slab[slabValue], hs []pool.Handle[slabValue]) (sum uint64) {
	h := hs[0]
	for range hs {
		v := s.Get(h)
		sum += v.seq
		h = pool.HandleFromUint64[slabValue](v.next)
	}
	return sum
}

func slabPlain(r *bench.Run) func() uint64 {
	s := pool.NewSlab[plainValue](pool.SlabOptions{Purpose: offheap.NewPurpose("bench slab")})
	r.Cleanup(s.Free)
	made := make([]pool.Handle[plainValue], r.N)
	for i := range made {
		h, v := s.New()
		v.seq = uint64(i)
		made[i] = h
	}
	var hs []pool.Handle[plainValue]
	for _, i := range slabOrder(r.N) {
		hs = append(hs, made[i])
	}
	return func() (sum uint64) {
		for _, h := range hs {
			sum += s.Get(h).seq
		}
		return sum
	}
}

func slabRefs(r *bench.Run) func() uint64 {
	made := make([]offheap.Ref[plainValue], r.N)
	for i := range made {
		v := offheap.New[plainValue]()
		v.seq = uint64(i)
		made[i] = offheap.RefOf(v)
	}
	r.Cleanup(func() {
		for _, ref := range made {
			offheap.DeleteRef(ref)
		}
	})
	var refs []offheap.Ref[plainValue]
	for _, i := range slabOrder(r.N) {
		refs = append(refs, made[i])
	}
	return func() (sum uint64) {
		for _, ref := range refs {
			sum += ref.Ptr().seq
		}
		return sum
	}
}

// churned keeps the compiler from leaving values on the stack.
var churned *slabValue

func churnNew(*bench.Run) func() uint64 {
	return func() (sum uint64) {
		for i := range pairsPerRound {
			v := new(slabValue)
			churned = v
			v.seq = uint64(i)
			sum += v.seq
		}
		return sum
	}
}

func churnSlab(*bench.Run) func() uint64 {
	s := new(pool.Slab[slabValue])
	for range 1000 {
		s.New()
	}
	return func() (sum uint64) {
		for i := range pairsPerRound {
			h, v := s.New()
			churned = v
			v.seq = uint64(i)
			sum += v.seq
			s.Delete(h)
		}
		return sum
	}
}

// survivors says of each of n values whether it is the one in ten that lives. They are random: at an
// equal distance of ten cache lines they would share few sets of the caches.
func survivors(n int) []bool {
	r := rand.New(rand.NewPCG(3, 4))
	lives := make([]bool, n)
	for i := range lives {
		lives[i] = r.IntN(10) == 0
	}
	return lives
}

func allPointers(r *bench.Run) func() uint64 {
	values := make([]slabValue, r.N)
	var ps []*slabValue
	for i, lives := range survivors(r.N) {
		if lives {
			values[i].seq = uint64(i)
			ps = append(ps, &values[i])
		}
	}
	return func() uint64 { return readPointers(ps) }
}

func allSlab(r *bench.Run) func() uint64 {
	s := new(pool.Slab[slabValue])
	var dead []pool.Handle[slabValue]
	for i, lives := range survivors(r.N) {
		h, v := s.New()
		v.seq = uint64(i)
		if !lives {
			dead = append(dead, h)
		}
	}
	for _, h := range dead {
		s.Delete(h)
	}
	return func() (sum uint64) {
		for _, v := range s.All() {
			sum += v.seq
		}
		return sum
	}
}
