package main

import (
	"bytes"
	"context"
	"fmt"
	"go/format"
	"go/parser"
	"go/token"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/benchmarks/foreign/load"
	"github.com/freehold-go/freehold/benchmarks/internal/proof"
	"github.com/freehold-go/freehold/cmd/doctor"
)

// Every driver is in the list, and every program of the list that needs one has one.
func TestFolders(t *testing.T) {
	var folders, names []string
	entries, err := os.ReadDir("programs")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		folders = append(folders, e.Name())
	}
	all := map[string]bool{}
	for _, p := range programs {
		if all[p.name] {
			t.Errorf("%s is in the list twice", p.name)
		}
		all[p.name] = true
		if p.kind != command {
			names = append(names, p.folder())
		}
		if (p.kind == command) != (p.command != nil) {
			t.Errorf("%s is a %s; only a command has the field command", p.name, p.kind)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names) // variants share a driver
	if !slices.Equal(folders, names) {
		t.Errorf("folders %v\nprograms %v", folders, names)
	}
}

// A driver is one formatted file, and requires its program at the exact version of the list.
func TestDrivers(t *testing.T) {
	for _, p := range programs {
		if p.kind == command {
			continue
		}
		dir := filepath.Join("programs", p.folder())
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, e := range entries {
			if e.Name() != "go.mod" && !strings.HasSuffix(e.Name(), ".go") {
				t.Errorf("%s has %s; a driver is go.mod and Go files", dir, e.Name())
			}
			if strings.HasSuffix(e.Name(), ".go") {
				parseFormatted(t, filepath.Join(dir, e.Name()))
			}
		}
		checkModule(t, p, filepath.Join(dir, "go.mod"))
	}
}

func parseFormatted(t *testing.T, path string) {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
		return
	}
	f, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ParseComments)
	if err != nil {
		t.Error(err)
		return
	}
	if f.Name.Name != "main" || f.Doc == nil && filepath.Base(path) == "main.go" {
		t.Errorf("%s: package %s; want main, with a comment on it", path, f.Name.Name)
	}
	if formatted, err := format.Source(text); err != nil || !bytes.Equal(formatted, text) {
		t.Errorf("%s is not formatted: %v", path, err)
	}
}

// exact is a version without a query or a range, as it stands in a require line.
var exact = regexp.MustCompile(`^\s*(?:require )?(\S+) (v\d+\.\d+\.\d+[^\s/]*)$`)

func checkModule(t *testing.T, p program, path string) {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
		return
	}
	const ours = "github.com/freehold-go/freehold/benchmarks/foreign/"
	for _, line := range []string{"module " + ours + "programs/" + p.folder(), "replace " + ours + "load => ../../load"} {
		if !strings.Contains(string(text), line+"\n") {
			t.Errorf("%s has no line %q", path, line)
		}
	}
	pinned := false
	for line := range strings.Lines(string(text)) {
		if m := exact.FindStringSubmatch(strings.TrimRight(line, "\n")); m != nil {
			pinned = pinned || m[1] == p.module && m[2] == p.version
		}
	}
	if !pinned {
		t.Errorf("%s does not require %s %s, as the list does", path, p.module, p.version)
	}
}

// Each entry has what the tables and the bars need, and its ids are pages of docs/findings.
func TestJudgements(t *testing.T) {
	for _, p := range programs {
		if p.module == "" || p.version == "" || p.does == "" || p.why == "" || len(p.right) == 0 {
			t.Errorf("%s: the list says too little: %+v", p.name, p)
		}
		ids := slices.Clone(p.right)
		for _, r := range p.harmful {
			ids = append(ids, r.id)
			if r.why == "" {
				t.Errorf("%s: no reason to reject %s", p.name, r.id)
			}
			if slices.Contains(p.right, r.id) && r.remedy == "" {
				t.Errorf("%s: %s is right and rejected", p.name, r.id)
			}
		}
		if c := p.applied; c != nil {
			ids = append(ids, c.finding)
			if c.what == "" {
				t.Errorf("%s: the change has no name", p.name)
			}
		}
		for _, id := range ids {
			if _, err := os.Stat(filepath.Join("..", "..", "docs", "findings", id+".md")); err != nil && id != settings && id != "none" {
				t.Errorf("%s: %v", p.name, err)
			}
		}
	}
}

