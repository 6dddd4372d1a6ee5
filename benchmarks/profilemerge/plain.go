package profilemerge

import (
	"slices"

	"github.com/google/pprof/profile"
)

// Plain merges profiles to one profile. It shares labels and the types of its samples with them.
// The profiles must be valid, as those of profile.Parse are.
func Plain(profiles []*profile.Profile) (*profile.Profile, error) {
	m := &plainMerger{
		out:       new(profile.Profile),
		mappings:  map[mappingKey]*profile.Mapping{},
		functions: map[functionKey]*profile.Function{},
		locations: map[string]*profile.Location{},
		samples:   map[string]*profile.Sample{},
		seen:      map[uint64]*profile.Location{},
	}
	for _, src := range profiles {
		if err := addHeader(m.out, src); err != nil {
			return nil, err
		}
		clear(m.seen)
		for _, s := range src.Sample {
			m.sample(s)
		}
	}
	return m.out, nil
}

// A plainMerger has the tables of one merge.
type plainMerger struct {
	out *profile.Profile

	mappings  map[mappingKey]*profile.Mapping
	functions map[functionKey]*profile.Function
	locations map[string]*profile.Location // By appendLocation.
	samples   map[string]*profile.Sample   // By the numbers of locations, and labels.
	seen      map[uint64]*profile.Location // Of the present profile, by its numbers.

	stack []*profile.Location
	lines []profile.Line
	key   []byte
}

// sample adds a sample to the one with the same stack and labels.
func (m *plainMerger) sample(s *profile.Sample) {
	m.stack = m.stack[:0]
	for _, l := range s.Location {
		m.stack = append(m.stack, m.location(l))
	}
	m.key = m.key[:0]
	for _, l := range m.stack {
		m.key = appendNumber(m.key, l.ID)
	}
	m.key = appendLabels(m.key, s)
	if sum, ok := m.samples[string(m.key)]; ok {
		for i, v := range s.Value {
			sum.Value[i] += v
		}
		return
	}
	sum := &profile.Sample{
		Location: slices.Clone(m.stack), Value: slices.Clone(s.Value),
		Label: s.Label, NumLabel: s.NumLabel, NumUnit: s.NumUnit,
	}
	m.out.Sample = append(m.out.Sample, sum)
	m.samples[string(m.key)] = sum
}

// location is the merged location of a source's location.
func (m *plainMerger) location(src *profile.Location) *profile.Location {
	if l, ok := m.seen[src.ID]; ok {
		return l
	}
	m.lines = m.lines[:0]
	for _, line := range src.Line {
		line.Function = m.function(line.Function)
		m.lines = append(m.lines, line)
	}
	found := profile.Location{Mapping: m.mapping(src.Mapping), Address: src.Address, Line: m.lines, IsFolded: src.IsFolded}
	m.key = appendLocation(m.key[:0], &found)
	l, ok := m.locations[string(m.key)]
	if !ok {
		found.ID = uint64(len(m.out.Location)) + 1
		found.Line = slices.Clone(m.lines)
		l = new(profile.Location)
		*l = found
		m.out.Location = append(m.out.Location, l)
		m.locations[string(m.key)] = l
	}
	m.seen[src.ID] = l
	return l
}

func (m *plainMerger) function(src *profile.Function) *profile.Function {
	key := keyOfFunction(src)
	if f, ok := m.functions[key]; ok {
		return f
	}
	f := new(profile.Function)
	*f = *src // A shallow copy: its strings are those of the source.
	f.ID = uint64(len(m.out.Function)) + 1
	m.out.Function = append(m.out.Function, f)
	m.functions[key] = f
	return f
}

func (m *plainMerger) mapping(src *profile.Mapping) *profile.Mapping {
	if src == nil {
		return nil
	}
	key := keyOfMapping(src)
	if found, ok := m.mappings[key]; ok {
		return found
	}
	found := new(profile.Mapping)
	*found = *src
	found.ID = uint64(len(m.out.Mapping)) + 1
	m.out.Mapping = append(m.out.Mapping, found)
	m.mappings[key] = found
	return found
}
