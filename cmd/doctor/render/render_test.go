// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/pprof/profile"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/freehold-go/freehold/cmd/doctor"
	"github.com/freehold-go/freehold/cmd/doctor/stack"
	"github.com/freehold-go/freehold/cmd/internal/golden"
	"github.com/freehold-go/freehold/cmd/terminal"
)

// sample is a report in which every field says something.
func sample() *doctor.Report {
	return &doctor.Report{
		Version: doctor.ReportVersion, Source: "http://localhost:6060", Verdict: "Collection and allocation take 31 % of CPU; at most 19 % can be won back; two sites cause 84 % of that cost",
		GCShare: 0.2, AllocShare: 0.11, WinnableShare: 0.19, Confidence: doctor.Medium,
		Missing: []doctor.Missing{{What: "heap profiles", Why: "which bytes the collector scans.", How: "Add http://localhost:6060/debug/pprof/heap."}},
		Classes: []doctor.ClassShare{{Name: "program", Share: 0.69}, {Name: "allocation", Share: 0.11}, {Name: "mark", Share: 0.1996}, {Name: "pause", Share: 0.0004}},
		Heap:    doctor.HeapState{LiveBytes: 80 << 20, GoalBytes: 160 << 20, ScanBytes: 61 << 20, AllocBytesPerSecond: 200 << 20, CyclesPerSecond: 2.5, GOGC: 100},

		CPUSeconds: 18.4, WindowSeconds: 10,
		First: []doctor.Advice{
			{Part: doctor.InCode, Text: "tree.go:40 b.(*Tree[…]).Build takes 14 % of CPU. Make them in an arena that each request frees. Saves 12 ± 2 % of CPU.", Finding: "short-lived-objects",
				Try: "-n := &node{}\n+n := arena.New[node](a)", Gain: doctor.Gain{SameGOGC: 0.123, SameMemory: 0.09, Error: 0.02}, Site: doctor.Site{Func: "example.com/a/b.(*Tree[example.com/x/y.Key]).Build", File: "/src/a/b/tree.go", Line: 40}},
			{Part: doctor.Now, Text: "No setting saves more than noise."},
		},
		Findings: []doctor.Finding{
			{
				ID: "short-lived-objects", Severity: doctor.SeverityHigh, Title: "Many small objects die together", Detail: "They live 3 ms.",
				Site: doctor.Site{Func: "example.com/a/b.newNode", File: "/src/a/b/node.go", Line: 12}, Owner: doctor.Site{Func: "example.com/a/b.(*Tree[example.com/x/y.Key]).Build", File: "/src/a/b/tree.go", Line: 40},
				CPUShare: 0.14, Gain: doctor.Gain{SameGOGC: 0.123, SameMemory: 0.09, Error: 0.02},
				Evidence: map[string]any{"alloc_bytes_per_second": 1.5e8, "age_seconds": 0.003, "objects_per_second": 2000000, "alloc_share": 0.5, "types": []string{"node", "leaf"}, "pooled": false, "exported": true},
				Remedy: doctor.Remedy{Text: "Make them in an arena that each request frees.", Doc: "https://example.com/docs/short-lived-objects.md",
					Snippet: "-n := &node{}\n+n := arena.New[node](a)\n \tn.<left> = nil\n"},
				Check: []string{"Nothing keeps a node.", "The arena is freed."},
			},
			{ID: "gc-too-often", Severity: doctor.SeverityLow, Title: "GOGC is low", CPUShare: 0.05, Check: []string{"RSS"}, Gain: doctor.Gain{SameGOGC: -0.01}, Remedy: doctor.Remedy{Text: "Set GOGC=200."}},
			{ID: "gc-too-often", Severity: doctor.SeverityInfo, Title: "GOGC is low", Remedy: doctor.Remedy{Text: "Set GOGC=200."}, Check: []string{"RSS"}},
		},
	}
}

