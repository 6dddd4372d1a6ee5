// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"cmp"
	"encoding/binary"
	"slices"
	"time"

	"github.com/google/pprof/profile"
)

// addHeap adds a heap profile, which may be a difference of two.
func (e *Evidence) addHeap(p *profile.Profile) error {
	if isDelta(p) {
		return e.addDelta(p)
	}
	h := &e.heaps
	h.binary = append(h.binary, p)
	slices.SortStableFunc(h.binary, byTime)
	if len(h.binary) > 2 {
		middle := h.binary[1]
		h.between = append(h.between, moment{middle.TimeNanos, InUse(middle)})
		h.binary = slices.Delete(h.binary, 1, 2)
	}
	e.settleHeaps()
	return nil
}

// addTextHeap adds a profile that was read from the text form.
func (e *Evidence) addTextHeap(p *profile.Profile) error {
	if len(e.heaps.texts) == 2 {
		return inputError("a third heap profile in text form; give the two from the start and the end of the window, or binary profiles, of which there may be more")
	}
	e.heaps.texts = append(e.heaps.texts, p)
	slices.SortStableFunc(e.heaps.texts, func(a, b *profile.Profile) int {
		return cmp.Or(byTime(a, b), cmp.Compare(sum(a, "alloc_space"), sum(b, "alloc_space")))
	})
	e.settleHeaps()
	return nil
}

func byTime(a, b *profile.Profile) int { return cmp.Compare(a.TimeNanos, b.TimeNanos) }

// isDelta reports whether a heap profile is a difference of two. net/http/pprof gives it a
// duration, which other heap profiles lack.
func isDelta(p *profile.Profile) bool {
	if p.DurationNanos > 0 {
		return true
	}
	return slices.ContainsFunc(p.Sample, func(s *profile.Sample) bool {
		return slices.ContainsFunc(s.Value, func(v int64) bool { return v < 0 })
	})
}

// addDelta adds a difference of two heap profiles. Its allocations are those of the window. Its
// bytes in use are a growth, and not what lives, so addDelta drops them.
func (e *Evidence) addDelta(p *profile.Profile) error {
	if sum(p, "alloc_space") < 0 {
		return inputError("a difference of two heap profiles with fewer allocations at the end; subtract the earlier profile from the later one")
	}
	only(p, "alloc_objects", "alloc_space")
	if e.heaps.delta == nil {
		e.heaps.delta = p
	} else {
		merged, err := profile.Merge([]*profile.Profile{e.heaps.delta, p})
		if err != nil {
			return inputError("cannot be merged with the other difference of heap profiles (" + err.Error() + "); give profiles of one program")
		}
		e.heaps.delta = merged
	}
	e.settleHeaps()
	return nil
}

// only clears the values of all other sample types, and negative values.
func only(p *profile.Profile, types ...string) {
	for i, t := range p.SampleType {
		keep := slices.Contains(types, t.Type)
		for _, s := range p.Sample {
			if !keep || s.Value[i] < 0 {
				s.Value[i] = 0
			}
		}
	}
}

// settleHeaps computes the evidence's heap profiles from all that were read. Two profiles are
// better than a difference, because they have the bytes in use of the same window.
func (e *Evidence) settleHeaps() {
	h := &e.heaps
	ends := h.binary
	if len(ends) == 0 {
		ends = h.texts
	}
	if e.Delta {
		e.Window = 0
	}
	e.Heap, e.Curve, e.Delta, e.NoInUse = [2]*profile.Profile{}, nil, false, false
	switch {
	case len(ends) == 2 && fell(ends[0], ends[1]):
		// Each has the allocations since the one before it.
		e.Heap[1], e.Delta = ends[1], true
		e.Window = time.Duration(ends[1].TimeNanos - h.before(ends[0].TimeNanos))
		return
	case len(ends) == 2 && sum(ends[1], "alloc_space")-sum(ends[0], "alloc_space") > mostAllocated*float64(ends[1].TimeNanos-ends[0].TimeNanos)/1e9 && ends[0].TimeNanos > 0:
		// The first one has the allocations of a window alone, and the second those since the start.
		e.Heap[1] = ends[1]
		return
	case len(ends) == 2:
		e.Heap = [2]*profile.Profile{ends[0], ends[1]}
		e.Curve = h.curve()
		return
	case len(ends) == 1:
		e.Heap[1] = ends[0]
	}
	if h.delta == nil {
		return
	}
	e.Delta, e.Window = true, time.Duration(h.delta.DurationNanos)
	if e.Heap[1] == nil {
		e.Heap[1], e.NoInUse = h.delta, true
		return
	}
	kept := e.Heap[1].Copy()
	only(kept, "inuse_objects", "inuse_space")
	if merged, err := profile.Merge([]*profile.Profile{kept, h.delta}); err == nil {
		merged.TimeNanos, merged.DurationNanos = kept.TimeNanos, 0
		renumber(merged)
		e.Heap[1] = merged
		return
	}
	e.Heap[1], e.NoInUse = h.delta, true
}

