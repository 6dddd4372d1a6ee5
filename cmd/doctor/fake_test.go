// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"github.com/google/pprof/profile"

	"github.com/freehold-go/freehold/cmd/evidence"
	"github.com/freehold-go/freehold/cmd/internal/profiletest"
)

// A fake makes evidence of stacks that are written down.
type fake struct{ *profiletest.Fake }

func newFake() *fake { return &fake{profiletest.NewFake()} }

// evidence returns the added samples as evidence of a window of ten seconds that begins with an
// empty heap profile.
func (f *fake) evidence() *evidence.Evidence {
	before := &profile.Profile{SampleType: f.Heap.SampleType, PeriodType: f.Heap.PeriodType, Period: f.Heap.Period, TimeNanos: 1}
	f.Heap.TimeNanos = 10e9 + 1
	return &evidence.Evidence{Source: "a fake", CPU: f.CPU, Heap: [2]*profile.Profile{before, f.Heap}}
}

// with adds values of the runtime to an evidence of a program that began with the window.
func with(e *evidence.Evidence, values map[string]float64) *evidence.Evidence {
	e.Metrics[1].Set(evidence.MetricUptime, 10)
	for name, v := range values {
		e.Metrics[1].Set(name, v)
	}
	return e
}
