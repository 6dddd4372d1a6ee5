package examples

import (
	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/cmd/bench"
	"github.com/freehold-go/freehold/examples/parser/config"
)

func parserWorkloads() []bench.Workload {
	return []bench.Workload{{
		Name:        "examples/parser",
		Doc:         "Parse configuration files of 50 services to syntax trees, and compute a sum from each tree.",
		Op:          "file",
		Size:        "files",
		Quick:       []int{20},
		Full:        []int{200},
		Ops:         func(n int) int { return n },
		Contestants: twins("new and append", parsePlain, "NewFrom, Append and String in an arena; Reset after each file", parseArena),
	}}
}

func configs(r *bench.Run) [][]byte {
	sources := make([][]byte, r.N)
	for i := range sources {
		sources[i] = config.Source(i, 50)
	}
	return sources
}

// memoryOf is the checksum of a file.
func memoryOf(r *bench.Run, f *config.File, err error) uint64 {
	var sum float64
	if err == nil {
		sum, err = f.Memory()
	}
	if err != nil {
		r.Fail(err)
	}
	return uint64(sum)
}

func parsePlain(r *bench.Run) func() uint64 {
	sources := configs(r)
	return func() (sum uint64) {
		for _, src := range sources {
			f, err := config.ParsePlain(src)
			sum += memoryOf(r, f, err)
		}
		return sum
	}
}

func parseArena(r *bench.Run) func() uint64 {
	sources := configs(r)
	a := arena.NewArena()
	r.Cleanup(a.Free)
	return func() (sum uint64) {
		for _, src := range sources {
			f, err := config.Parse(a, src)
			sum += memoryOf(r, f, err)
			a.Reset(arena.Keep)
		}
		return sum
	}
}
