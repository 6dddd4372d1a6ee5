// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestResults(t *testing.T) {
	ending := ""
	if n := runtime.GOMAXPROCS(0); n > 1 {
		ending = fmt.Sprintf("-%d", n)
	}
	found, err := results([]byte("goos: linux\nBenchmarkA/n=10-8" + ending + " \t 20\t 1500 ns/op\t 64 B/op\t 2 allocs/op\t 7.5 things\nsome line\n" +
		"BenchmarkB" + ending + " 3 2 ns/op\nPASS\n"))
	if err != nil || len(found) != 2 {
		t.Fatalf("%+v, %v", found, err)
	}
	if found[0].name != "BenchmarkA/n=10-8" || found[0].n != 20 || found[1].name != "BenchmarkB" {
		t.Errorf("%+v", found)
	}
	got := sample{}
	for _, v := range found[0].values {
		got[metricName(v.Unit)] = v.Value
	}
	for name, want := range map[string]float64{MeasureWall: 1.5e-6, MeasureAllocBytes: 64, MeasureAllocs: 2, "things": 7.5} {
		if math.Abs(got[name]-want) > 1e-12 {
			t.Errorf("%s is %g, want %g: %v", name, got[name], want, got)
		}
	}
}

func TestExactly(t *testing.T) {
	const name = "BenchmarkA/n=1.5/x(y)"
	parts := strings.Split(exactly(name), "/")
	for i, part := range strings.Split(name, "/") {
		if re := regexp.MustCompile(parts[i]); !re.MatchString(part) || re.MatchString(part+"0") || re.MatchString("0"+part) || re.MatchString("n=1x5") {
			t.Errorf("%s does not select %s alone", parts[i], part)
		}
	}
}

func TestOperations(t *testing.T) {
	for _, c := range []struct {
		seconds float64
		want    int
	}{{1, 1}, {0.5, 1}, {0.03, 17}, {0.00123, 410}, {1e-6, 500_000}, {1.23e-7, 4_100_000}, {1e-12, mostOperations}, {0, mostOperations}} {
		if got := operations(500*time.Millisecond, c.seconds); got != c.want {
			t.Errorf("of %g s: %d, want %d", c.seconds, got, c.want)
		}
	}
}

// BenchmarkHiddenTime reports no ns/op, BenchmarkFalseTime one that is not the timer's, and
// BenchmarkNoNumber one that is no number. TestCalibrate runs them in a process of this test
// binary.
func BenchmarkHiddenTime(b *testing.B) { reportedTime(b, 0) }
func BenchmarkFalseTime(b *testing.B)  { reportedTime(b, 1e-6) }
func BenchmarkNoNumber(b *testing.B)   { reportedTime(b, math.NaN()) }

func reportedTime(b *testing.B, ns float64) {
	for b.Loop() {
		time.Sleep(5 * time.Millisecond)
	}
	b.ReportMetric(ns, "ns/op")
}

// TestCalibrate wants a number of operations that lasts about the time asked for, whatever a
// benchmark says of its time.
func TestCalibrate(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	binary := &testBinary{name: "compare: A", file: self}
	for _, name := range []string{"BenchmarkHiddenTime", "BenchmarkFalseTime", "BenchmarkNoNumber"} {
		sides := [2]*benchSide{{testBinary: binary, bench: name}, {testBinary: binary, bench: name}}
		if err := calibrate(t.Context(), sides, 40*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		if n := sides[0].n; n < 1 || n > 8 || sides[1].n != n {
			t.Errorf("%s: %d operations of 5 ms for 40 ms", name, n)
		}
	}
}

func TestPerOp(t *testing.T) {
	// 12 operations of 3, and 4 for starting and setting up.
	if got := perOp(4+12*3, 4+baseOps*3, 12, true); got != 3 {
		t.Errorf("an operation takes %g, want 3", got)
	}
	if got := perOp(30, 0, 5, false); got != 6 {
		t.Errorf("without a base: %g, want 6", got)
	}
	if got := perOp(1, 2, 12, true); got != 0 {
		t.Errorf("less than nothing: %g", got)
	}
}

// git runs git in a folder, with a made-up user.
func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false",
		"-c", "gc.auto=0", "-c", "maintenance.auto=false"}, args...)...) // nothing in the background that outlives the command
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// write makes files below a folder.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// source is a package that makes n slices an operation. There are many, so that what the runtime
// allocates for itself meanwhile does not show.
func source(n int) string {
	return fmt.Sprintf("package sub\n\nvar Sink []byte\n\nfunc Work() {\n\tfor range %d {\n\t\tSink = make([]byte, 1000)\n\t}\n}\n", n)
}

const benchmarks = `package sub

import (
	"os"
	"testing"
)

func BenchmarkWork(b *testing.B) {
	if _, err := os.ReadFile("testdata/file"); err != nil {
		b.Fatal(err)
	}
	b.Run("sub=1", func(b *testing.B) {
		for b.Loop() {
			Work()
		}
	})
}
`

// repository makes one with two commits, of which the second does twice as much.
func testRepository(t *testing.T) (dir string) {
	t.Helper()
	for _, tool := range []string{"git", "go"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("there is no %s", tool)
		}
	}
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "")
	dir = t.TempDir()
	write(t, dir, map[string]string{
		"go.mod": "module example.com/test\n\ngo 1.25\n", "sub/testdata/file": "x", "sub/sub.go": source(1000), "sub/sub_test.go": benchmarks,
		"empty/empty.go": "package empty\n", "none/none.go": "package none\n", "none/none_test.go": "package none\n\nimport \"testing\"\n\nfunc TestX(*testing.T) {}\n",
	})
	git(t, dir, "init", "-q", "-b", "main")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-q", "-m", "one")
	write(t, dir, map[string]string{"sub/sub.go": source(2000)})
	git(t, dir, "commit", "-q", "-a", "-m", "two")
	return dir
}