// A sample of this repository stands for a program that needs no network.
func stand(t *testing.T) (*harness, program) {
	t.Helper()
	p := program{name: "stand-in", kind: command, command: &installed{
		path: func() (string, error) { return os.Executable() },
		args: func(dir string) []string { return []string{"-test.run=^$", "-test.v"} },
		profile: func(dir, profiles string) []string {
			return []string{"-test.run=^TestBars$", "-test.count=300", "-test.cpuprofile", filepath.Join(profiles, load.CPUFile), "-test.memprofile", filepath.Join(profiles, load.HeapEndFile)}
		},
		prepare: func(dir string) error { return os.WriteFile(filepath.Join(dir, "input"), nil, 0o666) },
		ops:     4,
	}, right: []string{settings}, settings: [][]string{{"GOGC=200"}}, applied: &change{what: "nothing", finding: "growing-map", env: []string{"GOGC=300"}}}
	return &harness{ctx: t.Context(), options: options{count: 1, keep: t.TempDir()}}, p
}

// A program is profiled, timed, and judged from what was kept.
func TestHarness(t *testing.T) {
	h, p := stand(t)
	if err := h.program(p); err != nil {
		t.Fatal(err)
	}
	h.add = true
	if err := h.program(p); err != nil {
		t.Fatal(err)
	}
	var k kept
	if err := proof.ReadJSON(filepath.Join(h.keep, p.name, runsFile), &k); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{formBase, "GOGC=200", formAfter} {
		if len(k.Forms[f]) != 2 || k.Forms[f][0].Ops != 4 || k.Forms[f][0].CPU <= 0 || k.Forms[f][0].Peak < 1<<20 {
			t.Errorf("%s: %+v; want two runs of 4 operations, one of them added", f, k.Forms[f])
		}
	}
	if _, err := judge(context.Background(), t.TempDir(), p); err == nil {
		t.Error("judged a program that was not run")
	}
	h, p = stand(t)
	p.command.args = func(string) []string { return []string{"-no-such-flag"} }
	if err := h.program(p); err == nil || !strings.Contains(err.Error(), "no-such-flag") {
		t.Errorf("a run that fails: %v", err)
	}
	if p.command.exits = []int{2}; h.program(p) != nil {
		t.Error("an exit code that the list expects is an error")
	}
}

// The lines are right by an id for a known program, and by line and setting for one of the examination.
func TestRightFirst(t *testing.T) {
	set := doctor.Report{Settings: []doctor.Setting{{GOGC: 200}, {GOGC: 400, Proposed: true}}}
	limit := doctor.Report{Settings: []doctor.Setting{{GOGC: -1, MemoryLimit: 1 << 30, Proposed: true}}}
	now := doctor.Advice{Finding: "gc-too-often"}
	code := doctor.Advice{Finding: "repeated-setup", Site: doctor.Site{File: "/src/main.go", Line: 72}}
	known := func(right ...string) program { return program{right: right} }
	at := func(a answer, now, line string) program {
		return program{answer: a, advice: advice{now: now, line: line}}
	}
	for i, c := range []struct {
		p    program
		r    *doctor.Report
		now  doctor.Advice
		code doctor.Advice
		want bool
	}{
		{known(settings), &set, now, code, true},
		{known(settings), &set, doctor.Advice{}, code, false},
		{known("repeated-setup"), &set, now, code, true},
		{known("growing-map"), &set, now, code, false},
		{known("not-gc", "growing-map"), &set, now, doctor.Advice{}, true},
		{at(winsCode, "", "main.go:71"), &set, now, code, true},
		{at(winsCode, "", "main.go:69"), &set, now, code, false},
		{at(winsCode, "", "other.go:72"), &set, now, code, false},
		{at(winsCode, "", "main.go:72"), &set, now, doctor.Advice{Site: code.Site}, false},
		{at(winsSetting, "GOGC=800", ""), &set, now, code, true},
		{at(winsSetting, "GOGC=1000", ""), &set, now, code, false},
		{at(winsSetting, "GOMEMLIMIT=1100MiB", ""), &limit, now, code, true},
		{at(winsSetting, "GOMEMLIMIT=700MiB", ""), &limit, now, code, false},
		{at(winsBoth, "GOGC=400", "main.go:72"), &set, now, code, true},
		{at(winsBoth, "GOGC=400", "main.go:172"), &set, now, code, false},
		{at(winsNothing, "", ""), &set, doctor.Advice{}, doctor.Advice{}, true},
		{at(winsNothing, "", ""), &set, now, doctor.Advice{}, false},
	} {
		o := &outcome{program: c.p, report: c.r, now: c.now, code: c.code}
		if got := o.rightFirst(); got != c.want {
			t.Errorf("%d: %v, want %v", i, got, c.want)
		}
	}
}

