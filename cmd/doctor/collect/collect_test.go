package collect

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/freehold-go/freehold/cmd/doctor"
	"github.com/freehold-go/freehold/cmd/doctor/service"
)

// Variables that make this test binary the command that is traced.
const (
	roleVariable    = "FREEHOLD_COLLECT_ROLE"
	addressVariable = "FREEHOLD_COLLECT_ADDRESS" // where the one that serves listens
)

var sink []byte

func TestMain(m *testing.M) {
	service.RunChild()
	switch os.Getenv(roleVariable) {
	case "":
		os.Exit(m.Run())
	case "collects":
		for range 4 {
			sink = make([]byte, 1<<20)
			runtime.GC()
		}
		// GC returns before the runtime has told of it, piece by piece, and what stops the world waits until it has.
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
		if address := os.Getenv(addressVariable); address != "" { // by which a test sees it
			if _, err := net.Listen("tcp", address); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
		for {
			sink = make([]byte, 1<<20)
			_ = bytes.Count(sink, sink[:1]) // some CPU time
			runtime.GC()
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// collected runs From and fails the test on an error.
func collected(t *testing.T, inputs, command []string, o Options) *doctor.Evidence {
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

// The sample service gives every piece of evidence, and what was kept of it reads the same.
func TestService(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kept")
	var lines []string
	e := collected(t, nil, nil, Options{Duration: time.Second, Save: dir, Progress: func(line string) { lines = append(lines, line) }})
	if e.CPU == nil || e.Heap[0] == nil || e.Heap[1] == nil || e.Window < time.Second {
		t.Fatalf("pieces are missing: %+v", e)
	}
	start, _ := e.Metrics[0].Get(doctor.MetricAllocBytes)
	end, _ := e.Metrics[1].Get(doctor.MetricAllocBytes)
	if start <= 0 || end <= start {
		t.Errorf("allocated bytes go from %v to %v", start, end)
	}
	if e.Main != serviceModule || filepath.Base(e.Root) != "cmd" || e.Source != "the sample service" || e.Go != runtime.Version() {
		t.Errorf("main %q, root %q, source %q, Go %q", e.Main, e.Root, e.Source, e.Go)
	}
	if text := strings.Join(lines, "\n"); !strings.Contains(text, "1 of 1 s") {
		t.Errorf("the progress never came to its end:\n%s", text)
	}
	again := collected(t, []string{dir}, nil, Options{})
	if again.CPU.DurationNanos != e.CPU.DurationNanos || again.Heap[0].TimeNanos != e.Heap[0].TimeNanos || again.Heap[1].TimeNanos != e.Heap[1].TimeNanos {
		t.Error("the profiles that were kept are others")
	}
	if v, _ := again.Metrics[0].Get(doctor.MetricAllocBytes); v != start {
		t.Errorf("the metrics of the start that were kept say %v, want %v", v, start)
	}
	if v, _ := again.Metrics[1].Get(doctor.MetricAllocBytes); v != end {
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
	wantError(t, []string{sample}, nil, Options{Duration: time.Second}, `-duration: nothing is watched`)
	wantError(t, nil, []string{"prog"}, Options{Bench: "."}, `-bench needs a package, such as \./`)
	for _, file := range []string{"heap1.pb.gz", "metrics1.json"} {
		wantError(t, []string{sample + file, "http://a"}, nil, Options{}, `heap profiles and metrics of .*, but http://a is watched for its own; give one or the other`)
	}
	wantError(t, []string{sample + "heap1.pb.gz", "."}, nil, Options{Bench: "."}, `but \. is watched for its own`)
}

func asRole(t *testing.T, role string) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(roleVariable, role)
	return []string{self}
}

// The trace is taken out of what a command writes, and the rest passed on. How it ends does not matter.
func TestCommand(t *testing.T) {
	command := asRole(t, "collects")
	var out bytes.Buffer
	dir := filepath.Join(t.TempDir(), "kept")
	e := collected(t, nil, command, Options{Output: &out, Save: dir})
	if e.Trace == nil || len(e.Trace.Cycles) < 4 || !e.Trace.Cycles[3].Forced {
		t.Fatalf("the trace is %+v, want four forced cycles", e.Trace)
	}
	for _, want := range []string{"its output\n", "gc is not what this line is about\n", "its last words"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %q: %q", want, out.String())
		}
	}
	if cpu, _ := e.Metrics[1].Get(doctor.MetricProcessCPU); e.Window <= 0 || cpu <= 0 || e.Go != runtime.Version() {
		t.Errorf("window %v, CPU %v s, Go %q", e.Window, cpu, e.Go)
	}
	sameReport(t, e, dir)
}

// sameReport checks that what was kept in a folder is judged like the evidence itself.
func sameReport(t *testing.T, e *doctor.Evidence, dir string) {
	t.Helper()
	again := collected(t, []string{dir}, nil, Options{})
	if again.Main != e.Main || again.Go != e.Go {
		t.Errorf("main %q, Go %q; want %q, %q", again.Main, again.Go, e.Main, e.Go)
	}
	got, want := doctor.Diagnose(again), doctor.Diagnose(e)
	if got.Verdict != want.Verdict || got.CPUSeconds != want.CPUSeconds || math.Abs(got.WindowSeconds-want.WindowSeconds) > 1e-6 {
		t.Errorf("read again: %q, %v s of CPU in %v s; want %q, %v s in %v s", got.Verdict, got.CPUSeconds, got.WindowSeconds,
			want.Verdict, want.CPUSeconds, want.WindowSeconds)
	}
}

func TestCommandStopped(t *testing.T) {
	e := collected(t, nil, asRole(t, "for good"), Options{Duration: 300 * time.Millisecond})
	if len(e.Trace.Cycles) == 0 {
		t.Error("nothing was traced")
	}
}

// freeAddress is a loopback address at which nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// wantFree checks that nobody listens at an address any more.
func wantFree(t *testing.T, address string) {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatalf("the command goes on: %v", err)
	}
	l.Close()
}

// What a script started ends with it, and its CPU time counts.
func TestScriptStopped(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no shell")
	}
	self := asRole(t, "for good")[0]
	address := freeAddress(t)
	t.Setenv(addressVariable, address)
	e := collected(t, nil, []string{"/bin/sh", "-c", self + "; true"}, Options{Duration: 500 * time.Millisecond})
	wantFree(t, address)
	if cpu, _ := e.Metrics[1].Get(doctor.MetricProcessCPU); len(e.Trace.Cycles) == 0 || cpu < 0.01 { // a shell takes 1 ms
		t.Errorf("%d cycles, %v s of CPU", len(e.Trace.Cycles), cpu)
	}
}

// What a command leaves running is ended; how much CPU time that took is not known, so that no share is told of it.
func TestScriptLeaves(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no shell")
	}
	self := asRole(t, "collects")[0]
	address := freeAddress(t)
	t.Setenv(addressVariable, address)
	script := roleVariable + "='for good' " + self + " >/dev/null 2>&1 & sleep 0.5; " + self
	var told []string
	e := collected(t, nil, []string{"/bin/sh", "-c", script}, Options{Progress: func(line string) { told = append(told, line) }})
	wantFree(t, address)
	if cpu, ok := e.Metrics[1].Get(doctor.MetricProcessCPU); ok {
		t.Errorf("%v s of CPU are taken for all", cpu)
	}
	if text := strings.Join(told, "\n"); !strings.Contains(text, "left a process running") {
		t.Errorf("it says nothing of what it ended: %q", text)
	}
}

// A server is started, watched at its address once it answers, and ended.
func TestCommandAt(t *testing.T) {
	command := asRole(t, "serves")
	address := freeAddress(t)
	t.Setenv(addressVariable, address)
	e := collected(t, []string{"http://" + address}, command, Options{Duration: time.Second})
	if e.CPU == nil || e.Heap[0] == nil || e.Heap[1] == nil || e.Trace == nil || e.Source != command[0]+", http://"+address {
		t.Errorf("pieces are missing: %+v", e)
	}
	wantFree(t, address)
	wantError(t, []string{"http://" + address}, asRole(t, "fails"), Options{}, `the command ended \(exit status 4\) before it answered`)
}

// Who presses Ctrl-C wants to see what there is up to then.
func TestCommandInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	timer := time.AfterFunc(300*time.Millisecond, cancel)
	defer timer.Stop()
	e, err := From(ctx, nil, asRole(t, "for good"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Trace.Cycles) == 0 {
		t.Error("nothing was traced")
	}
}

func TestCommandRefused(t *testing.T) {
	wantError(t, nil, []string{"no-such-command"}, Options{}, `there is no command no-such-command; give its path`)
	wantError(t, nil, []string{"go", "run", "."}, Options{}, `go run would be traced .* go build`)
	wantError(t, nil, asRole(t, "quiet"), Options{}, `without a collection: there is nothing to judge`)
	wantError(t, nil, asRole(t, "fails"), Options{}, `failed \(exit status 4\) before a collection ran; its last words: no such table`)
	self := asRole(t, "collects")[0]
	if runtime.GOOS != "windows" {
		wantError(t, nil, []string{"/bin/sh", "-c", self + "; " + self}, Options{}, `/bin/sh started more than one Go program, .* give the program itself`)
	}
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" {
		wantError(t, nil, []string{plain}, Options{}, `cannot run .*: permission denied; is it an executable file\?`)
		wantError(t, nil, []string{"/bin/sh", "-c", "exit 0"}, Options{}, `no trace of Go's collector .* is it a Go program\?`)
	}
}

