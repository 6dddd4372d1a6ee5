// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A LabelKey describes a label of the CPU profile.
type LabelKey struct {
	Key string
	// Values is the number of values, and CPUShare the share of the CPU time that has one of them.
	Values   int
	CPUShare float64
}

// LabelKeys are the labels of the CPU profile, the one with the most CPU time first. Labels with a
// single value come after the others, and identifiers, which have very many, come last.
func (e *Evidence) LabelKeys() (list []LabelKey) {
	if e.CPU == nil {
		return nil
	}
	i := SampleIndex(e.CPU, "cpu")
	if i < 0 {
		return nil
	}
	total, cpu, values := 0.0, map[string]float64{}, map[string]map[string]bool{}
	for _, s := range e.CPU.Sample {
		total += float64(s.Value[i])
		for key, list := range s.Label {
			if len(list) == 0 {
				continue
			}
			cpu[key] += float64(s.Value[i])
			if values[key] == nil {
				values[key] = map[string]bool{}
			}
			values[key][list[0]] = true
		}
	}
	for key, ns := range cpu {
		list = append(list, LabelKey{key, len(values[key]), ns / max(total, 1)})
	}
	slices.SortFunc(list, func(k, l LabelKey) int {
		return cmp.Or(cmp.Compare(k.rank(), l.rank()), cmp.Compare(l.CPUShare, k.CPUShare), cmp.Compare(l.Values, k.Values), cmp.Compare(k.Key, l.Key))
	})
	return list
}

// manyValues is the number of values from which a label is taken for an identifier, such as that of
// a span. A split by it says little.
const manyValues = 200

// rank puts identifiers last, and labels with a single value after those that split the time.
func (k LabelKey) rank() int {
	switch {
	case k.Values > manyValues:
		return 2
	case k.Values == 1:
		return 1
	}
	return 0
}

// ChooseLabel makes reports split the CPU time by a label: "KEY" by its values, "KEY=VALUE" by one
// of them. It refuses a label that the CPU profile lacks.
func (e *Evidence) ChooseLabel(text string) error {
	if e.CPU == nil {
		return inputError("there is no CPU profile, and heap profiles of Go programs carry no labels; give a CPU profile, such as /debug/pprof/profile?seconds=30")
	}
	keys := e.LabelKeys()
	if len(keys) == 0 {
		return inputError(`the CPU profile has no labels; the program sets one with pprof.Do(ctx, pprof.Labels("endpoint", name), func(ctx context.Context) { … })`)
	}
	has := func(key string) bool { return slices.ContainsFunc(keys, func(k LabelKey) bool { return k.Key == key }) }
	if has(text) {
		e.Label = Label{Key: text}
		return nil
	}
	key, value, one := strings.Cut(text, "=")
	if !has(key) {
		return inputError(fmt.Sprintf("the CPU profile has no label %q; it has %s", key, quoted(keys, func(k LabelKey) string { return k.Key })))
	}
	e.Label = Label{key, value, one}
	if values := e.labelValues(key); one && !slices.Contains(values, value) {
		e.Label = Label{}
		return inputError(fmt.Sprintf("the label %q has no value %q; it has %s", key, value, quoted(values, func(v string) string { return v })))
	}
	return nil
}

// labelValues are the values of a label, the one with the most CPU time first.
func (e *Evidence) labelValues(key string) (list []string) {
	cpu, i := map[string]int64{}, SampleIndex(e.CPU, "cpu")
	for _, s := range e.CPU.Sample {
		if values := s.Label[key]; len(values) > 0 {
			cpu[values[0]] += s.Value[i]
		}
	}
	for value := range cpu {
		list = append(list, value)
	}
	slices.SortFunc(list, func(v, w string) int { return cmp.Or(cmp.Compare(cpu[w], cpu[v]), cmp.Compare(v, w)) })
	return list
}

// mostNamed is how many names an error lists.
const mostNamed = 8

// quoted lists names for an error.
func quoted[T any](list []T, name func(T) string) string {
	var names []string
	for _, v := range list[:min(len(list), mostNamed)] {
		names = append(names, fmt.Sprintf("%q", name(v)))
	}
	text := strings.Join(names, ", ")
	if n := len(list) - mostNamed; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}
