package profilemerge

import (
	"fmt"
	"math/rand/v2"

	"github.com/google/pprof/profile"
)

// Input makes a CPU profile as one server of a service sends it: so many samples of stacks in a
// program of 3000 functions. Profiles of different seeds share most of their functions and half of
// their stacks.
func Input(seed uint64, samples int) *profile.Profile {
	p := &profile.Profile{
		SampleType:    []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType:    &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period:        10_000_000,
		TimeNanos:     int64(seed) * 10_000_000_000,
		DurationNanos: 10_000_000_000,
		Mapping:       []*profile.Mapping{{ID: 1, Start: 0x400000, Limit: 0x4000000, File: "/srv/shop", HasFunctions: true}},
	}
	own := rand.New(rand.NewPCG(seed, 1))
	locations := map[int]*profile.Location{}
	for i := range samples {
		random := own
		if i%2 == 0 {
			random = rand.New(rand.NewPCG(uint64(own.IntN(2*samples)), 0)) // A stack that other profiles have, too.
		}
		s := &profile.Sample{Value: []int64{1, p.Period}}
		for function, depth := 0, 10+random.IntN(30); depth > 0; depth-- {
			function = (function*8 + 1 + random.IntN(8)) % 3000
			s.Location = append(s.Location, location(p, locations, function))
		}
		if i%10 == 0 {
			s.Label = map[string][]string{"route": {fmt.Sprint("/items/", random.IntN(5))}}
		}
		p.Sample = append(p.Sample, s)
	}
	return p
}

// location is the location of a function in p. It is made where it is needed first, so its number
// differs from profile to profile.
func location(p *profile.Profile, made map[int]*profile.Location, function int) *profile.Location {
	if l := made[function]; l != nil {
		return l
	}
	id := uint64(len(p.Function)) + 1
	name := fmt.Sprintf("example.com/shop/package%d.(*Service).method%d", function%50, function)
	f := &profile.Function{ID: id, Name: name, SystemName: name, Filename: fmt.Sprintf("package%d/service.go", function%50), StartLine: int64(function)}
	l := &profile.Location{ID: id, Mapping: p.Mapping[0], Address: 0x400000 + uint64(function)*64, Line: []profile.Line{{Function: f, Line: f.StartLine + 3}}}
	p.Function, p.Location = append(p.Function, f), append(p.Location, l)
	made[function] = l
	return l
}
