package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/benchmarks/internal/proof"
	"github.com/freehold-go/freehold/cmd/sweep"
)

// sweptRow is a row with a ratio of the CPU time, its interval, and an exact ratio of the memory.
func sweptRow(gogc string, cpu, error, rss float64) sweep.Row {
	return sweep.Row{Setting: sweep.Setting{GOGC: gogc}, CPURatio: sweep.Ratio{Ratio: cpu, Low: cpu - error, High: cpu + error}, RSSRatio: sweep.Ratio{Ratio: rss, Low: rss, High: rss}}
}

func sweptReport(knee int, rows ...sweep.Row) *sweep.Report {
	return &sweep.Report{Baseline: sweep.Setting{GOGC: "100"}, Knee: knee, Rows: rows}
}

func TestSweepOutcome(t *testing.T) {
	usual := func(knee int) *sweep.Report {
		return sweptReport(knee, sweptRow("100", 1, 0, 1), sweptRow("200", 0.9, 0.02, 1.5), sweptRow("400", 0.85, 0.02, 2), sweptRow("800", 0.84, 0.02, 4))
	}
	truth := sweptReport(1, sweptRow("100", 1, 0, 1), sweptRow("200", 0.87, 0.01, 1.5004), sweptRow("400", 0.86, 0.01, 2.1), sweptRow("800", 0.75, 0.01, 4))
	for knee, want := range map[int]bool{0: false, 1: true, 2: true, 3: false, -1: false} {
		if o := (&sweepOutcome{usual: usual(knee), truth: truth}); o.right() != want {
			t.Errorf("knee %d: %v, want %v", knee, !want, want)
		}
	}
	// Of the CPU times that of GOGC=400 is inside, of the memory that of 200, in three digits, and that of 800.
	if in, all := (&sweepOutcome{usual: usual(1), truth: truth}).cells(); in != 3 || all != 6 {
		t.Errorf("%d of %d cells", in, all)
	}
	for verdict, want := range map[string]bool{"the setting does not take: …": true, "GOGC=100 is the knee": false} {
		if o := (&sweepOutcome{stuck: true, usual: &sweep.Report{Knee: -1, Verdict: verdict}}); o.right() != want {
			t.Errorf("%q: %v", verdict, !want)
		}
	}
	text, bars := sweepTables([]*sweepOutcome{{name: "good", usual: usual(1), truth: truth}, {name: "bad", usual: usual(3), truth: truth}})
	if len(bars) != 2 || bars[0].Met || bars[1].Met || !strings.Contains(text, "1 of 2; not bad") || !strings.Contains(text, "| good | GOGC=200 | – | GOGC=200 | 87 %, 150 % | 3 of 6 |") {
		t.Errorf("%+v\n%s", bars, text)
	}
	between := usual(2)
	between.Rows[2].Dominated, between.Knee = true, 3
	if o := (&sweepOutcome{usual: between, truth: sweptReport(1, truth.Rows[0], sweptRow("200", 0.87, 0.2, 1.5), truth.Rows[2], truth.Rows[3])}); !o.right() {
		t.Error("neighbours beside a dominated row are none")
	}
}

// A program of the list is swept in its input's folder, with its exit codes, and what is kept is not swept again.
func TestSweepProgram(t *testing.T) {
	h, p := stand(t)
	// The test binary stands for a program that needs a file of its folder, and fails although all is well.
	p.command.args = func(string) []string { return []string{"-test.run=^TestSweptActs$"} }
	p.command.exits = []int{1}
	p.env = []string{actsVariable + "=1"}
	two := sweep.Options{Rounds: 6, Settings: []sweep.Setting{{GOGC: "100"}, {GOGC: "400"}}}
	r, err := h.sweep(p, nil, sweepFile, two)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Rows) != 2 || r.Rounds != 6 || r.Rows[0].CPU <= 0 {
		t.Errorf("%+v", r)
	}
	p.command.exits = nil
	if again, err := h.sweep(p, nil, sweepFile, two); err != nil || again.Rows[0].CPU != r.Rows[0].CPU {
		t.Errorf("the report that is kept: %v, %+v", err, again)
	}
	if _, err := h.sweep(p, nil, truthFile, two); err == nil || !strings.Contains(err.Error(), "exit status 1") {
		t.Errorf("a code that the list does not have: %v", err)
	}
	o := sweepOutcome{usual: r}
	if s := o.settings(); len(s) != 2 || s[0].GOGC != "100" || s[1].GOGC != "400" {
		t.Errorf("settings %v", s)
	}
	if data, err := os.ReadFile(filepath.Join(h.dir(p), sweepFile)); err != nil || !json.Valid(data) {
		t.Errorf("what is kept: %v, %s", err, data)
	}
	if err := proof.ReadJSON(filepath.Join(h.dir(p), truthFile), r); err == nil {
		t.Error("a sweep that failed is kept")
	}
}

const actsVariable = "FOREIGN_TEST_ACTS"

func TestSweptActs(t *testing.T) {
	if os.Getenv(actsVariable) == "" {
		t.Skip("it is a part of TestSweepProgram")
	}
	if _, err := os.Stat("input"); err != nil {
		os.Exit(3)
	}
	os.Exit(1)
}

// Each program that is swept is in the lists.
func TestSwept(t *testing.T) {
	for _, s := range swept {
		if !slices.ContainsFunc(programs, func(p program) bool { return p.name == s.program }) {
			t.Errorf("there is no program %s", s.program)
		}
	}
}
