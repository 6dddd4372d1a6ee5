// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/google/pprof/profile"
)

// addHeap adds a heap profile, which may be a difference of two.
func (e *Evidence) addHeap(p *profile.Profile) error {
	if isDelta(p) {
		return e.addDelta(p)
	}
	e.heaps.binary = append(e.heaps.binary, p)
	slices.SortStableFunc(e.heaps.binary, byTime)
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

// isDelta reports whether a heap profile has the allocations of a window alone. Of these,
// net/http/pprof's have a duration, which other heap profiles lack, those made by subtraction have
// negative values, and those of continuous profilers have more in use than was ever allocated.
func isDelta(p *profile.Profile) bool {
	return p.DurationNanos > 0 || hasNegative(p) || keepsInUse(p)
}

func hasNegative(p *profile.Profile) bool {
	return slices.ContainsFunc(p.Sample, func(s *profile.Sample) bool {
		return slices.ContainsFunc(s.Value, func(v int64) bool { return v < 0 })
	})
}

// keepsInUse reports whether the bytes in use of a difference are all that live, and not their
// growth: much of it is older than the window.
func keepsInUse(p *profile.Profile) bool {
	made, lives := SampleIndex(p, "alloc_space"), SampleIndex(p, "inuse_space")
	if made < 0 || lives < 0 || hasNegative(p) {
		return false
	}
	older := 0.0
	for _, s := range p.Sample {
		older += float64(max(s.Value[lives]-s.Value[made], 0))
	}
	return older > sure*InUse(p)
}

// sure is the part of a profile from which values that rounding does not explain count.
const sure = 0.01

// fell reports whether a counter of allocations is smaller in the later of two heap profiles. Those
// of a program's whole life only grow.
func fell(before, after *profile.Profile) bool {
	now := madeByStack(after)
	all, lost := 0.0, 0.0
	for stack, n := range madeByStack(before) {
		all += n
		lost += max(n-now[stack], 0)
	}
	return lost > sure*all
}

// fallsFrom is fell, once for each pair: settleHeaps asks again for each profile that is added.
func (h *heaps) fallsFrom(before, after *profile.Profile) bool {
	pair := [2]*profile.Profile{before, after}
	falls, compared := h.falls[pair]
	if !compared {
		if h.falls == nil {
			h.falls = map[[2]*profile.Profile]bool{}
		}
		falls = fell(before, after)
		h.falls[pair] = falls
	}
	return falls
}

// madeByStack are the objects allocated by the stacks' functions and lines.
func madeByStack(p *profile.Profile) map[string]float64 {
	made := map[string]float64{}
	i := SampleIndex(p, "alloc_objects")
	if i < 0 {
		return made
	}
	var key []byte
	for _, s := range p.Sample {
		key = key[:0]
		for _, l := range s.Location {
			for _, line := range l.Line {
				key = append(append(key, line.Function.Name...), ':')
				key = append(strconv.AppendInt(key, line.Line, 10), ';')
			}
		}
		made[string(key)] += float64(s.Value[i])
	}
	return made
}

// addDelta adds a profile of a window's allocations.
func (e *Evidence) addDelta(p *profile.Profile) error {
	if sum(p, "alloc_space") < 0 {
		return inputError("a difference of two heap profiles with fewer allocations at the end; subtract the earlier profile from the later one")
	}
	e.heaps.deltas = append(e.heaps.deltas, p)
	slices.SortStableFunc(e.heaps.deltas, byTime)
	if _, _, err := windows(e.heaps.deltas); err != nil {
		return inputError("cannot be merged with the other difference of heap profiles (" + err.Error() + "); give profiles of one program")
	}
	e.settleHeaps()
	return nil
}

// windows adds up profiles of windows. Without durations, the window is the time from the first to
// the last, and the allocations of the first lie before it.
func windows(list []*profile.Profile) (*profile.Profile, time.Duration, error) {
	first, last := list[0], list[len(list)-1]
	untimed := func(p *profile.Profile) bool { return p.DurationNanos <= 0 }
	long := int64(0)
	if slices.ContainsFunc(list, untimed) {
		if long = last.TimeNanos - first.TimeNanos; long > 0 {
			list = list[1:]
		}
	} else {
		for _, p := range list {
			long += p.DurationNanos
		}
	}
	var parts []*profile.Profile
	for _, p := range list {
		part := p.Copy()
		only(part, "alloc_objects", "alloc_space")
		parts = append(parts, part)
	}
	merged, err := profile.Merge(parts)
	if err != nil {
		return nil, 0, err
	}
	merged.TimeNanos = last.TimeNanos
	return merged, time.Duration(max(long, 0)), nil
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
	whole, deltas := h.binary, h.deltas
	if len(whole) == 0 {
		whole = h.texts
	}
	if e.Delta {
		e.Window = 0
	}
	e.Heap, e.Curve, e.Delta, e.NoInUse = [2]*profile.Profile{}, nil, false, false
	last := len(whole) - 1
	h.fell = false
	for i := range max(last, 0) {
		h.fell = h.fell || h.fallsFrom(whole[i], whole[i+1])
	}
	switch {
	case h.fell:
		deltas = slices.SortedStableFunc(slices.Values(slices.Concat(whole, deltas)), byTime) // a delta may be among them
		e.Heap[1] = whole[last]
	case last > 0:
		e.Heap = [2]*profile.Profile{whole[0], whole[last]}
		if last > 1 {
			for _, p := range whole {
				e.Curve = append(e.Curve, InUse(p))
			}
		}
		return
	case last == 0:
		e.Heap[1] = whole[0]
	}
	if len(deltas) == 0 {
		return
	}
	made, window, err := windows(deltas)
	if err != nil {
		return // addDelta refused it, or there are two programs, which Problems mentions
	}
	e.Delta, e.Window = true, window
	kept := e.Heap[1]
	for _, p := range deltas {
		if e.Heap[1] == nil && keepsInUse(p) {
			kept = p
		}
	}
	if kept == nil {
		e.Heap[1], e.NoInUse = made, true
		return
	}
	kept = kept.Copy()
	only(kept, "inuse_objects", "inuse_space")
	if merged, err := profile.Merge([]*profile.Profile{kept, made}); err == nil {
		merged.TimeNanos, merged.DurationNanos = kept.TimeNanos, 0
		renumber(merged)
		e.Heap[1] = merged
		return
	}
	e.Heap[1], e.NoInUse = made, true
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