// worktrees counts those of the repository.
func worktrees(t *testing.T, dir string) int {
	t.Helper()
	out, err := exec.Command("git", "-C", dir, "worktree", "list", "--porcelain").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(out), "worktree ")
}

// about says whether got is want but for what the runtime allocates for itself.
func about(got, want float64) bool { return math.Abs(got-want) < want/20 }

// TestRevisions compares two commits of which the second allocates twice as much, then what must be
// refused, and wants that nothing is left behind each time.
func TestRevisions(t *testing.T) {
	dir := testRepository(t)
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	sub := filepath.Join(dir, "sub")
	r, err := Run(t.Context(), Options{A: "HEAD~1", B: "main", Package: sub, Count: 1, Benchtime: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	c := &r.Comparisons[0]
	if r.Kind != KindRevisions || len(r.Comparisons) != 1 || c.Name != "BenchmarkWork/sub=1" || c.Per != "op" || c.Operations < 1 {
		t.Fatalf("%+v", r)
	}
	for name, want := range map[string]float64{MeasureAllocs: 1000, MeasureAllocBytes: 1000 * 1024} {
		if m := c.Measure(name); m == nil || !about(m.A, want) || !about(m.B, 2*want) || !about(*m.Ratio, 2) {
			t.Errorf("%s: %+v", name, m)
		}
	}
	if m := c.Measure(MeasureWall); m == nil || m.A <= 0 {
		t.Errorf("time: %+v", m)
	}
	refusals := map[string]Options{
		`"nope" is no revision of`:                {A: "nope", B: "main", Package: sub},
		"there is no folder new/ in":              {A: "HEAD", B: ".", Package: filepath.Join(dir, "new")},
		"has no tests and no benchmarks":          {A: "HEAD~1", B: "HEAD", Package: filepath.Join(dir, "empty")},
		"at HEAD~1 has no benchmark that matches": {A: "HEAD~1", B: "HEAD", Package: filepath.Join(dir, "none")},
		`matches -bench "Nothing"`:                {A: "HEAD~1", B: "HEAD", Package: sub, Bench: "Nothing"},
		"is not in a git repository":              {A: "HEAD~1", B: "HEAD", Package: temp},
	}
	write(t, dir, map[string]string{"new/notes.txt": "not Go's\n"})
	for want, o := range refusals {
		expectError(t, o, want)
	}
	write(t, dir, map[string]string{"new/new.go": "package broken\n"})
	const isNew = "new/new.go is not in HEAD; commit it"
	expectError(t, Options{A: "HEAD~1", B: "HEAD", Package: sub, Count: 1, Benchtime: time.Millisecond}, isNew) // from another folder as well
	write(t, dir, map[string]string{".gitignore": "new/\n"})
	if _, err := Run(t.Context(), Options{A: "HEAD", B: "HEAD", Package: filepath.Join(dir, "empty")}); err == nil || strings.Contains(err.Error(), isNew) {
		t.Errorf("a file that git ignores and one that is not Go's: %v", err)
	}
	write(t, dir, map[string]string{"sub/sub.go": "package sub\n\nfunc Work() { broken }\n"})
	expectError(t, Options{A: "HEAD~1", B: "HEAD", Package: sub}, "the working tree has changes that HEAD lacks; commit them, or write .")
	expectError(t, Options{A: "HEAD", B: ".", Package: sub}, "B: build the tests")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err = Run(ctx, Options{A: "HEAD~1", B: "HEAD~1", Package: sub, Progress: func(line string) {
		if strings.HasPrefix(line, "compare: B") {
			cancel() // with A's worktree there
		}
	}})
	if err != nil || !r.Interrupted || r.Verdict != "interrupted before anything was measured" {
		t.Errorf("%+v, %v", r, err)
	}
	if n := worktrees(t, dir); n != 1 {
		t.Errorf("%d worktrees are left", n)
	}
	if left, err := filepath.Glob(filepath.Join(temp, "*compare*")); err != nil || len(left) > 0 {
		t.Errorf("%v are left, %v", left, err)
	}
}

// TestPackages compares the working tree with a test binary that was built before.
func TestPackages(t *testing.T) {
	dir := testRepository(t)
	t.Chdir(dir)
	if out, err := exec.Command("go", "test", "-c", "-o", "sub/old.test", "./sub").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Chdir("sub") // where a test binary runs
	r, err := Run(t.Context(), Options{A: "./old.test", B: ".", Bench: "Work/sub", Count: 1, Benchtime: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if m := r.Comparisons[0].Measure(MeasureAllocs); r.Kind != KindBenchmarks || m == nil || !about(*m.Ratio, 1) {
		t.Errorf("%+v", r)
	}
	expectError(t, Options{A: "./old.test", B: "./nowhere", Bench: "."}, `"./nowhere" is neither a test binary nor a package`)
	expectError(t, Options{A: "../...", B: ".", Bench: "."}, `"../..." is more than one package`)
	t.Chdir(dir)
	expectError(t, Options{A: "./sub/old.test", B: "./sub", Bench: "."}, "compare: A failed: exit status 1") // its testdata is not here
}

func TestWithout(t *testing.T) {
	if got := without([]string{"a", "b", "c"}, []string{"b"}); !slices.Equal(got, []string{"a", "c"}) {
		t.Errorf("%v", got)
	}
}