func TestRejected(t *testing.T) {
	v := &doctor.Report{Findings: []doctor.Finding{
		{ID: "growing-map"}, {ID: "short-lived-objects", Remedy: doctor.Remedy{Text: "Take them from an arena."}},
	}}
	for _, test := range []struct {
		r    rejection
		want int
	}{
		{rejection{id: "short-lived-objects"}, 1},
		{rejection{id: "short-lived-objects", remedy: "arena"}, 1},
		{rejection{id: "short-lived-objects", remedy: "pool"}, 0},
		{rejection{id: "large-stacks"}, 0},
	} {
		if got := rejected(v, program{harmful: []rejection{test.r}}); len(got) != test.want {
			t.Errorf("%+v: rejected %v", test.r, got)
		}
	}
}

// A rejection of settings is about a GOGC that is proposed without a memory limit.
func TestRejectedSettings(t *testing.T) {
	for _, test := range []struct {
		s    doctor.Setting
		want int
	}{
		{doctor.Setting{GOGC: 400, Proposed: true}, 1},
		{doctor.Setting{GOGC: 400}, 0},
		{doctor.Setting{MemoryLimit: 1 << 30, Proposed: true}, 0},
		{doctor.Setting{GOGC: -1, MemoryLimit: 1 << 30, Proposed: true}, 0},
	} {
		v := &doctor.Report{Settings: []doctor.Setting{{GOGC: 200}, test.s}}
		if got := rejected(v, program{harmful: []rejection{{id: settings}}}); len(got) != test.want {
			t.Errorf("%+v: rejected %v", test.s, got)
		}
	}
}

func TestRows(t *testing.T) {
	v := &doctor.Report{
		Settings: []doctor.Setting{
			{GOGC: 200, Gain: doctor.Gain{SameGOGC: 0.1, Error: 0.02}, MoreBytes: 5},
			{GOGC: -1, MemoryLimit: 3 << 29, Gain: doctor.Gain{SameGOGC: 0.2, Error: 0.02}},
		},
	}
	setting := func(env ...string) (r row) {
		r.predictSetting(v, []string{"GOMEMLIMIT=50MiB"}, env)
		return r
	}
	if r := setting("GOGC=200"); r.absent || r.predicted != 0.1 || r.interval != 0.02 || r.memory != 5 {
		t.Errorf("GOGC=200: %+v", r)
	}
	if r := setting("GOGC=off", "GOMEMLIMIT=1.5GiB"); r.absent || r.predicted != 0.2 {
		t.Errorf("a limit: %+v", r)
	}
	for _, env := range []string{"GOGC=400", "GOMEMLIMIT=100MiB"} {
		if r := setting(env); !r.absent || r.off() != 1 || r.rightSign() || r.within() {
			t.Errorf("%s is not in the report: %+v", env, r)
		}
	}
	// Half of the collections fall away if the room grows from 10 to 20 MiB, nine tenths at 100.
	v.Heap.Limited, v.Settings = true, []doctor.Setting{{Gain: doctor.Gain{SameGOGC: 0.2, Error: 0.02}, CyclesLeft: 0.5, MoreBytes: 10 << 20}}
	if r := setting("GOMEMLIMIT=140MiB"); r.absent || math.Abs(r.predicted-0.36) > 1e-9 || math.Abs(r.interval-0.036) > 1e-9 || r.memory != 90<<20 {
		t.Errorf("another limit than the report's: %+v", r)
	}
	code := doctor.Advice{Finding: "growing-map", Gain: doctor.Gain{SameGOGC: 0.3, SameMemory: 0.4, Error: 0.05}}
	var r row
	if r.predict(code, true); r.predicted != 0.4 || r.interval != 0.05 {
		t.Errorf("a change: %+v", r)
	}
	o := &outcome{program: program{applied: &change{finding: "growing-map"}}, code: code}
	if !o.aboutChange() {
		t.Error("the line is about the change")
	}
	if o.code.Finding = "large-stacks"; o.aboutChange() {
		t.Error("the line is about something else")
	}
}

