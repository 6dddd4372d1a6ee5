package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/benchmarks/internal/proof"
	"github.com/freehold-go/freehold/benchmarks/samples/load"
	"github.com/freehold-go/freehold/cmd/doctor"
)

// Every sample is in the table, and every program of the table is a sample.
func TestPrograms(t *testing.T) {
	var folders, names []string
	entries, err := os.ReadDir("../samples")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "load" && e.Name() != "layers" {
			folders = append(folders, e.Name())
		}
	}
	findings, real, elsewhere := 0, 0, 0
	for _, p := range programs {
		names = append(names, p.name)
		switch {
		case p.finding == "":
			elsewhere++
		case p.module != "":
			real++
			findings++
		default:
			findings++
		}
	}
	slices.Sort(names)
	if !slices.Equal(folders, names) {
		t.Errorf("samples %v\nprograms %v", folders, names)
	}
	if findings < 16 || 2*real < findings || elsewhere < 6 {
		t.Errorf("%d programs with a finding, %d of them on other people's modules, %d whose cost is elsewhere; want 16, half, 6", findings, real, elsewhere)
	}
}

// TestMeasure builds, profiles and times a program in both forms, and judges it from the files that
// were kept.
func TestMeasure(t *testing.T) {
	keep := t.TempDir()
	o := options{run: regexp.MustCompile("^trees$"), count: 1, ops: 500, scale: 1, keep: keep}
	h := &harness{options: o, ctx: t.Context(), bin: t.TempDir()}
	buildOne(t, h.bin, "trees")
	if err := h.measure(selected(o.run)[0]); err != nil {
		t.Fatal(err)
	}
	h.add = true
	if err := h.measure(selected(o.run)[0]); err != nil {
		t.Fatal(err)
	}
	out, err := judge(t.Context(), filepath.Join(keep, "trees"), selected(o.run)[0], load.Files)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(out.runs.Before); n != 2 || len(out.runs.After) != n {
		t.Errorf("%d runs before and %d after; want two pairs, one of them added", n, len(out.runs.After))
	}
	if out.measured() <= 0 || out.measured() >= 1 {
		t.Errorf("the arena wins %v of the CPU time; want a gain", out.measured())
	}
	if _, err := judge(t.Context(), filepath.Join(keep, "buffers"), programs[0], load.Files); err == nil {
		t.Error("judged a program that was not run")
	}
}

func TestBars(t *testing.T) {
	right := func(name string) *outcome {
		return &outcome{program: program{name: name, finding: "growing-map"}, first: "growing-map", found: true,
			gain: doctor.Gain{SameGOGC: 0.22}, runs: runs{Before: []float64{1, 1, 9}, After: []float64{0.8, 0.8, 0}}}
	}
	met := func(outcomes ...*outcome) (all []bool) {
		for _, b := range bars(outcomes) {
			all = append(all, b.Met)
		}
		return all
	}
	other := right("other") // finds something else, and does so after the change
	other.first, other.found, other.others = "large-buffers", false, []string{"growing-map"}
	loss := right("loss") // predicts a loss where there is a gain
	loss.gain.SameGOGC = -0.3
	quiet := &outcome{program: program{name: "quiet"}}
	loud := &outcome{program: program{name: "loud"}, others: []string{"recycled-type"}}
	for _, test := range []struct {
		outcomes []*outcome
		want     []bool
	}{
		{[]*outcome{right("a"), right("b"), quiet}, []bool{true, true, true, true}},
		{[]*outcome{right("a"), right("b"), other}, []bool{true, false, true, false}},
		{[]*outcome{right("a"), other, other}, []bool{false, false, false, false}},
		{[]*outcome{right("a"), right("b"), loss}, []bool{true, false, true, true}},
		{[]*outcome{right("a"), loss, loss}, []bool{true, false, false, true}},
		{[]*outcome{right("a"), loud}, []bool{true, true, true, false}},
		{[]*outcome{quiet}, []bool{true}},
	} {
		if got := met(test.outcomes...); !slices.Equal(got, test.want) {
			t.Errorf("%v: bars met %v, want %v", names(test.outcomes), got, test.want)
		}
	}
}

func names(outcomes []*outcome) (all []string) {
	for _, o := range outcomes {
		all = append(all, o.name)
	}
	return all
}

func TestProposed(t *testing.T) {
	p := program{finding: "gc-too-often"}
	r := &doctor.Report{Findings: []doctor.Finding{
		{ID: "limit-thrash", Evidence: map[string]any{"proposed_limit_bytes": 1e6}},
		{ID: "gc-too-often", Evidence: map[string]any{"proposed_gogc_percent": 150.0}},
	}}
	if got := proposed(r, p); !slices.Equal(got, []string{"GOGC=150"}) {
		t.Errorf("proposed %v", got)
	}
	if got := proposed(r, program{finding: "recycled-type"}); got != nil {
		t.Errorf("proposed %v for another finding", got)
	}
}

func TestInsert(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(path, []byte("head\n"+pageMarks.Begin+"old\n"+pageMarks.End+"tail\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	tables(&text, []*outcome{{program: program{name: "quiet"}, verdict: "It is I/O."}}, []proof.Bar{proof.NewBar("silent", "1 of 1", true)})
	for range 2 { // a second time it replaces what the first wrote
		if err := pageMarks.Insert(path, text.String()); err != nil {
			t.Fatal(err)
		}
	}
	page, _ := os.ReadFile(path)
	if s := string(page); !strings.HasPrefix(s, "head\n") || !strings.HasSuffix(s, "tail\n") || strings.Contains(s, "old") ||
		strings.Count(s, "It is I/O.") != 1 {
		t.Errorf("page:\n%s", s)
	}
	if err := os.WriteFile(path, []byte("no marks"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := pageMarks.Insert(path, text.String()); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("a page without marks: %v", err)
	}
}

func buildOne(t *testing.T, bin, name string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(bin, name), "../samples/"+name)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
