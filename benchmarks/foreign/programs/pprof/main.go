// Command pprof merges CPU profiles with google/pprof, as a store for continuous profiling does:
// the profiles of eight processes of a service become one.
package main

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/google/pprof/profile"

	"github.com/freehold-go/freehold/benchmarks/foreign/load"
)

const processes = 8

func main() {
	load.Main(load.Sample{Ops: 8, Before: before})
}

func before() load.Op {
	var uploads [4 * processes][]byte
	for i := range uploads {
		var b bytes.Buffer
		if err := upload(uint64(i)).Write(&b); err != nil {
			panic(err)
		}
		uploads[i] = b.Bytes()
	}
	return func(i int) {
		var all []*profile.Profile
		for n := range processes {
			p, err := profile.ParseData(uploads[(i*processes+n)%len(uploads)])
			if err != nil {
				panic(err)
			}
			all = append(all, p)
		}
		merged, err := profile.Merge(all)
		if err != nil {
			panic(err)
		}
		if err := merged.Write(io.Discard); err != nil {
			panic(err)
		}
	}
}

// upload is the profile of one process: 3000 stacks, 8 to 40 deep, of a program with 2500 functions.
func upload(seed uint64) *profile.Profile {
	random := rand.New(rand.NewPCG(seed, 14))
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period:     10_000_000,
		TimeNanos:  int64(seed) * 10_000_000_000,
		Mapping:    []*profile.Mapping{{ID: 1, Start: 0x400000, Limit: 0x4000000, File: "/srv/orders", HasFunctions: true}},
	}
	for i := range 2500 {
		f := &profile.Function{ID: uint64(i + 1), Name: fmt.Sprintf("example.com/orders/pkg%d.(*Type%d).Method%d", i%90, i%300, i), Filename: fmt.Sprintf("/src/pkg%d/file%d.go", i%90, i%300)}
		f.SystemName = f.Name
		p.Function = append(p.Function, f)
		p.Location = append(p.Location, &profile.Location{ID: f.ID, Mapping: p.Mapping[0], Address: uint64(0x400000 + i*512), Line: []profile.Line{{Function: f, Line: int64(i)}}})
	}
	for range 3000 {
		s := &profile.Sample{Value: []int64{1, 10_000_000}, Label: map[string][]string{"endpoint": {fmt.Sprintf("/v1/route%d", random.IntN(30))}}}
		// A stack is a walk in a tree: callees of a function are near it.
		at := random.IntN(20)
		for range 8 + random.IntN(33) {
			s.Location = append([]*profile.Location{p.Location[at]}, s.Location...)
			at = (at*3 + random.IntN(4)) % len(p.Location)
		}
		p.Sample = append(p.Sample, s)
	}
	return p
}
