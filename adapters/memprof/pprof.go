// SPDX-License-Identifier: Apache-2.0

package memprof

import (
	"bytes"
	"fmt"
	"runtime"
	"runtime/pprof"
	"time"

	"github.com/google/pprof/profile"

	"github.com/freehold-go/freehold/offheap"
)

// build makes a profile in pprof's terms.
func build(list []estimate) *profile.Profile {
	b := builder{
		p: &profile.Profile{
			SampleType: []*profile.ValueType{
				{Type: "alloc_objects", Unit: "count"}, {Type: "alloc_space", Unit: "bytes"},
				{Type: "inuse_objects", Unit: "count"}, {Type: "inuse_space", Unit: "bytes"},
			},
			DefaultSampleType: "inuse_space",
			PeriodType:        &profile.ValueType{Type: "space", Unit: "bytes"},
			Period:            offheap.SetSamplePeriod(-1),
			TimeNanos:         time.Now().UnixNano(),
		},
		locations: make(map[runtime.Frame]*profile.Location),
		functions: make(map[functionKey]*profile.Function),
	}
	for i := range list {
		b.add(&list[i])
	}
	return b.p
}

type builder struct {
	p         *profile.Profile
	locations map[runtime.Frame]*profile.Location
	functions map[functionKey]*profile.Function
}

type functionKey struct{ name, file string }

func (b *builder) add(e *estimate) {
	s := &profile.Sample{
		Value:    e.values[:],
		Label:    map[string][]string{"memory": {"offheap"}},
		NumLabel: map[string][]int64{"bytes": {e.size}},
		NumUnit:  map[string][]string{"bytes": {"bytes"}},
	}
	if e.purpose != "" {
		s.Label["purpose"] = []string{e.purpose}
	}
	for _, f := range e.stack {
		s.Location = append(s.Location, b.location(f))
	}
	b.p.Sample = append(b.p.Sample, s)
}

// location is that of a frame. Frames of inlined calls have locations of their own.
func (b *builder) location(f runtime.Frame) *profile.Location {
	key := runtime.Frame{PC: f.PC, Function: f.Function, File: f.File, Line: f.Line}
	l := b.locations[key]
	if l == nil {
		l = &profile.Location{
			ID:      uint64(len(b.p.Location) + 1),
			Address: uint64(f.PC),
			Line:    []profile.Line{{Function: b.function(f), Line: int64(f.Line)}},
		}
		b.locations[key] = l
		b.p.Location = append(b.p.Location, l)
	}
	return l
}

func (b *builder) function(f runtime.Frame) *profile.Function {
	key := functionKey{f.Function, f.File}
	fn := b.functions[key]
	if fn == nil {
		fn = &profile.Function{ID: uint64(len(b.p.Function) + 1), Name: f.Function, SystemName: f.Function, Filename: f.File}
		b.functions[key] = fn
		b.p.Function = append(b.p.Function, fn)
	}
	return fn
}

// merged is this profile and Go's own.
func merged() (*profile.Profile, error) {
	var text bytes.Buffer
	if err := pprof.Lookup("heap").WriteTo(&text, 0); err != nil {
		return nil, fmt.Errorf("memprof: read Go's heap profile: %w", err)
	}
	goheap, err := profile.Parse(&text)
	if err != nil {
		return nil, fmt.Errorf("memprof: read Go's heap profile: %w", err)
	}
	for _, s := range goheap.Sample {
		if s.Label == nil {
			s.Label = make(map[string][]string)
		}
		s.Label["memory"] = []string{"goheap"}
	}
	ours := build(estimates())
	if len(ours.Sample) == 0 {
		return goheap, nil
	}
	// The period of a merged profile is the larger one. Nothing reads it: the figures of both are
	// scaled already.
	p, err := profile.Merge([]*profile.Profile{goheap, ours})
	if err != nil {
		return nil, fmt.Errorf("memprof: merge with Go's heap profile: %w", err)
	}
	p.DefaultSampleType = ours.DefaultSampleType
	return p, nil
}
