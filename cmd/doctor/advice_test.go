// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"strings"
	"testing"

	"github.com/freehold-go/freehold/cmd/evidence"
)

// TestAdvice wants both lines in each report, the one that saves more on top.
func TestAdvice(t *testing.T) {
	code := func(ns float64) Finding {
		return Finding{ID: "growing-slice", Severity: SeverityHigh, Gain: Gain{SameGOGC: ns, Error: ns / 4}, own: ns, CPUShare: ns, Owner: Site{"example.com/a.F", "/src/a/f.go", 7},
			Remedy: Remedy{Text: "Give the slice its size. Or not.", Snippet: "- a\n+ b"}}
	}
	setting := func(ns float64) Finding {
		return Finding{ID: tooOftenID, Severity: SeverityHigh, Gain: Gain{SameGOGC: ns, Error: ns / 4}, own: ns, setting: true, Remedy: Remedy{Text: "Set GOGC=400. Or gctune."}}
	}
	rows := []Setting{{GOGC: 200, Gain: Gain{SameGOGC: 0.12, Error: 0.03}, MoreBytes: 1 << 30}, {GOGC: 400, Gain: Gain{SameGOGC: 0.2, Error: 0.05}, MoreBytes: 40 << 20, Proposed: true}}
	const hash = "No change of memory saves CPU: the CPU goes into the program's own work, 100 % of it into main.hash. Look at that: go tool pprof -top, or -list FUNCTION."
	for name, c := range map[string]struct {
		findings []Finding
		settings []Setting
		want     [2]string
	}{
		"code wins more": {[]Finding{code(0.3), setting(0.2)}, rows, [2]string{
			"f.go:7 a.F takes 30 % of CPU. Give the slice its size. Saves 30 ± 8 % of CPU.", "Set GOGC=400. Saves 20 ± 5 % of CPU for 40.0 MiB more memory."}},
		"a setting wins more": {[]Finding{code(0.1), setting(0.2)}, rows, [2]string{
			"Set GOGC=400. Saves 20 ± 5 % of CPU for 40.0 MiB more memory.", "f.go:7 a.F takes 10 % of CPU. Give the slice its size. Saves 10 ± 2 % of CPU."}},
		"a mistake comes before a better value": {[]Finding{setting(0.2), {ID: "limit-thrash", Gain: Gain{SameGOGC: 0.15}, own: 0.15, setting: true, Remedy: Remedy{Text: "Raise the limit."}}}, rows, [2]string{
			"Raise the limit. Saves 15 % of CPU for 40.0 MiB more memory.", hash}},
		"a dear setting": {nil, rows[:1], [2]string{"No setting is worth its memory: GOGC=200 saves 12 ± 3 % of CPU for 1.00 GiB more memory.", hash}},
		"nothing":        {[]Finding{{ID: "not-gc", Severity: SeverityInfo}}, nil, [2]string{"No setting saves more than noise.", hash}},
	} {
		f := newFake()
		f.Ran("main.hash;main.main", 1000)
		got := newAccount(f.evidence()).advise(&Report{Findings: c.findings, Settings: c.settings, Confidence: Medium})
		if len(got) != 2 || got[0].Text != c.want[0] || got[1].Text != c.want[1] {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := newAccount(&evidence.Evidence{}).advise(&Report{Confidence: None}); len(got) != 0 {
		t.Errorf("without CPU times: %+v", got)
	}
}

// TestAdviceVague wants a word in place of figures that say nothing.
func TestAdviceVague(t *testing.T) {
	for _, c := range []struct {
		gain Gain
		want string
	}{
		{Gain{SameGOGC: 0.27, Error: 0.27}, "Saves a good part of the CPU"},
		{Gain{SameGOGC: 0.4, Error: 0.5}, "Saves much of the CPU"},
		{Gain{SameGOGC: 0.82, Error: 0.3}.feasible(), "Saves 76 ± 24 % of CPU"},
		{Gain{SameGOGC: 0.05, Error: 0.06}, "Saves little"},
		{Gain{SameGOGC: 0.3, SameMemory: 0.35, Error: 0.1}, "Saves 35 ± 10 % of CPU"},
	} {
		var v Advice
		v.take(&Finding{Gain: c.gain})
		if got := v.saves(); got != c.want || v.Vague == strings.Contains(got, "%") {
			t.Errorf("%+v: %q, want %q", c.gain, got, c.want)
		}
	}
}

// TestAdviceTinyHeap wants a sentence on a tiny heap that is collected all the time.
func TestAdviceTinyHeap(t *testing.T) {
	f := newFake()
	f.Ran("main.use;main.main", 600)
	f.Collector(400, 0)
	e := with(f.evidence(), map[string]float64{evidence.MetricGOGC: 100, evidence.MetricLiveHeap: 1 << 20, evidence.MetricHeapGoal: 4 << 20, evidence.MetricCyclesTotal: 3000})
	if v := Diagnose(t.Context(), e).First[0]; !strings.HasPrefix(v.Text, "Only 1.00 MiB are alive, so the heap is collected 300 times a second. Set GOGC=") || !strings.Contains(v.Try, "+ GOGC=") {
		t.Errorf("%+v", v)
	}
}
