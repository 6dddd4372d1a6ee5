// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/cmd/doctor"
	"github.com/freehold-go/freehold/cmd/internal/golden"
)

// expectError runs a comparison that must end with one clear line.
func expectError(t *testing.T, o Options, want string) {
	t.Helper()
	r, err := Run(t.Context(), o)
	if err == nil {
		t.Errorf("%+v: no error, but %+v", o, r)
		return
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	if !strings.HasPrefix(first, "compare: ") || !strings.Contains(first, want) {
		t.Errorf("error is %q, want one with %q", err, want)
	}
}

// pairsOf makes n pairs, B ratio times A, spread evenly over ± noise.
func pairsOf(name string, n int, a, ratio, noise float64) [][2]sample {
	var pairs [][2]sample
	for i := range n {
		e := 0.0
		if n > 1 {
			e = noise * (2*float64(i)/float64(n-1) - 1)
		}
		pairs = append(pairs, [2]sample{{name: a}, {name: a * ratio * math.Exp(e)}})
	}
	return pairs
}

func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		pairs [][2]sample
		ended string
		want  string
	}{
		{pairsOf(MeasureCPU, 10, 1, 0.8, 0.01), endTight, "B takes 20 % less CPU time than A (0.800 ×, 95 % interval 0.796 to 0.804, 10 pairs)"},
		{pairsOf(MeasureCPU, 10, 1, 2, 0.01), endTight, "B takes 100 % more CPU time than A (2.000 ×, 95 % interval 1.989 to 2.011, 10 pairs)"},
		{pairsOf(MeasureCPU, 8, 1, 1, 0.2), endBudget, "no difference shown: B takes 1.000 × the CPU time of A (1.000 ×, 95 % interval 0.867 to 1.154, 8 pairs); " +
			"the interval is ±15 %, wider than ±2.0 %: -budget ended the runs"},
		{pairsOf(MeasureCPU, 3, 1, 2, 0), endCount, "B takes 2.000 × the CPU time of A in 3 pairs, too few for an interval"},
		{pairsOf(MeasureCPU, 1, 1, 2, 0), endBudget, "B takes 2.000 × the CPU time of A in 1 pair, too few for an interval"},
		{pairsOf(MeasureWall, 8, 1, 1.5, 0), endTight, "B takes 50 % more time than A (1.500 ×, 95 % interval 1.500 to 1.500, 8 pairs)"},
		{pairsOf(MeasureCPU, 8, 0, 1, 0), endCount, "nothing to compare: a side took no CPU time that could be measured"},
		{nil, endBudget, "not measured: there was no time left; raise -budget, or select less with -bench"},
		{nil, endInterrupted, "interrupted before a pair was measured"},
	} {
		k := contest{per: "process", plain: c.pairs, ended: c.ended}
		r := newReport(options(0, 0, 0), []*contest{&k}, nil, nil, c.ended == endInterrupted)
		if r.Verdict != c.want {
			t.Errorf("verdict is\n%s\nwant\n%s", r.Verdict, c.want)
		}
	}
}

// TestSeveral checks the summary of several benchmarks: faster, slower, no difference, too short.
func TestSeveral(t *testing.T) {
	var contests []*contest
	for _, pairs := range [][][2]sample{
		pairsOf(MeasureCPU, 8, 1, 2, 0), pairsOf(MeasureCPU, 8, 1, 0.5, 0), pairsOf(MeasureCPU, 8, 1, 0.6, 0), pairsOf(MeasureCPU, 8, 1, 1, 0.1),
		pairsOf(MeasureCPU, 5, 1, 3, 0), nil,
	} {
		contests = append(contests, &contest{per: "op", plain: pairs, ended: endBudget})
	}
	const want = "of 6 benchmarks B takes less in 2, more in 1, and shows no difference in 1; for 2 the time was too short"
	if got := newReport(options(0, 0, 0), contests, nil, nil, false).Verdict; got != want {
		t.Errorf("verdict is %q", got)
	}
}