func TestCompare(t *testing.T) {
	k := kept{Forms: map[string][]load.Result{
		formBase:   {{Ops: 10, CPU: 2, Peak: 100}, {Ops: 10, CPU: 4, Peak: 100}, {Ops: 10, CPU: 9, Peak: 100}, {Ops: 10, CPU: 2, Peak: 100}, {Ops: 10, CPU: 2, Peak: 100}},
		"GOGC=200": {{Ops: 20, CPU: 3, Peak: 150}, {Ops: 20, CPU: 6, Peak: 150}, {Ops: 20, CPU: 9, Peak: 150}, {Ops: 20, CPU: 3, Peak: 150}, {Ops: 20, CPU: 3, Peak: 150}},
	}}
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
	if r, ok := k.compare("GOGC=200"); !ok || !near(r.measured, 0.25) || !near(r.low, 0.25) || !near(r.high, 0.5) || r.rss != 150 || r.base != 100 || !r.certain() {
		t.Errorf("%+v", r)
	}
	k.Forms[formBase], k.Forms["GOGC=200"] = k.Forms[formBase][:1], k.Forms["GOGC=200"][:1]
	if r, ok := k.compare("GOGC=200"); !ok || !near(r.measured, 0.25) || r.low != r.measured || r.doubt() != 0 {
		t.Errorf("one round: %+v", r)
	}
	if _, ok := k.compare(formAfter); ok {
		t.Error("a form without runs was compared")
	}
}

func TestBars(t *testing.T) {
	good := row{program: "p", form: "GOGC=200", predicted: 0.21, interval: 0.02, measured: 0.2, low: 0.18, high: 0.22}
	right := func(rows ...row) *outcome {
		return &outcome{program: program{name: "p", right: []string{settings}}, now: doctor.Advice{Finding: "gc-too-often"}, report: &doctor.Report{}, rows: rows, changed: &good, kept: &kept{}}
	}
	with := func(change func(*outcome)) *outcome {
		o := right(good, good)
		change(o)
		return o
	}
	all := func(o *outcome) (met string) {
		for _, b := range bars([]*outcome{right(good), o}) {
			met += fmt.Sprint(b.Met)[:1]
		}
		return met
	}
	off := good
	off.predicted, off.interval = -0.3, 0.1
	for name, test := range map[string]struct {
		o    *outcome
		want string // first; harm; code: within, median; settings: within, median, sign
	}{
		"good":     {right(good, good), "ttttttt"},
		"first":    {with(func(o *outcome) { o.now, o.code = o.code, doctor.Advice{Finding: "growing-map"} }), "ftttttt"},
		"settings": {with(func(o *outcome) { o.rows = []row{off, off} }), "ttttfff"},
		"absent":   {with(func(o *outcome) { o.rows = []row{{absent: true, measured: 0.2, low: 0.1, high: 0.3}} }), "ttttfff"},
		"noise": {with(func(o *outcome) {
			o.rows = []row{{predicted: -0.005, measured: 0.004, interval: 0.01, low: -0.01, high: 0.02}}
		}), "ttttttt"},
		"applied": {with(func(o *outcome) { o.changed = &off }), "ttffttt"},
		"a word":  {with(func(o *outcome) { o.changed = &row{vague: true, predicted: 0.2, measured: 0.2, low: 0.2, high: 0.2} }), "ttftttt"},
		"a word for little": {with(func(o *outcome) {
			o.changed = &row{vague: true, predicted: 0.05, measured: 0.05, low: 0.04, high: 0.06}
		}), "ttttttt"},
		"wide": {with(func(o *outcome) { o.changed = &row{predicted: 0.2, interval: 0.15, measured: 0.2, low: 0.2, high: 0.2} }), "ttftttt"},
		"harm": {with(func(o *outcome) { o.harmful = []rejection{{id: "large-stacks"}} }), "tfttttt"},
		"again": {with(func(o *outcome) {
			o.again = &doctor.Report{First: []doctor.Advice{{Part: doctor.InCode, Site: doctor.Site{Line: 7}}}}
		}), "tttttttf"},
	} {
		if got := all(test.o); got != test.want {
			t.Errorf("%s: bars %s, want %s", name, got, test.want)
		}
	}
	var screen bytes.Buffer
	report := &doctor.Report{Verdict: "It is I/O."}
	if err := screens(&screen, []*outcome{{program: program{name: "seen"}, report: report}, {program: program{name: "new", unseen: true}, report: report}}); err != nil {
		t.Fatal(err)
	}
	if s := screen.String(); strings.Contains(s, "seen") || !strings.Contains(s, "on new<") || strings.Count(s, "It is I/O.") != 1 {
		t.Errorf("screens:\n%s", s)
	}
	var text bytes.Buffer
	tables(&text, []*outcome{with(func(o *outcome) { o.applied = &change{what: "a hint", finding: "growing-map"} })}, nil)
	if !strings.Contains(text.String(), "| p | GOGC=200 | 21 ± 2 % | 20 ± 2 % | 5.0 % |") {
		t.Errorf("tables:\n%s", &text)
	}
}