func TestText(t *testing.T) {
	before := sample()
	before.GCShare = 0.3
	before.Findings[0].Owner = doctor.Site{Func: "example.com/a/b.Old", File: "/src/a/b/old.go", Line: 7}
	for name, c := range map[string]struct {
		before  *doctor.Report
		width   int
		verbose bool
	}{"screen.txt": {nil, 100, false}, "wide.txt": {nil, 130, true}, "narrow.txt": {before, 80, true}} {
		var b bytes.Buffer
		if err := Text(&b, sample(), c.before, Style{Width: c.width, Verbose: c.verbose}); err != nil {
			t.Fatal(err)
		}
		golden.Check(t, name, b.Bytes())
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(strings.TrimSpace(line)); n > c.width {
				t.Errorf("%s: a line of %d columns, more than %d: %s", name, n, c.width, line)
			}
		}
	}
}

// A finding that is only information is neither counted nor come or gone: it stands there because
// others are gone.
func TestComparedInformation(t *testing.T) {
	before, after := sample(), sample()
	after.Findings = []doctor.Finding{{ID: "not-gc", Severity: doctor.SeverityInfo}, after.Findings[2]}
	var b bytes.Buffer
	if err := Text(&b, after, before, Style{Width: 120, Verbose: true}); err != nil {
		t.Fatal(err)
	}
	counts := regexp.MustCompile(`(?m)^ findings +2 +0$`)
	if text := b.String(); !counts.MatchString(text) || !strings.Contains(text, " gone: short-lived-objects in b.(*Tree[…]).Build\n") || strings.Contains(text, " new: ") {
		t.Errorf("not what changed:\n%s", text)
	}
}

// Of many findings -v shows each in full, and a snippet once, besides that of the first lines.
func TestTextMany(t *testing.T) {
	r := sample()
	for range 10 {
		r.Findings = append(r.Findings, r.Findings[0])
		r.Findings[len(r.Findings)-1].Remedy.Text = "Or another text."
	}
	var b bytes.Buffer
	if err := Text(&b, r, nil, Style{Width: 110, Verbose: true}); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]int{
		"\n13  short-lived-objects  high": 1, "\n 13  short-lived-objects  high": 1,
		"+n := arena.New": 2, "\n   code     as for 1\n": 1,
	} {
		if got := strings.Count(b.String(), line); got != want {
			t.Errorf("%q is there %d times, want %d", line, got, want)
		}
	}
}

// Five findings are the most. Reports of real programs have at most 40 lines; this one has the
// longest texts that there can be, and places under each finding.
func TestScreenFits(t *testing.T) {
	r := sample()
	long := strings.Repeat("A sentence with a good number of words, some of them in (unusual, long) parentheses, ", 8)
	f := r.Findings[0]
	f.Detail, f.Remedy.Text = long, long
	for i := range 12 {
		f.Places = append(f.Places, doctor.Place{Site: doctor.Site{Func: "f", File: "/src/file.go", Line: i}, AllocBytesPerSecond: 2e6, CPUShare: 0.02})
	}
	r.Findings = nil
	for i := range 9 {
		f.Remedy.Text = string(rune('A'+i)) + long // none is as for another
		r.Findings = append(r.Findings, f)
	}
	for _, gogc := range []float64{200, 400, 800} {
		r.Settings = append(r.Settings, doctor.Setting{GOGC: gogc, Gain: doctor.Gain{SameGOGC: 0.1, Error: 0.02}, CyclesLeft: 0.5, MoreBytes: 4 << 20})
	}
	var b bytes.Buffer
	if err := Text(&b, r, nil, Style{Width: 100}); err != nil {
		t.Fatal(err)
	}
	screen := b.String()
	if n := strings.Count(screen, "\n"); n > 45 {
		t.Errorf("%d lines:\n%s", n, screen)
	}
	for line := range strings.Lines(screen) {
		if n := utf8.RuneCountInString(strings.TrimSpace(line)); n > 100 {
			t.Errorf("a line of %d columns: %s", n, line)
		}
	}
	for part, want := range map[string]int{"\n5  ": 1, "\n6  ": 0, "arena.New": 1, "evidence ": 1, "4 more findings": 1, "src/file.go:0 1.91 MiB/s 2.0 %, src/file.go:1": 5} {
		if got := strings.Count(screen, part); got != want {
			t.Errorf("%q is there %d times, want %d:\n%s", part, got, want, screen)
		}
	}
}

