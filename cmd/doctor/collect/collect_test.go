// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/freehold-go/freehold/cmd/doctor/service"
	"github.com/freehold-go/freehold/cmd/evidence"
)

// Variables that make this test binary the command that is traced.
const (
	roleVariable    = "FREEHOLD_COLLECT_ROLE"
	addressVariable = "FREEHOLD_COLLECT_ADDRESS" // where the one that serves listens
	socketVariable  = "FREEHOLD_COLLECT_SOCKET"  // where the one that runs for good listens, a file
)

// upAndRunning is what the command that runs for good says once a collection was traced.
const upAndRunning = "up and running"

var sink []byte

func TestMain(m *testing.M) {
	service.RunChild()
	switch os.Getenv(roleVariable) {
	case "":
		os.Setenv("FREEHOLD_CACHE", "off") // the user's cache of source is no matter of tests
		os.Exit(m.Run())
	case "collects":
		for range 4 {
			sink = make([]byte, 1<<20)
			runtime.GC()
		}
		// GC returns before the runtime has told of it, piece by piece, and what stops the world
		// waits until it has.
		runtime.ReadMemStats(new(runtime.MemStats))
		fmt.Println("its output")
		fmt.Fprintln(os.Stderr, "gc is not what this line is about")
		fmt.Fprint(os.Stderr, "its last words")
		os.Exit(3)
	case "quiet":
		os.Exit(0)
	case "fails":
		fmt.Fprintln(os.Stderr, "no such table")
		os.Exit(4)
	case "serves":
		if err := http.ListenAndServe(os.Getenv(addressVariable), nil); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case "for good":
		if socket := os.Getenv(socketVariable); socket != "" { // by which a test sees it
			l, err := net.Listen("unix", socket)
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			defer l.Close() // not by the collector
		}
		for i := 0; ; i++ {
			sink = make([]byte, 1<<20)
			for range 500 { // some CPU time
				_ = bytes.Count(sink, sink[:1])
			}
			runtime.GC()
			if i == 1 {
				fmt.Println(upAndRunning)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// collected runs From and fails the test on an error.
func collected(t *testing.T, inputs, command []string, o Options) *evidence.Evidence {
	t.Helper()
	e, err := From(context.Background(), inputs, command, o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// wantError checks that From refuses, in one line that matches the pattern.
func wantError(t *testing.T, inputs, command []string, o Options, pattern string) {
	t.Helper()
	_, err := From(context.Background(), inputs, command, o)
	switch {
	case err == nil:
		t.Errorf("%q %q is taken, want an error like %q", inputs, command, pattern)
	case strings.Contains(err.Error(), "\n"):
		t.Errorf("the error has more than one line: %q", err)
	case !regexp.MustCompile("^doctor: ").MatchString(err.Error()) || !regexp.MustCompile(pattern).MatchString(err.Error()):
		t.Errorf("%q %q: %q, want doctor: and something like %q", inputs, command, err, pattern)
	}
}

// TestService: the sample service gives every piece of evidence, and the kept files read the same.
func TestService(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kept")
	var lines []string
	e := collected(t, nil, nil, Options{Duration: time.Second, Save: dir, Progress: func(line string) { lines = append(lines, line) }})
	if e.CPU == nil || e.Heap[0] == nil || e.Heap[1] == nil || e.Window < time.Second {
		t.Fatalf("pieces are missing: %+v", e)
	}
	start, _ := e.Metrics[0].Get(evidence.MetricAllocBytes)
	end, _ := e.Metrics[1].Get(evidence.MetricAllocBytes)
	if start <= 0 || end <= start {
		t.Errorf("allocated bytes go from %v to %v", start, end)
	}
	if e.Main != serviceModule || filepath.Base(e.Root) != "cmd" || e.Source != "the sample service" || e.Go != runtime.Version() {
		t.Errorf("main %q, root %q, source %q, Go %q", e.Main, e.Root, e.Source, e.Go)
	}
	if text := strings.Join(lines, "\n"); !strings.Contains(text, "1 s of 1 s") {
		t.Errorf("the progress never came to its end:\n%s", text)
	}
	again := collected(t, []string{dir}, nil, Options{})
	if again.CPU.DurationNanos != e.CPU.DurationNanos || again.Heap[0].TimeNanos != e.Heap[0].TimeNanos || again.Heap[1].TimeNanos != e.Heap[1].TimeNanos {
		t.Error("the profiles that were kept are others")
	}
	if v, _ := again.Metrics[0].Get(evidence.MetricAllocBytes); v != start {
		t.Errorf("the metrics of the start that were kept say %v, want %v", v, start)
	}
	if v, _ := again.Metrics[1].Get(evidence.MetricAllocBytes); v != end {
		t.Errorf("the metrics of the end that were kept say %v, want %v", v, end)
	}
	if again.Main != serviceModule || again.Root != e.Root {
		t.Errorf("main %q, root %q; want %q, %q", again.Main, again.Root, serviceModule, e.Root)
	}
}

func TestFilesRefused(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(text, []byte("not a profile"), 0o644); err != nil {
		t.Fatal(err)
	}
	wantError(t, []string{"nothing"}, nil, Options{}, `there is no file nothing; .* -bench \. ; .* -- before it`)
	wantError(t, []string{"localhost:6060"}, nil, Options{}, `there is no file localhost:6060; .* http://localhost:6060`)
	wantError(t, []string{"ftp://host/x"}, nil, Options{}, `only http`)
	wantError(t, []string{dir}, nil, Options{}, `there are no profiles in the folder .*-bench`)
	wantError(t, []string{text}, nil, Options{}, `notes\.txt`)
	wantError(t, []string{"-"}, nil, Options{Stdin: strings.NewReader("")}, `standard input`)
	wantError(t, []string{"http://a", "http://me:secret@b"}, nil, Options{}, `http://a and http://me:xxxxx@b are different programs`)
	if os.Geteuid() != 0 { // who may read everything is refused nothing
		closed := filepath.Join(dir, "closed.pb.gz")
		if err := os.WriteFile(closed, nil, 0); err != nil {
			t.Fatal(err)
		}
		wantError(t, []string{closed}, nil, Options{}, `closed\.pb\.gz: permission denied; `)
	}
}

// What cannot be a profile is refused before it is read.
func TestFileTooLarge(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no holes here")
	}
	name := filepath.Join(t.TempDir(), "disk.img")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(1 << 40); err != nil {
		t.Skip(err)
	}
	wantError(t, []string{name}, nil, Options{}, `disk\.img: larger than 512 MiB, so no profile; give profiles`)
}

// Nothing that is given is left out silently.
func TestMixesRefused(t *testing.T) {
	const sample = "../../freehold/testdata/sample/"
	wantError(t, []string{"."}, []string{"prog"}, Options{Bench: "."}, `the package \. and the command prog are different programs; diagnose one at a time`)
	wantError(t, []string{"http://a"}, nil, Options{Bench: "."}, `-bench needs a package, and http://a is none`)
	wantError(t, []string{sample + "cpu.pb.gz"}, nil, Options{Bench: "."}, `-bench needs a package, and .*cpu\.pb\.gz is none`)
	wantError(t, []string{sample}, nil, Options{Duration: time.Second}, `-duration: files have a length of their own`)
	wantError(t, nil, []string{"prog"}, Options{Bench: "."}, `-bench needs a package, such as \./`)
	for _, file := range []string{"heap1.pb.gz", "metrics1.json"} {
		wantError(t, []string{sample + file, "http://a"}, nil, Options{}, `has heap profiles and metrics, and the doctor takes its own from http://a; give one or the other`)
	}
	wantError(t, []string{sample + "heap1.pb.gz", "."}, nil, Options{Bench: "."}, `and the doctor takes its own from \.;`)
}

// A module of its own, outside of every workspace.
func writeModule(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GOWORK", "off")
	t.Chdir(dir)
	return dir
}

const goMod = "module example.com/words\n\ngo 1.25\n"

func TestBenchmarks(t *testing.T) {
	dir := writeModule(t, map[string]string{"go.mod": goMod, "words.go": "package words\n", "words_test.go": `package words

import ("strings"; "testing")

var sink []string

func BenchmarkFields(b *testing.B) {
	for b.Loop() {
		sink = strings.Fields(strings.Repeat("word ", 1000))
	}
}

func BenchmarkUntimed(b *testing.B) {
	BenchmarkFields(b)
	b.ReportMetric(0, "ns/op")
}
`})
	var out bytes.Buffer
	kept := filepath.Join(t.TempDir(), "kept")
	e := collected(t, []string{"."}, nil, Options{Bench: "Fields", Duration: 300 * time.Millisecond, Output: &out, Save: kept})
	if e.CPU == nil || e.Heap[1] == nil || e.Trace == nil || len(e.Trace.Cycles) == 0 {
		t.Fatalf("pieces are missing: %+v", e)
	}
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Benchmarks) != 1 || e.Benchmarks[0].Name != "BenchmarkFields" || e.Benchmarks[0].Package != "example.com/words" || !e.Benchmarks[0].Runs[0].Memory {
		t.Errorf("the results are %+v", e.Benchmarks)
	}
	if again := collected(t, []string{kept}, nil, Options{}); !reflect.DeepEqual(again.Benchmarks, e.Benchmarks) {
		t.Errorf("the results %+v were kept as %+v", e.Benchmarks, again.Benchmarks)
	}
	if e.Main != "example.com/words" || e.Source != "example.com/words -bench Fields" || e.Root != dir && e.Root != root {
		t.Errorf("main %q, source %q, root %q", e.Main, e.Source, e.Root)
	}
	sameReport(t, e, kept)
	t.Chdir(t.TempDir())
	if again := collected(t, []string{dir}, nil, Options{Bench: "Fields", Duration: time.Millisecond}); again.Source != e.Source {
		t.Errorf("from outside of the module the source is %q", again.Source)
	}
	t.Chdir(dir)
	if !strings.Contains(out.String(), "BenchmarkFields") {
		t.Errorf("the benchmarks' own figures are lost: %q", out.String())
	}
	_, err = From(t.Context(), []string{"."}, nil, Options{Bench: "Untimed", Duration: time.Millisecond})
	if err != nil {
		t.Errorf("a benchmark that hides its time: %v", err)
	}
	wantError(t, []string{"."}, nil, Options{Bench: "Nothing"}, `no benchmark of example.com/words matches "Nothing"`)
}

func TestBenchmarksRefused(t *testing.T) {
	writeModule(t, map[string]string{"go.mod": goMod, "words.go": "package words\n", "words_test.go": "package words\nvar x int = \"\"\n"})
	wantError(t, []string{"."}, nil, Options{Bench: "."}, `the tests of \. do not build: .*words_test.go:2:`)
	wantError(t, []string{"./missing"}, nil, Options{Bench: "."}, `there is no package \./missing: `)
	wantError(t, []string{".", "./more"}, nil, Options{Bench: "."}, `different programs`)
	if err := os.Remove("words_test.go"); err != nil {
		t.Fatal(err)
	}
	wantError(t, []string{"."}, nil, Options{Bench: "."}, `\. has no tests, and so no benchmarks`)
	wantError(t, nil, asRole(t, "collects"), Options{Source: filepath.Join(t.TempDir(), "missing")}, `no go\.mod`)
}

// TestSourceHere: the source is the working directory's module if the profile has a function of it,
// even if the program was built elsewhere.
func TestSourceHere(t *testing.T) {
	dir := writeModule(t, map[string]string{"go.mod": goMod})
	for at, want := range map[[2]string]bool{
		{"example.com/words/inner.F", "/elsewhere/f.go"}: true, {"example.com/words.F", "/elsewhere/f.go"}: true, {"example.com/wordsmith.F", "/elsewhere/f.go"}: false,
		{"main.main", "/elsewhere/f.go"}: false, {"main.main", "example.com/words/f.go"}: true, {"main.main", "example.com/wordsmith/f.go"}: false, // of a binary built with -trimpath
	} {
		fn := at[0]
		c := &collector{ev: &evidence.Evidence{CPU: &profile.Profile{Function: []*profile.Function{{Name: fn, Filename: at[1]}}}}}
		if err := c.findSource(); err != nil {
			t.Fatal(err)
		}
		if found := c.ev.Root != ""; found != want || found && (c.ev.Main != "example.com/words" || filepath.Base(c.ev.Root) != filepath.Base(dir)) {
			t.Errorf("%s: main %q, root %q", fn, c.ev.Main, c.ev.Root)
		}
	}
}