// mostAllocated is the number of bytes that no program allocates in a second.
const mostAllocated = 64 << 30

// before is the time of the last profile before the end of the window, first unless there are some in
// between.
func (h *heaps) before(first int64) int64 {
	for _, m := range h.between {
		first = max(first, m.at)
	}
	return first
}

// fell reports whether a stack allocated less in the later of two heap profiles. What a program has
// allocated since its start never falls, so these profiles have the allocations of windows, and the
// bytes in use at their times. Continuous profilers write such profiles; they have no duration.
func fell(earlier, later *profile.Profile) bool {
	i, j := SampleIndex(earlier, "alloc_objects"), SampleIndex(later, "alloc_objects")
	if i < 0 || j < 0 {
		return false
	}
	objects := map[string]int64{}
	for _, s := range later.Sample {
		objects[stackKey(s)] += s.Value[j]
	}
	for _, s := range earlier.Sample {
		objects[stackKey(s)] -= s.Value[i]
	}
	for _, n := range objects {
		if n < 0 {
			return true
		}
	}
	return false
}

// stackKey identifies the stack of a heap profile's sample, and the size of its objects.
func stackKey(s *profile.Sample) string {
	var key []byte
	for _, l := range s.Location {
		key = binary.AppendUvarint(key, l.Address)
		for _, line := range l.Line {
			if line.Function != nil {
				key = append(key, line.Function.Name...)
			}
			key = binary.AppendVarint(key, line.Line)
		}
	}
	for _, size := range s.NumLabel["bytes"] {
		key = binary.AppendVarint(key, size)
	}
	return string(key)
}

// curve are the bytes in use from the first to the last profile, nil without a profile in between.
func (h *heaps) curve() (list []float64) {
	if len(h.between) == 0 || len(h.binary) < 2 {
		return nil
	}
	slices.SortStableFunc(h.between, func(a, b moment) int { return cmp.Compare(a.at, b.at) })
	list = append(list, InUse(h.binary[0]))
	for _, m := range h.between {
		list = append(list, m.inuse)
	}
	return append(list, InUse(h.binary[1]))
}

// InUse is the number of bytes in use in a heap profile, 0 without one.
func InUse(p *profile.Profile) float64 {
	if p == nil {
		return 0
	}
	return sum(p, "inuse_space")
}

// sum adds up the values of a sample type.
func sum(p *profile.Profile, name string) (total float64) {
	if i := SampleIndex(p, name); i >= 0 {
		for _, s := range p.Sample {
			total += float64(s.Value[i])
		}
	}
	return total
}

// renumber gives functions and locations small numbers. Some converters use hashes, and Attributed
// adds numbers above the largest.
func renumber(p *profile.Profile) {
	for i, f := range p.Function {
		f.ID = uint64(i + 1)
	}
	for i, l := range p.Location {
		l.ID = uint64(i + 1)
	}
}

// SampleIndex is the index of a sample type, -1 if the profile lacks it.
func SampleIndex(p *profile.Profile, name string) int {
	return slices.IndexFunc(p.SampleType, func(t *profile.ValueType) bool { return t.Type == name })
}