func TestSlower(t *testing.T) {
	for _, c := range []struct {
		ratio, noise, share float64
		want                bool
	}{{1.1, 0.01, 0.05, true}, {1.1, 0.01, 0.2, false}, {1.1, 0.3, 0.05, false}, {0.9, 0.01, 0, false}} {
		k := contest{per: "process", plain: pairsOf(MeasureCPU, 10, 1, c.ratio, c.noise)}
		if got := newReport(options(0, 0, 0), []*contest{&k}, nil, nil, false).Slower(c.share); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestNoNumbers gives values that are no numbers, which JSON cannot hold: they do not count, and
// everything else does.
func TestNoNumbers(t *testing.T) {
	k := contest{per: "op", plain: pairsOf(MeasureCPU, 8, 1, 2, 0)}
	for i, pair := range k.plain {
		pair[0]["hits"], pair[1]["hits"] = math.NaN(), math.NaN()
		pair[0]["rate"], pair[1]["rate"] = 3, []float64{6, math.Inf(1), math.Inf(-1), math.NaN()}[i%4]
		pair[0]["far"], pair[1]["far"] = 1e-300, 1e300
	}
	r := newReport(options(0, 0, 0), []*contest{&k}, nil, nil, false)
	var out bytes.Buffer
	if err := r.WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	c := &r.Comparisons[0]
	if m := c.Measure(MeasureCPU); m == nil || len(m.BValues) != 8 || *m.Ratio != 2 || c.Measure("hits") != nil {
		t.Errorf("%+v", c)
	}
	if m := c.Measure("rate"); m == nil || len(m.AValues) != 2 || len(m.BValues) != 2 || m.B != 6 {
		t.Errorf("the rate of two pairs: %+v", m)
	}
	if m := c.Measure("far"); m == nil || m.Ratio != nil {
		t.Errorf("1e600 is no ratio that a float holds: %+v", m)
	}
}

// TestCrossed: where the medians and the ratio of the pairs point different ways, the table says
// how that can be, once.
func TestCrossed(t *testing.T) {
	k := contest{per: "process"}
	for range 5 {
		k.plain = append(k.plain, [2]sample{{MeasureCPU: 1, MeasureWall: 1}, {MeasureCPU: 1, MeasureWall: 1}})
	}
	r := newReport(options(0, 0, 0), []*contest{&k}, nil, nil, false)
	m := r.Comparisons[0].Measure(MeasureCPU)
	m.A, m.B = 4, 5
	for ratio, want := range map[float64]int{0.9: 1, 1.1: 0} {
		m.Ratio = &ratio
		var out bytes.Buffer
		if err := r.WriteText(&out, false, 200); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(out.String(), "A and B are medians over the runs"); got != want {
			t.Errorf("ratio %v: said %d times, want %d:\n%s", ratio, got, want, out.String())
		}
	}
}

// goldenReport has all that a table can show.
func goldenReport() *Report {
	one := &contest{name: "BenchmarkOne", per: "op", traces: true, ops: 1200, ended: endTight, notes: []string{"a note"}}
	for i := range 8 {
		e := 1 + 0.01*float64(i%3)
		one.plain = append(one.plain, [2]sample{
			{MeasureCPU: 2e-3 * e, MeasureWall: 1e-3 * e, MeasurePeakRSS: 64 << 20, MeasureAllocs: 100, MeasureAllocBytes: 4096, "req/s": 1000 * e},
			{MeasureCPU: 1e-3, MeasureWall: 1e-3, MeasurePeakRSS: 32 << 20, MeasureAllocs: 0, MeasureAllocBytes: 0, "req/s": 2000},
		})
	}
	for range 6 {
		one.traced = append(one.traced, [2]sample{
			{MeasureGCCPU: 4e-4, MeasureGCCycles: 0.002, MeasurePauseP50: 2e-5, MeasurePauseP99: 3e-4, MeasurePauseMax: 1e-3, MeasurePausesRate: 120, MeasurePausedTime: 0.01},
			{MeasureGCCPU: 0, MeasureGCCycles: 0, MeasurePausesRate: 0, MeasurePausedTime: 0},
		})
	}
	two := &contest{name: "BenchmarkTwo", per: "op", ops: 7, ended: endBudget, plain: pairsOf(MeasureCPU, 8, 0.5, 1.1, 0.2)}
	o := options(0, 0, 0)
	o.Bench, o.A, o.B = ".", "./old", "./new"
	finding := &chosen{doctor.Finding{ID: "short-lived-objects", Title: "Many small objects die young", Gain: doctor.Gain{SameGOGC: 0.48, SameMemory: 0.6, Error: 0.05}}}
	r := newReport(o, []*contest{one, two}, []string{"only A has BenchmarkThree"}, finding, true)
	r.Environment = "linux/amd64 · 2 CPUs · GOMAXPROCS=2"
	return r
}

func TestGolden(t *testing.T) {
	r := goldenReport()
	var table, object bytes.Buffer
	if err := r.WriteText(&table, false, 110); err != nil {
		t.Fatal(err)
	}
	if err := r.WriteJSON(&object); err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string][]byte{"report.txt": table.Bytes(), "report.json": object.Bytes()} {
		golden.Check(t, name, got)
	}
	var back Report
	if err := json.Unmarshal(object.Bytes(), &back); err != nil || back.Comparisons[0].Measures[0].Name != MeasureCPU {
		t.Errorf("the JSON is read back as %+v, %v", back, err)
	}
}

func TestColours(t *testing.T) {
	var plain, coloured bytes.Buffer
	for out, colours := range map[*bytes.Buffer]bool{&plain: false, &coloured: true} {
		if err := goldenReport().WriteText(out, colours, 110); err != nil {
			t.Fatal(err)
		}
	}
	if strings.Contains(plain.String(), "\x1b[") || !strings.Contains(coloured.String(), "\x1b[") {
		t.Errorf("colours are not as asked for:\n%q\n%q", plain.String(), coloured.String())
	}
}

func TestWriteFails(t *testing.T) {
	f, err := os.Open(os.DevNull) // for reading
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, err := range []error{goldenReport().WriteText(f, false, 110), goldenReport().WriteJSON(f)} {
		if err == nil || !strings.HasPrefix(err.Error(), "compare: write ") {
			t.Errorf("error is %v", err)
		}
	}
}

func TestPrediction(t *testing.T) {
	report := `{"version":1,"verdict":"v","findings":[{"id":"first","title":"t","gain":{"same_gogc":0.2,"same_memory":0.3,"error":0.03}},
		{"id":"second","gain":{"same_gogc":-0.1,"same_memory":0,"error":0.01}}]}`
	d, err := ReadDoctorReport("r.json", strings.NewReader(report))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		finding        string
		ratio          float64
		gogc, sameSize bool
	}{{"", 0.8, true, false}, {"first", 0.7, false, true}, {"first", 1.2, false, false}, {"second", 1.1, true, false}, {"second", 1, false, true}} {
		o := options(0, 0, 0)
		o.Doctor, o.Finding = d, c.finding
		f, err := o.chooseFinding()
		if err != nil {
			t.Fatal(err)
		}
		k := contest{per: "process", plain: pairsOf(MeasureCPU, 10, 1, c.ratio, 0.01)}
		p := newReport(o, []*contest{&k}, nil, f, false).Comparisons[0].Prediction
		if p.AgreesSameGOGC != c.gogc || p.AgreesSameMemory != c.sameSize || math.Abs(*p.Measured-(1-c.ratio)) > 1e-9 || !(*p.Low < *p.Measured && *p.Measured < *p.High) {
			t.Errorf("%+v: %+v", c, p)
		}
	}
	// An interval from -1 to 49 % agrees with nothing, and the RSS decides which prediction applies.
	for _, c := range []struct {
		low, high, rss   float64
		gogc, sameMemory bool
		applies          string
	}{
		{0.51, 1.01, 0, false, false, ""},
		{0.77, 0.83, 0, true, false, ""},
		{0.74, 0.78, 2.2, true, false, AppliesSameGOGC},
		{0.74, 0.78, 1.14, false, true, AppliesSameMemory},
		{0.74, 0.78, 0.84, true, false, AppliesSameGOGC},
	} {
		ratio := (c.low + c.high) / 2
		k := &Comparison{Measures: []Measure{{Name: MeasureCPU, Ratio: &ratio, Low: &c.low, High: &c.high}}}
		if c.rss > 0 {
			k.Measures = append(k.Measures, Measure{Name: MeasurePeakRSS, Ratio: &c.rss})
		}
		f := &chosen{doctor.Finding{Gain: doctor.Gain{SameGOGC: 0.21, SameMemory: 0.27, Error: 0.01}}}
		if c.rss > 0 {
			f.Gain.SameGOGC, f.Gain.SameMemory = 0.23, 0.25
		}
		if p := f.against(k); p.AgreesSameGOGC != c.gogc || p.AgreesSameMemory != c.sameMemory || p.Applies != c.applies || p.Decided != (c.high-c.low < 0.2) {
			t.Errorf("%+v: %+v", c, p)
		}
	}
	idle := doctor.Finding{ID: "idle"}
	o := &Options{Doctor: &doctor.Report{Findings: []doctor.Finding{idle, {ID: "memory", Gain: doctor.Gain{SameMemory: 0.1}}}}}
	if f, err := o.chooseFinding(); err != nil || f.ID != "memory" {
		t.Errorf("a finding that promises nothing is taken: %+v, %v", f, err)
	}
	o.Finding = "idle"
	if f, err := o.chooseFinding(); err != nil || f.ID != "idle" {
		t.Errorf("the one that is named: %+v, %v", f, err)
	}
	expectError(t, Options{A: "a", B: "b", Doctor: &doctor.Report{Findings: []doctor.Finding{idle}}},
		"no finding of the report has a gain or a loss; name one with -finding: idle")
	expectError(t, Options{A: "a", B: "b", Doctor: d, Finding: "third"}, `no finding "third"; it has first, second`)
	expectError(t, Options{A: "a", B: "b", Doctor: &doctor.Report{Verdict: "all is well"}}, `no findings to compare with the measurement: "all is well"`)
	for text, want := range map[string]string{
		"":                 "r.json is no report in JSON",
		"{":                "r.json is no report in JSON",
		"{}":               "is no doctor's report of version 1",
		`{"version": 999}`: "is no doctor's report of version 1",
	} {
		if _, err := ReadDoctorReport("r.json", strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
