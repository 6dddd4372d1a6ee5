// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"slices"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
)

// A labelling has the label of each sample of the CPU profile.
type labelling struct {
	a *account
	// of is the index in split.Costs of each sample's value, unlabelled or background.
	of    []int
	split *LabelSplit
	// parts are, of the samples in which a site calls the allocator, the parts with each value.
	parts map[*site]map[int]float64
}

// What a sample without the label is.
const (
	unlabelled = -1
	background = -2
)

// labelKeys are the labels that the report can be split by.
func (a *account) labelKeys() (list []LabelKey) {
	for _, k := range a.ev.LabelKeys() {
		if k.Key != CostLabel {
			list = append(list, LabelKey(k))
		}
	}
	return list
}

// splitByLabel divides the CPU time by the evidence's label, nil if none was chosen.
func (a *account) splitByLabel() *labelling {
	label := a.ev.Label
	if label.Key == "" || len(a.samples) == 0 {
		return nil
	}
	l := &labelling{a: a, parts: map[*site]map[int]float64{}, split: &LabelSplit{Key: label.Key, Value: label.Value, Restricted: label.One, Costs: []LabelCost{}}}
	l.name(label.Key)
	for i, st := range a.samples {
		share := a.share(st.ns)
		cost := l.cost(l.of[i])
		if cost == nil {
			l.split.BackgroundShare += share
			continue
		}
		cost.CPUShare += share
		switch {
		case st.class.IsGC():
			cost.GCShare += share
		case st.class == stack.Alloc || st.class == stack.Zero:
			cost.AllocShare += share
		}
		if st.site != nil {
			if l.parts[st.site] == nil {
				l.parts[st.site] = map[int]float64{}
			}
			l.parts[st.site][l.of[i]] += st.ns
		}
	}
	for _, part := range l.parts {
		normalise(part)
	}
	l.charge()
	for i := range l.split.Costs {
		l.settle(&l.split.Costs[i])
	}
	l.settle(&l.split.Unlabelled)
	return l
}

// name finds the value of each sample, and numbers the values by their CPU time.
func (l *labelling) name(key string) {
	cpu := map[string]float64{}
	values := make([]string, len(l.a.samples))
	l.of = make([]int, len(l.a.samples))
	for i, st := range l.a.samples {
		list := l.a.ev.CPU.Sample[i].Label[key]
		switch {
		case len(list) > 0:
			values[i] = list[0]
			cpu[list[0]] += st.ns
		case st.class.IsGC() && st.class != stack.Barrier && st.site == nil:
			l.of[i] = background
		default:
			l.of[i] = unlabelled
		}
	}
	for value := range cpu {
		l.split.Costs = append(l.split.Costs, LabelCost{Value: value})
	}
	slices.SortFunc(l.split.Costs, func(c, d LabelCost) int {
		return cmp.Or(cmp.Compare(cpu[d.Value], cpu[c.Value]), cmp.Compare(c.Value, d.Value))
	})
	number := map[string]int{}
	for i, c := range l.split.Costs {
		number[c.Value] = i
	}
	for i, s := range l.a.ev.CPU.Sample {
		if len(s.Label[key]) > 0 {
			l.of[i] = number[values[i]]
		}
	}
}

// cost is the row of a sample, nil for the collector's workers.
func (l *labelling) cost(of int) *LabelCost {
	switch of {
	case background:
		return nil
	case unlabelled:
		return &l.split.Unlabelled
	}
	return &l.split.Costs[of]
}

// normalise makes parts add up to 1.
func normalise(parts map[int]float64) {
	sum := 0.0
	for _, v := range parts {
		sum += v
	}
	for k := range parts {
		if sum > 0 {
			parts[k] /= sum
		} else {
			delete(parts, k)
		}
	}
}

// charge divides the time of the collector's workers: marking half by the bytes allocated and half
// by the bytes scanned, sweeping by the bytes allocated. A site's part goes to the values whose
// samples call the allocator there. The rest, of sites without a sample and of roots, is charged to
// none.
func (l *labelling) charge() {
	mark, sweep := 0.0, 0.0
	for i, st := range l.a.samples {
		switch {
		case l.of[i] != background:
		case st.class == stack.Sweep || st.class == stack.Scavenge:
			sweep += l.a.share(st.ns)
		default:
			mark += l.a.share(st.ns)
		}
	}
	marks, sweeps := l.a.rootWeight(), 0.0
	for _, s := range l.a.sites {
		allocated, scanned := l.a.weights(s)
		marks, sweeps = marks+allocated+scanned, sweeps+allocated
	}
	left := mark + sweep
	for _, s := range l.a.sites {
		allocated, scanned := l.a.weights(s)
		work := 0.0
		if marks > 0 {
			work += mark * (allocated + scanned) / marks
		}
		if sweeps > 0 {
			work += sweep * allocated / sweeps
		}
		for of, part := range l.parts[s] {
			if cost := l.cost(of); cost != nil {
				cost.ChargedShare += work * part
				left -= work * part
			}
		}
	}
	l.split.NotChargedShare = max(left, 0)
}

func (l *labelling) settle(c *LabelCost) {
	c.Error = nineInTen * l.a.share(l.a.samplingError(c.CPUShare*l.a.total))
}

// leastPart is the part of a finding's cost from which on it is shown under one value of a label.
const leastPart = 0.01

// restrict keeps the findings whose lines allocate under the value of the label, and the findings
// about the whole program. It notes which part of each finding's cost the value has.
func (l *labelling) restrict(findings []Finding) []Finding {
	want := slices.IndexFunc(l.split.Costs, func(c LabelCost) bool { return c.Value == l.split.Value })
	kept := []Finding{}
	for _, f := range findings {
		with, all := 0.0, 0.0
		for _, s := range f.sites {
			if parts := l.parts[s]; len(parts) > 0 {
				cost := l.a.cost(s)
				with, all = with+cost*parts[want], all+cost
			}
		}
		if all > 0 {
			f.LabelPart = with / all
			if f.LabelPart < leastPart {
				continue
			}
			f.own *= f.LabelPart
		}
		kept = append(kept, f)
	}
	return kept
}