// Details name the five places that cost most.
func TestTextPlaces(t *testing.T) {
	r := sample()
	for i := range 7 {
		r.Findings[0].Places = append(r.Findings[0].Places, doctor.Place{Owner: doctor.Site{Func: "a.F", File: "/src/own.go", Line: i + 1}, Site: doctor.Site{Func: "b.G"}, CPUShare: 0.01})
	}
	var b bytes.Buffer
	if err := Text(&b, r, nil, Style{Width: 110, Verbose: true}); err != nil {
		t.Fatal(err)
	}
	for part, want := range map[string]int{"own.go:1 a.F, in b.G, 1.0 % of CPU": 1, "own.go:5 ": 1, "own.go:6 ": 0, "and 2 more, in the object of -json": 1} {
		if got := strings.Count(b.String(), part); got != want {
			t.Errorf("%q is there %d times, want %d:\n%s", part, got, want, b.String())
		}
	}
}

func TestBrief(t *testing.T) {
	for text, want := range map[string]string{
		"Short text.":                                    "Short text.",
		"A first sentence. And then another one":         "A first sentence.",
		"Words before a comma, and words after it":       "Words before a comma …",
		"Words in front (with, commas inside) and after": "Words in front …",
		"No mark at all is anywhere in these words":      "No mark at all is anywhere …",
		strings.Repeat("x", 40):                          strings.Repeat("x", 28) + " …",
	} {
		if got := brief(text, 30); got != want || utf8.RuneCountInString(got) > 30 {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestTextColours(t *testing.T) {
	text.EnableColors()
	var plain, coloured bytes.Buffer
	if err := Text(&plain, sample(), nil, Style{Width: 100}); err != nil {
		t.Fatal(err)
	}
	if err := Text(&coloured, sample(), nil, Style{Width: 100, Colours: true}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(plain.String(), "\x1b") || !strings.Contains(coloured.String(), "\x1b[") {
		t.Error("colours are where they should not be, or are not where they should")
	}
	if got := regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(coloured.String(), ""); got != plain.String() {
		t.Errorf("colours change the text:\n%s", got)
	}
}

// Where nothing is wrong there is little to read.
func TestTextHealthy(t *testing.T) {
	var b bytes.Buffer
	r := &doctor.Report{Verdict: "GC is not your problem; it is compress/flate", Source: "cpu.pb.gz", Confidence: doctor.High}
	if err := Text(&b, r, nil, Style{Width: 100}); err != nil {
		t.Fatal(err)
	}
	if want := "GC is not your problem; it is compress/flate\ncpu.pb.gz · confidence high\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}

func TestJSON(t *testing.T) {
	var b bytes.Buffer
	if err := JSON(&b, sample(), nil); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "report.json", b.Bytes())
	b.Reset()
	before := sample()
	before.Source = "earlier"
	if err := JSON(&b, sample(), before); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Source string
		Before struct{ Source string }
	}
	if err := json.Unmarshal(b.Bytes(), &got); err != nil || got.Source != "http://localhost:6060" || got.Before.Source != "earlier" {
		t.Errorf("got %+v, %v", got, err)
	}
}

// Every field that -json prints is explained on the doctor's page.
func TestJSONDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/doctor.md")
	if err != nil {
		t.Fatal(err)
	}
	fields := 0
	for _, of := range []reflect.Type{
		reflect.TypeFor[withBefore](), reflect.TypeFor[doctor.Report](), reflect.TypeFor[doctor.Missing](), reflect.TypeFor[doctor.ClassShare](),
		reflect.TypeFor[doctor.HeapState](), reflect.TypeFor[doctor.Finding](), reflect.TypeFor[doctor.Site](), reflect.TypeFor[doctor.Gain](), reflect.TypeFor[doctor.Remedy](),
		reflect.TypeFor[doctor.LabelKey](), reflect.TypeFor[doctor.LabelSplit](), reflect.TypeFor[doctor.LabelCost](), reflect.TypeFor[doctor.PerOperation](), reflect.TypeFor[doctor.BenchmarkCost](),
	} {
		for i := range of.NumField() {
			name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			if name == "" {
				continue
			}
			fields++
			if !strings.Contains(string(page), "`"+name+"`") {
				t.Errorf("docs/doctor.md does not explain %s.%s", of.Name(), name)
			}
		}
	}
	if fields < 40 {
		t.Errorf("%d fields, want all", fields)
	}
	for _, c := range classOrder {
		if !strings.Contains(string(page), "`"+c+"`") {
			t.Errorf("docs/doctor.md does not name the class %s", c)
		}
	}
}

func TestSARIF(t *testing.T) {
	var b bytes.Buffer
	if err := SARIF(&b, sample(), "/src/a", "example.com/a"); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "report.sarif", b.Bytes())
}

// A file of the main module is named relative to its root, whether the binary has the folder's path
// or, built with -trimpath, the module's.
func TestSARIFFiles(t *testing.T) {
	known, unknown := module{"/src/a", "example.com/a"}, module{"", "example.com/a"}
	for _, c := range []struct {
		m         module
		file, uri string
		based     bool
	}{
		{known, "/src/a/b/x y.go", "b/x%20y.go", true},
		{known, "example.com/a/b/c.go", "b/c.go", true},
		{known, "/src/other/c.go", "file:///src/other/c.go", false},
		{unknown, "example.com/a/b/c.go", "b/c.go", true},
		{unknown, "example.com/ab/c.go", "example.com/ab/c.go", false},
		{unknown, "example.com/a/lib@v1.2.0/c.go", "example.com/a/lib@v1.2.0/c.go", false},
		{unknown, "encoding/json/decode.go", "encoding/json/decode.go", false},
		{module{}, "/src/a/c.go", "file:///src/a/c.go", false},
		{module{}, "example.com/a/c.go", "example.com/a/c.go", false},
	} {
		want := sarifArtifact{URI: c.uri}
		if c.based {
			want.Base = baseID
		}
		if got := c.m.artifact(c.file); got != want {
			t.Errorf("%+v: %s is %+v, want %+v", c.m, c.file, got, want)
		}
	}
}

func TestFileURI(t *testing.T) {
	for file, want := range map[string]string{"/a b/c.go": "file:///a%20b/c.go", "example.com/m@v1/x y.go": "example.com/m@v1/x%20y.go"} {
		if got := fileURI(file); got != want {
			t.Errorf("%s becomes %s, want %s", file, got, want)
		}
	}
}

func TestShortened(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{shortFunc("github.com/a/b.(*T).M"), "b.(*T).M"}, {shortFunc("main.main"), "main.main"}, {shortFunc("a/b.(*F[c/d.T]).M"), "b.(*F[…]).M"},
		{shortFile("/x/pkg/mod/example.com/m@v1.2.3/f.go"), "example.com/m@v1.2.3/f.go"}, {shortFile("/usr/lib/go/src/encoding/json/decode.go"), "encoding/json/decode.go"},
		{shortFile("/one/two/three/four/f.go"), "…/three/four/f.go"}, {shortFile("f.go"), "f.go"},
		{terminal.Percent(0), "0 %"}, {terminal.Percent(0.00004), "~0 %"}, {terminal.Percent(-0.034), "-3.4 %"}, {terminal.Percent(0.314), "31 %"}, {terminal.PercentError(0.1, 0.02), "10 ± 2 %"}, {terminal.PercentError(-0.02, 0.004), "-2.0 ± 0.4 %"}, {terminal.Seconds(0.0031), "3.10 ms"}, {terminal.Seconds(9000), "2.50 h"}, {terminal.Quantity(2e6), "2.00 million"}, {terminal.Quantity(12), "12"}, {terminal.PercentError(0.1, 0), "10 %"},
		{where(doctor.Finding{}), "the whole program"}, {where(doctor.Finding{Site: doctor.Site{Func: "a/b.F"}}), "b.F"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

// cpuProfile has samples below main: one of the program's, one of marking that was charged, an
// allocation, one too small to be drawn.
func cpuProfile() *profile.Profile {
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}}
	at := func(names ...string) *profile.Location {
		l := &profile.Location{ID: uint64(len(p.Location) + 1)}
		for _, name := range names {
			f := &profile.Function{ID: uint64(len(p.Function) + 1), Name: name}
			p.Function = append(p.Function, f)
			l.Line = append(l.Line, profile.Line{Function: f})
		}
		p.Location = append(p.Location, l)
		return l
	}
	root, inlined, leaf := at("main.main"), at("main.inlined</script>", "main.caller"), at("gc: marking (charged)")
	add := func(ns int64, cost string, stack ...*profile.Location) {
		p.Sample = append(p.Sample, &profile.Sample{Location: stack, Value: []int64{1, ns}, Label: map[string][]string{doctor.CostLabel: {cost}}})
	}
	add(7e9, "program", inlined, root)
	add(2e9, "mark", leaf, root)
	add(1e9, "allocation", at("runtime.mallocgc"), at("runtime.newobject"), root)
	add(1e5, "program", at("main.tiny"), root)
	return p
}

func TestFlame(t *testing.T) {
	f := newFlame("now", cpuProfile())
	main := f.Root.Children[0]
	if f.Root.Total != 10_000_100_000 || f.Root.Memory != 3e9 || main.Total != f.Root.Total || f.Names[main.Name] != "main.main" {
		t.Errorf("the root is %+v, below it %+v", f.Root, main)
	}
	if len(main.Children) != 3 {
		t.Fatalf("main has %d children, want 3: what is too small is left out", len(main.Children))
	}
	caller, mark, alloc := main.Children[0], main.Children[1], main.Children[2]
	if f.Names[alloc.Name] != "runtime.newobject" || len(alloc.Children) != 0 {
		t.Errorf("the allocation is drawn as %+v, want its entry alone", alloc)
	}
	if f.Names[caller.Name] != "main.caller" || caller.Memory != 0 || len(caller.Children) != 1 || mark.Total != mark.Memory {
		t.Errorf("caller %+v, mark %+v", caller, mark)
	}
	if slices.Contains(f.Names, "main.tiny") || len(f.Names) != 6 {
		t.Errorf("the names are %q, want those that are drawn", f.Names)
	}
	if newFlame("", nil) != nil || newFlame("", &profile.Profile{}) != nil {
		t.Error("a graph of nothing")
	}
}

// The goroutine of main begins in the runtime, and so may a callback from C: what the program
// allocates below is drawn all the same, up to the allocator.
func TestFlameBelowRuntime(t *testing.T) {
	p := cpuProfile()
	root := &profile.Location{ID: 100, Line: []profile.Line{{Function: &profile.Function{ID: 100, Name: "runtime.main"}}}}
	grow := &profile.Location{ID: 101, Line: []profile.Line{{Function: &profile.Function{ID: 101, Name: "internal/runtime/maps.(*Map).grow"}}}}
	for _, s := range p.Sample {
		s.Location = append(s.Location, root)
	}
	p.Sample[2].Location = slices.Insert(p.Sample[2].Location, 1, grow) // runtime.mallocgc below grow below runtime.newobject
	f := newFlame("now", p)
	main := f.Root.Children[0].Children[0]
	if f.Names[main.Name] != "main.main" || main.Memory != 3e9 || len(main.Children) != 3 {
		t.Fatalf("below runtime.main is %s, %+v", f.Names[main.Name], main)
	}
	if alloc := main.Children[2]; f.Names[alloc.Name] != "runtime.newobject" || len(alloc.Children) != 0 {
		t.Errorf("the allocation is drawn as %s, %+v", f.Names[alloc.Name], alloc)
	}
}

// A function that another package has by linkname is the runtime's, as package stack classifies it:
// the flame graph ends there, and not a frame further inside.
func TestFlameLinkname(t *testing.T) {
	p := cpuProfile()
	byName := &profile.Function{ID: 100, Name: "reflect.unsafe_New", Filename: "/usr/lib/go/src/runtime/malloc.go"}
	leaf := p.Sample[2].Location
	leaf[len(leaf)-2] = &profile.Location{ID: 100, Line: []profile.Line{{Function: byName}}} // in place of runtime.newobject
	f := newFlame("now", p)
	if alloc := f.Root.Children[0].Children[2]; f.Names[alloc.Name] != byName.Name || len(alloc.Children) != 0 {
		t.Errorf("the allocation is drawn as %s, %+v", f.Names[alloc.Name], alloc)
	}
	if !stack.IsRuntime(byName.Name, byName.Filename) {
		t.Error("it is none of the runtime's in the figures")
	}
}

// external finds what a browser would fetch; links that a reader may follow are not among it.
var external = regexp.MustCompile(`(?i)(\bsrc\s*=|@import|url\(|<link|<iframe|fetch\(|XMLHttpRequest|import\()`)

func TestHTML(t *testing.T) {
	var b bytes.Buffer
	before := sample()
	before.Source = "the <old> state"
	before.Findings[1].ID, before.Findings[2].ID = "finalizers", "finalizers"
	if err := HTML(&b, Subject{sample(), cpuProfile()}, &Subject{before, cpuProfile()}); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	if at := external.FindString(page); at != "" {
		t.Errorf("the page needs something else: %q", at)
	}
	for _, want := range []string{sample().Verdict, "Before and after", "<span class=\"quiet\">gone:</span> finalizers</p>", "new:</span> gc-too-often</p>", "short-lived-objects", `class="new"`, "n.&lt;left&gt;", "the &lt;old&gt; state", "To know more", "12 ± 2 %", `the same as for <a href="#finding-2">`, `id="flame" role="tree" aria-label="flame graph of the CPU time" aria-describedby="hint"`,
		`id="hint">Click or tap`, `"role", "treeitem"`, "tabIndex = 0", "box.onkeydown", "ArrowUp:", "ArrowDown:", "ArrowLeft:", "ArrowRight:", `"Enter":`, `"Escape":`, `"Home":`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if n := strings.Count(page, "</script>"); n != 2 {
		t.Errorf("%d ends of scripts, want 2: a name broke out", n)
	}
	_, data, _ := strings.Cut(page, "const data = ")
	data, _, _ = strings.Cut(data, ";</script>")
	var got struct {
		Report doctor.Report
		Flames []flame
	}
	if err := json.Unmarshal([]byte(data), &got); err != nil || got.Report.Verdict != sample().Verdict || len(got.Flames) != 2 {
		t.Errorf("the data in the page: %v", err)
	}
	b.Reset()
	if err := HTML(&b, Subject{Report: &doctor.Report{Verdict: "v"}}, nil); err != nil {
		t.Fatal(err)
	}
	for _, no := range []string{`id="flame"`, "What to change", "The heap", "Where the CPU"} {
		if strings.Contains(b.String(), no) {
			t.Errorf("the page of an empty report has %q", no)
		}
	}
}

// TestGains wants a gain that costs memory to say so, and a loss not to.
func TestGains(t *testing.T) {
	for _, c := range []struct {
		gain        doctor.Gain
		text, table string
	}{
		{doctor.Gain{SameGOGC: 0.31, SameMemory: 0.31, Error: 0.05}, "31 ± 5 % of CPU at the same GOGC, 31 ± 5 % at the same memory", "31 %"},
		{doctor.Gain{SameGOGC: 0.31, Error: 0.05}, "31 ± 5 % of CPU, for more memory", "–"},
		{doctor.Gain{SameGOGC: -0.47, Error: 0.09}, "-47 ± 9 % of CPU at the same GOGC, 0.0 ± 9.0 % at the same memory", "0 %"},
	} {
		if text, table := gains(c.gain), inSameMemory(c.gain); text != c.text || table != c.table {
			t.Errorf("%+v: %q and %q, want %q and %q", c.gain, text, table, c.text, c.table)
		}
	}
}
