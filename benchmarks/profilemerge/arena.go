package profilemerge

import (
	"github.com/google/pprof/profile"

	"github.com/freehold-go/freehold/arena"
)

// InArena merges profiles to one profile in a.
//
// The result is valid until a is freed or reset: write it before. It shares labels and the types of
// its samples with the profiles, which must be valid, as those of profile.Parse are. InArena panics with a
// value that errors.Is offheap.ErrLimit if a has a limit that the merge exceeds.
func InArena(a *arena.Arena, profiles []*profile.Profile) (*profile.Profile, error) {
	// The types of pprof's format lie in the arena as they are. An arena takes types with pointers,
	// strings and maps, also those of other packages.
	m := &merger{
		a:         a,
		out:       arena.New[profile.Profile](a),
		mappings:  arena.NewMap[mappingKey, *profile.Mapping](a, 0),
		functions: arena.NewMap[functionKey, *profile.Function](a, 0),
		locations: arena.NewMap[string, *profile.Location](a, 0),
		samples:   arena.NewMap[string, *profile.Sample](a, 0),
		seen:      arena.NewMap[uint64, *profile.Location](a, 0),
	}
	for _, src := range profiles {
		if err := addHeader(m.out, src); err != nil {
			return nil, err
		}
		m.seen.Clear() // The Map keeps its table for the next profile.
		for _, s := range src.Sample {
			m.sample(s)
		}
	}
	return m.out, nil
}

// A merger has the tables of one merge. It dies with the call of InArena, as its buffers do, so they
// need no arena.
type merger struct {
	a   *arena.Arena
	out *profile.Profile

	mappings  *arena.Map[mappingKey, *profile.Mapping]
	functions *arena.Map[functionKey, *profile.Function]
	locations *arena.Map[string, *profile.Location] // By appendLocation.
	samples   *arena.Map[string, *profile.Sample]   // By the numbers of locations, and labels.
	seen      *arena.Map[uint64, *profile.Location] // Of the present profile, by its numbers.

	stack []*profile.Location
	lines []profile.Line
	key   []byte
}

// sample adds a sample to the one with the same stack and labels.
func (m *merger) sample(s *profile.Sample) {
	m.stack = m.stack[:0]
	for _, l := range s.Location {
		m.stack = append(m.stack, m.location(l))
	}
	m.key = m.key[:0]
	for _, l := range m.stack {
		m.key = appendNumber(m.key, l.ID)
	}
	m.key = appendLabels(m.key, s)
	// GetBytes looks up a key in a buffer. SetBytes copies the key to the arena.
	if sum, ok := arena.GetBytes(m.samples, m.key); ok {
		for i, v := range s.Value {
			sum.Value[i] += v
		}
		return
	}
	// The copies of stack and values lie in the arena, too: the collector finds one chunk where the
	// Go heap has two slices for each sample.
	sum := arena.NewFrom(m.a, profile.Sample{
		Location: arena.SliceFrom(m.a, m.stack), Value: arena.SliceFrom(m.a, s.Value),
		Label: s.Label, NumLabel: s.NumLabel, NumUnit: s.NumUnit,
	})
	m.out.Sample = arena.Append(m.a, m.out.Sample, sum)
	arena.SetBytes(m.samples, m.key, sum)
}

// location is the merged location of a source's location.
func (m *merger) location(src *profile.Location) *profile.Location {
	if l, ok := m.seen.Get(src.ID); ok {
		return l
	}
	m.lines = m.lines[:0]
	for _, line := range src.Line {
		line.Function = m.function(line.Function)
		m.lines = append(m.lines, line)
	}
	found := profile.Location{Mapping: m.mapping(src.Mapping), Address: src.Address, Line: m.lines, IsFolded: src.IsFolded}
	m.key = appendLocation(m.key[:0], &found)
	l, ok := arena.GetBytes(m.locations, m.key)
	if !ok {
		found.ID = uint64(len(m.out.Location)) + 1
		found.Line = arena.SliceFrom(m.a, m.lines)
		l = arena.NewFrom(m.a, found)
		m.out.Location = arena.Append(m.a, m.out.Location, l)
		arena.SetBytes(m.locations, m.key, l)
	}
	m.seen.Set(src.ID, l)
	return l
}

func (m *merger) function(src *profile.Function) *profile.Function {
	key := keyOfFunction(src)
	if f, ok := m.functions.Get(key); ok {
		return f
	}
	f := arena.NewFrom(m.a, *src) // A shallow copy: its strings are those of the source.
	f.ID = uint64(len(m.out.Function)) + 1
	m.out.Function = arena.Append(m.a, m.out.Function, f)
	m.functions.Set(key, f)
	return f
}

func (m *merger) mapping(src *profile.Mapping) *profile.Mapping {
	if src == nil {
		return nil
	}
	key := keyOfMapping(src)
	if found, ok := m.mappings.Get(key); ok {
		return found
	}
	found := arena.NewFrom(m.a, *src)
	found.ID = uint64(len(m.out.Mapping)) + 1
	m.out.Mapping = arena.Append(m.a, m.out.Mapping, found)
	m.mappings.Set(key, found)
	return found
}
