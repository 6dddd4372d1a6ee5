// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/freehold-go/freehold/cmd/internal/profiletest"
)

// counted is a profile of counts, as profilers by eBPF write it.
func counted(period int64) *profile.Profile {
	f := profiletest.Program()
	p := f.CPU
	p.SampleType = p.SampleType[:1]
	p.Period = period
	if period == 0 {
		p.PeriodType = nil
	}
	kernel := &profile.Mapping{ID: 1, File: "[kernel.kallsyms]"}
	in := &profile.Location{ID: 99, Mapping: kernel, Line: []profile.Line{{Function: &profile.Function{ID: 99, Name: "clear_page_erms"}}}}
	p.Mapping, p.Location, p.Function = append(p.Mapping, kernel), append(p.Location, in), append(p.Function, in.Line[0].Function)
	for _, s := range p.Sample {
		s.Value = s.Value[:1]
	}
	p.Sample[1].Location = append([]*profile.Location{in}, p.Sample[1].Location...)
	return p
}

// Counts become CPU time by the profile's period, or by an assumed one, which is said.
func TestReadCounts(t *testing.T) {
	for period, want := range map[int64]int64{52_631_578: 1000 * 52_631_578, 0: 1000 * 10e6} {
		var e Evidence
		if err := e.Read("FILE", bytes.NewReader(profiletest.Written(t, counted(period), true))); err != nil {
			t.Fatal(err)
		}
		if got := profiletest.Sums(e.CPU); got[0] != 1000 || got[1] != want {
			t.Errorf("period %d: sums %v, want 1000 samples and %d ns", period, got, want)
		}
		if text := fmt.Sprint(e.Problems()); e.PeriodAssumed != (period == 0) || strings.Contains(text, "100 a second are assumed") != (period == 0) {
			t.Errorf("period %d: assumed %v, %s", period, e.PeriodAssumed, text)
		}
		for _, s := range e.CPU.Sample {
			if name := s.Location[0].Line[0].Function.Name; name == "clear_page_erms" {
				t.Error("a function of the kernel stands at the leaf")
			}
		}
	}
}
