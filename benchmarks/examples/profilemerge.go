package examples

import (
	"github.com/google/pprof/profile"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/benchmarks/profilemerge"
	"github.com/freehold-go/freehold/cmd/bench"
)

func mergeWorkloads() []bench.Workload {
	return []bench.Workload{{
		Name:        "examples/profilemerge",
		Doc:         "Merge profiles of 1000 samples to one profile, read its samples, and drop it. Reading and writing files is not included.",
		Op:          "profile",
		Size:        "profiles",
		Quick:       []int{5},
		Full:        []int{50},
		Ops:         func(n int) int { return n },
		Contestants: twins("maps and pointers", mergePlain, "an arena of a Pool for each merge, and Map", mergeInArena),
	}}
}

func profiles(r *bench.Run) []*profile.Profile {
	list := make([]*profile.Profile, r.N)
	for i := range list {
		list[i] = profilemerge.Input(uint64(i), 1000)
	}
	return list
}

// samplesOf is the checksum of a merged profile.
func samplesOf(r *bench.Run, p *profile.Profile, err error) (sum uint64) {
	if err != nil {
		r.Fail(err)
		return 0
	}
	r.Peak()
	for _, s := range p.Sample {
		sum = sum*31 + uint64(s.Value[1])
		for _, l := range s.Location {
			sum += l.ID * l.Line[0].Function.ID
		}
	}
	return sum
}

func mergePlain(r *bench.Run) func() uint64 {
	list := profiles(r)
	return func() uint64 {
		p, err := profilemerge.Plain(list)
		return samplesOf(r, p, err)
	}
}

func mergeInArena(r *bench.Run) func() uint64 {
	list := profiles(r)
	pool := &arena.Pool{Bytes: 64 << 20}
	return func() uint64 {
		a := pool.Get()
		defer pool.Put(a)
		p, err := profilemerge.InArena(a, list)
		return samplesOf(r, p, err)
	}
}