// Where a CPU profile tells the costs, the traces of several programs are no loss.
func TestTraceOfSeveral(t *testing.T) {
	const line = "gc 1 @0.001s 2%: 0.1+0.2+0.3 ms clock, 0.2+0.1/0.2/0.3+0.6 ms cpu, 3->5->2 MB, 4 MB goal, 0 MB stacks, 0 MB globals, 2 P\n"
	for name, cpu := range map[string]*profile.Profile{"with": {}, "without": nil} {
		told := ""
		c := &collector{ev: &doctor.Evidence{CPU: cpu}, Options: Options{Save: "kept", Progress: func(line string) { told = line }}}
		traced := &doctor.TraceFilter{}
		_, _ = traced.Write([]byte(line + line))
		err := c.trace([]string{"script"}, traced)
		if len(c.pieces) != 0 || c.ev.Trace != nil {
			t.Errorf("%s a profile: the trace is taken", name)
		}
		if cpu != nil && (err != nil || !strings.Contains(told, "script started more than one Go program")) {
			t.Errorf("with a profile: %v, and it says %q", err, told)
		}
		if cpu == nil && (err == nil || !strings.Contains(err.Error(), "give the program itself")) {
			t.Errorf("without a profile: %v", err)
		}
	}
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
	wantError(t, []string{"."}, nil, Options{Bench: "."}, `\. has no tests, so no benchmarks`)
	wantError(t, nil, asRole(t, "collects"), Options{Source: filepath.Join(t.TempDir(), "missing")}, `no go\.mod`)
}

// The source is the working directory's module if the profile has a function of it, whoever built it.
func TestSourceHere(t *testing.T) {
	dir := writeModule(t, map[string]string{"go.mod": goMod})
	for at, want := range map[[2]string]bool{
		{"example.com/words/inner.F", "/elsewhere/f.go"}: true, {"example.com/words.F", "/elsewhere/f.go"}: true, {"example.com/wordsmith.F", "/elsewhere/f.go"}: false,
		{"main.main", "/elsewhere/f.go"}: false, {"main.main", "example.com/words/f.go"}: true, {"main.main", "example.com/wordsmith/f.go"}: false, // of a binary built with -trimpath
	} {
		fn := at[0]
		c := &collector{ev: &doctor.Evidence{CPU: &profile.Profile{Function: []*profile.Function{{Name: fn, Filename: at[1]}}}}}
		if err := c.findSource(); err != nil {
			t.Fatal(err)
		}
		if found := c.ev.Root != ""; found != want || found && (c.ev.Main != "example.com/words" || filepath.Base(c.ev.Root) != filepath.Base(dir)) {
			t.Errorf("%s: main %q, root %q", fn, c.ev.Main, c.ev.Root)
		}
	}
}
