// Package profilemerge merges profiles in pprof's format to one, on the Go heap and in an arena.
//
// A service that stores profiles does this for each query: it merges hundreds of profiles, writes
// the result to the client, and drops it. The tables of the merge live as long as the query.
// [Plain] makes them of maps and pointers. [InArena] makes the same tables in an arena.
package profilemerge

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/pprof/profile"
)

// A mappingKey identifies a mapping.
type mappingKey struct {
	file, buildID        string
	start, limit, offset uint64
}

func keyOfMapping(m *profile.Mapping) mappingKey {
	return mappingKey{m.File, m.BuildID, m.Start, m.Limit, m.Offset}
}

// A functionKey identifies a function.
type functionKey struct {
	name, system, file string
	line               int64
}

func keyOfFunction(f *profile.Function) functionKey {
	return functionKey{f.Name, f.SystemName, f.Filename, f.StartLine}
}

// appendLocation appends the key of a merged location: its fields, with numbers for its mapping, 0
// for none, and its functions.
func appendLocation(key []byte, l *profile.Location) []byte {
	var mapping, folded uint64
	if l.Mapping != nil {
		mapping = l.Mapping.ID
	}
	if l.IsFolded {
		folded = 1
	}
	key = binary.AppendUvarint(key, l.Address)
	key = binary.AppendUvarint(key, mapping)
	key = binary.AppendUvarint(key, folded)
	for _, line := range l.Line {
		key = binary.AppendUvarint(key, line.Function.ID)
		key = binary.AppendVarint(key, line.Line)
		key = binary.AppendVarint(key, line.Column)
	}
	return key
}

// appendLabels appends the labels of a sample, in an order of their own. Most samples have none.
func appendLabels(key []byte, s *profile.Sample) []byte {
	if len(s.Label) == 0 && len(s.NumLabel) == 0 {
		return key
	}
	for _, name := range slices.Sorted(maps.Keys(s.Label)) {
		key = fmt.Appendf(key, "%q%q", name, s.Label[name])
	}
	for _, name := range slices.Sorted(maps.Keys(s.NumLabel)) {
		key = fmt.Appendf(key, "%q%d%q", name, s.NumLabel[name], s.NumUnit[name])
	}
	return key
}

// addHeader adds what a source says about all of its samples.
func addHeader(out, src *profile.Profile) error {
	if out.SampleType == nil {
		out.SampleType, out.DefaultSampleType = src.SampleType, src.DefaultSampleType
		out.PeriodType, out.Period = src.PeriodType, src.Period
		out.TimeNanos = src.TimeNanos
	}
	if !slices.EqualFunc(out.SampleType, src.SampleType, sameType) || !sameType(out.PeriodType, src.PeriodType) {
		return errors.New("merge: the profiles have samples of different types")
	}
	out.TimeNanos = min(out.TimeNanos, src.TimeNanos)
	out.DurationNanos += src.DurationNanos
	return nil
}

func sameType(a, b *profile.ValueType) bool {
	return a == b || a != nil && b != nil && a.Type == b.Type && a.Unit == b.Unit
}

// appendNumber appends the number of a location in eight bytes, so the numbers of two stacks of
// different lengths never look alike.
func appendNumber(key []byte, n uint64) []byte { return binary.LittleEndian.AppendUint64(key, n) }
