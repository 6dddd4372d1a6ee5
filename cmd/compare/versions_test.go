// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/goproxytest"
)

// module files of the dependency: Work of v1.1.0 allocates twice as often as that of v1.0.0, v1.2.0 is the same, v1.3.0 does not build,
// and v1.4.0 wants a Go that is not there yet.
var dependency = map[string]string{
	"v1.0.0": depFile("v1.0.0", "1.22", "package dep\n\nvar keep []byte\n\nfunc Work() { for range 10 { keep = make([]byte, 1000) } }\n"),
	"v1.1.0": depFile("v1.1.0", "1.22", "package dep\n\nvar keep []byte\n\nfunc Work() { for range 20 { keep = make([]byte, 1000) } }\n"),
	"v1.2.0": depFile("v1.2.0", "1.22", "package dep\n\nvar keep []byte\n\nfunc Work() { for range 10 { keep = make([]byte, 1000) } }\n"),
	"v1.3.0": depFile("v1.3.0", "1.22", "package dep\n\nfunc Work() { broken }\n"),
	"v1.4.0": depFile("v1.4.0", "1.99", "package dep\n\nfunc Work() {}\n"),
}

func depFile(version, goLine, text string) string {
	mod := "module example.com/dep\n\ngo " + goLine + "\n"
	return "-- .mod --\n" + mod + "-- .info --\n{\"Version\":\"" + version + "\"}\n-- go.mod --\n" + mod + "-- dep.go --\n" + text
}

// versionsModule makes a module that requires the dependency, and a module cache and a proxy of its own. It is the working directory.
func versionsModule(t *testing.T, goLine string) string {
	t.Helper()
	proxy := t.TempDir()
	for version, text := range dependency {
		write(t, proxy, map[string]string{"example.com_dep_" + version + ".txt": text})
	}
	server, err := goproxytest.NewServer(proxy, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	for name, value := range map[string]string{
		"GOPROXY": server.URL, "GOSUMDB": "off", "GOMODCACHE": t.TempDir(), "GOFLAGS": "-modcacherw", "GOTOOLCHAIN": "local", "GOWORK": "",
	} {
		t.Setenv(name, value)
	}
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"go.mod":       "module example.com/m\n\ngo " + goLine + "\n\nrequire example.com/dep v1.0.0\n",
		"main.go":      "package main\n\nimport \"example.com/dep\"\n\nfunc main() { for range 100 { dep.Work() } }\n",
		"main_test.go": "package main\n\nimport (\n\t\"testing\"\n\n\t\"example.com/dep\"\n)\n\nfunc BenchmarkWork(b *testing.B) { for range b.N { dep.Work() } }\n",
	})
	t.Chdir(dir)
	if out, err := exec.Command("go", "mod", "tidy").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

// unchanged holds the module files to what they are now.
func unchanged(t *testing.T, dir string, names ...string) func() {
	t.Helper()
	before := map[string]string{}
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		before[name] = string(data)
	}
	return func() {
		t.Helper()
		for name, want := range before {
			if data, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(data) != want {
				t.Errorf("%s has changed: %v\n%s", name, err, data)
			}
		}
		all, err := os.ReadDir(dir)
		if err != nil || len(all) != 4+len(names)-2 {
			t.Errorf("the folder has %v, %v", all, err)
		}
	}
}

func TestVersionsOfAModule(t *testing.T) {
	dir := versionsModule(t, "1.22")
	check := unchanged(t, dir, "go.mod", "go.sum")
	o := Options{A: ".", Bench: "Work", Versions: Versions{With: "example.com/dep@v1.0.0,v1.1.0"}, Count: 8, Benchtime: time.Millisecond}
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if m := r.Comparisons[0].Measure(MeasureAllocs); m == nil || m.A != 10 || m.B != 20 || m.Low == nil || *m.Low != 2 {
		t.Errorf("allocations: %+v", m)
	}
	if r.Kind != KindVersions || r.Confidence != 0.99 || r.A != ". (example.com/dep v1.0.0)" || r.B != ". (example.com/dep v1.1.0)" {
		t.Errorf("%q, %g, A %q, B %q", r.Kind, r.Confidence, r.A, r.B)
	}
	if len(r.Notes) != 1 || r.Notes[0] != "the builds differ in example.com/dep v1.0.0 → v1.1.0" {
		t.Errorf("notes %q", r.Notes)
	}
	if !strings.Contains(r.Verdict, "allocated objects 100 % more") {
		t.Errorf("verdict %q", r.Verdict)
	}
	if names, known := r.Above(MeasureAllocs, 0.9); !known || len(names) != 1 || names[0] != "BenchmarkWork" {
		t.Errorf("above 0.9: %v, %v", names, known)
	}
	if names, known := r.Above(MeasureAllocs, 1.1); !known || len(names) != 0 {
		t.Errorf("above 1.1: %v, %v", names, known)
	}
	if _, known := r.Above("nothing", 0); known {
		t.Error("a measure that nothing has is known")
	}
	check()

	o.With = "example.com/dep@v1.0.0,v1.2.0"
	if r, err = Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if m := r.Comparisons[0].Measure(MeasureAllocs); m == nil || *m.Ratio != 1 || !strings.Contains(r.Verdict, "no difference shown in allocated bytes, allocated objects") {
		t.Errorf("the same code: %+v, %q", m, r.Verdict)
	}

	// A program, with one release for both sides, and the go line set to it.
	o = Options{A: ".", Versions: Versions{With: "example.com/dep@v1.0.0,v1.1.0", Go: []string{strings.Fields(runtime.Version())[0]}, GoLine: true}, Count: 1}
	if strings.HasPrefix(runtime.Version(), "go1.") {
		if r, err = Run(t.Context(), o); err != nil || r.Comparisons[0].Measure(MeasureCPU) == nil {
			t.Fatalf("%v, %+v", err, r)
		}
	}
	check()

	expectError(t, Options{A: ".", Versions: Versions{With: "example.com/dep@v1.0.0,v1.3.0"}}, "B: build .: ")
	expectError(t, Options{A: ".", Versions: Versions{With: "example.com/dep@v1.0.0,v1.9.0"}}, "B: -with example.com/dep@v1.9.0: ")
	expectError(t, Options{A: ".", Versions: Versions{Go: []string{"1.20.1", "1.22.3"}}}, "A: go1.20.1 is older than the go line of example.com/dep, which wants go1.22 at least")
	expectError(t, Options{A: "go", Versions: Versions{With: "example.com/dep@v1.0.0,v1.1.0"}}, `"go" is no main package; -go and -with build what they compare`)
	check()
}

