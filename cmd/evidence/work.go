// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// readCounter notes the counter that counts operations if the answer has it, or why it lacks it.
func (e *Evidence) readCounter(m *Metrics, answer []byte) {
	if e.Per.Counter == "" {
		return
	}
	v, err := Counter(answer, e.Per.Counter)
	if err != nil {
		e.uncounted = err
		return
	}
	m.SetReading(e.Per.Counter, v)
}

// whyUncounted adds to an error why the input lacks the counter.
func (e *Evidence) whyUncounted() string {
	if e.uncounted == nil {
		return ""
	}
	return ", and " + e.uncounted.Error()
}

// Work is the number of operations that the evidence's Per counts, nil if it counts none. Without
// two readings of the counter, and if the counter did not rise, there is an error.
func (e *Evidence) Work() (*Work, error) {
	if e.Per.Number > 0 {
		return &Work{Name: "operation", Count: e.Per.Number}, nil
	}
	name := e.Per.Counter
	if name == "" {
		return nil, nil
	}
	start, ok0 := e.Metrics[0].Get(perCounter + name)
	end, ok1 := e.Metrics[1].Get(perCounter + name)
	switch {
	case !ok0 && !ok1:
		return nil, e.noCounter()
	case !ok0 || !ok1:
		return nil, inputError(fmt.Sprintf("the counter %q is in one input; give the answers of /metrics or /debug/vars from the start and from the end of the CPU profile", name))
	case end < start:
		return nil, inputError(fmt.Sprintf("the counter %q fell from %g to %g: the program was started again in between, or the two inputs are of two programs", name, start, end))
	case end == start:
		return nil, inputError(fmt.Sprintf("the counter %q did not rise, it was %g at both ends of the window; is the program under load?", name, end))
	}
	grew := func(metric string) float64 {
		a, ok0 := e.Metrics[0].Get(metric)
		b, ok1 := e.Metrics[1].Get(metric)
		if !ok0 || !ok1 || b < a {
			return 0
		}
		return b - a
	}
	return &Work{Name: name, Count: end - start, Seconds: grew(perAt), CPUSeconds: grew(perCPU), AllocBytes: grew(perAllocBytes), AllocObjects: grew(perAllocObjects)}, nil
}

// noCounter is the error for a counter that no input has.
func (e *Evidence) noCounter() error {
	var kept []string
	for _, name := range slices.Sorted(maps.Keys(e.Metrics[1].Values)) {
		if counter, ok := strings.CutPrefix(name, perCounter); ok {
			kept = append(kept, counter)
		}
	}
	switch {
	case len(kept) > 0:
		return inputError(fmt.Sprintf("there is no counter %q; the inputs have %s", e.Per.Counter, quoted(kept, func(s string) string { return s })))
	case e.uncounted != nil:
		return e.uncounted
	}
	return inputError(fmt.Sprintf("no input has counters, such as %q; save the answer of /metrics or /debug/vars at the start and at the end of the CPU profile, and give both files, or give the number of operations", e.Per.Counter))
}