func TestVersionsInAWorkspace(t *testing.T) {
	dir := versionsModule(t, "1.22")
	write(t, dir, map[string]string{"go.work": "go 1.22\n\nuse .\n"})
	check := unchanged(t, dir, "go.mod", "go.sum", "go.work")
	o := Options{A: ".", Bench: "Work", Versions: Versions{With: "example.com/dep@v1.0.0,v1.1.0"}, Count: 8, Benchtime: time.Millisecond}
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if m := r.Comparisons[0].Measure(MeasureAllocs); m == nil || m.A != 10 || m.B != 20 {
		t.Errorf("allocations: %+v", m)
	}
	if len(r.Notes) != 1 || r.Notes[0] != "the builds differ in example.com/dep v1.0.0 → v1.1.0" {
		t.Errorf("notes %q", r.Notes)
	}
	check()
	expectError(t, Options{A: ".", Versions: Versions{With: "example.com/dep@v1.0.0,latest"}}, "a workspace needs a full version")
	check()
}

// TestVersionsOfTheEnvironment compares a command that is no package, with a variable and without.
func TestVersionsOfTheEnvironment(t *testing.T) {
	r, err := Run(t.Context(), Options{A: own(t, "allocate=8"), Versions: Versions{Env: []string{"GOGC=off"}}, Count: 1})
	if err != nil {
		t.Fatal(err)
	}
	m := r.Comparisons[0].Measure(MeasureGCCycles)
	if m == nil || m.A == 0 || m.B != 0 || !strings.HasSuffix(r.A, " (as it is)") || !strings.HasSuffix(r.B, " (GOGC=off)") {
		t.Errorf("collections %+v of %q and %q", m, r.A, r.B)
	}
}

func TestVersionsRefuse(t *testing.T) {
	for want, o := range map[string]Options{
		"-go has 3 releases":                   {A: ".", Versions: Versions{Go: []string{"1.1", "1.2", "1.3"}}},
		`-go "foo" is no release`:              {A: ".", Versions: Versions{Go: []string{"foo", "1.2"}}},
		"A and B would be the same":            {A: ".", Versions: Versions{Go: []string{"1.27.4"}}},
		"-goline sets the go line":             {A: ".", Versions: Versions{GoLine: true}},
		`-env "GOGC": want NAME=value`:         {A: ".", Versions: Versions{Env: []string{"GOGC"}}},
		`-with "example.com/m": want a module`: {A: ".", Versions: Versions{With: "example.com/m"}},
		`-with "example.com/m@v1,v2,v3": want`: {A: ".", Versions: Versions{With: "example.com/m@v1,v2,v3"}},
		"compare neither revisions":            {A: ".", B: "x", Versions: Versions{Env: []string{"A=b"}}},
	} {
		expectError(t, o, want)
	}
}

// TestDifferences has a module that was replaced, one that is gone, and one that is new.
func TestDifferences(t *testing.T) {
	a := map[string]moduleUse{"m/same": {"v1.0.0", ""}, "m/other": {"v1.0.0", ""}, "m/gone": {"v0.1.0", ""}}
	b := map[string]moduleUse{"m/same": {"v1.0.0", ""}, "m/other": {"v1.0.0 => v1.5.0", ""}, "m/new": {"v0.2.0", ""}}
	got := differences(a, b)
	if want := "the builds differ in m/gone v0.1.0 → none, m/new none → v0.2.0, m/other v1.0.0 → v1.5.0"; len(got) != 1 || got[0] != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := differences(a, a); got != nil {
		t.Errorf("%q for the same", got)
	}
}
