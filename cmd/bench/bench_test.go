// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/freehold-go/freehold/cmd/bench/usage"
	"github.com/freehold-go/freehold/cmd/internal/golden"
)

// tests are the workloads that a child of these tests knows. The child is this test binary, started
// again. The first workloads have the names and words of real ones, for the tests of selection and
// output.
var tests = testSet()

func TestMain(m *testing.M) {
	os.Setenv("GORACE", cmp.Or(os.Getenv("GORACE"), "atexit_sleep_ms=0")) // or each child with the race detector sleeps for a second before it ends
	tests.RunChild()
	os.Exit(m.Run())
}

func testSet() *Set {
	same := func(sum uint64) func(*Run) func() uint64 {
		return func(*Run) func() uint64 { return func() uint64 { return sum } }
	}
	names := func(names ...string) (list []Contestant) {
		for _, name := range names {
			list = append(list, Contestant{Name: name, Prepare: same(1)})
		}
		return list
	}
	test := func(name string, contestants ...Contestant) Workload {
		return Workload{
			Name: name, Doc: "A workload of the tests.", Op: "call", Size: "things", Quick: []int{3}, Full: []int{4},
			Ops: func(int) int { return 1 }, Contestants: contestants,
		}
	}
	list := test("list", names(HeapName, "sync.Pool", BoundName, "offheap New", "offheap Ref")...)
	list.Doc, list.Op, list.Size = "Build a linked list of n nodes of 16 bytes, walk it, free every node.", "node", "nodes"
	list.Bars = []Bar{AtMost("list, offheap New by the Go heap", 0.25, TimeRatio("list", 0, "offheap New", HeapName))}
	log := test("fragmentation/log", names(idleName, HeapName)...)
	log.Doc = "Grow to n live bytes, shrink to a sixteenth, eight times (twice in the quick selection): blocks of 64 B to " +
		"256 KiB (log-uniform), written in full, freed in random order."
	log.Op, log.Size, log.Contestants[0].Baseline = "block", "bytes", true
	objects := test("objects", names(HeapName, "sync.Pool", slabName)...)
	objects.Size, objects.Bound = "objects", slabName
	json := test("json", names(HeapName, slabName)...)
	json.Bound = slabName
	json.Inputs = func(*Options) ([]Input, error) { return []Input{{Name: "one", Bytes: 10, Quick: true}}, nil }
	missing := Contestant{Name: "absent", Prepare: same(1), Unavailable: func() string { return "the library is not installed" }}
	return NewSet(list, test("pair", names(HeapName)...), test("pair/all", names(HeapName)...),
		test("churn", names("offheap", "other")...), test("churn/zeroed", names("offheap")...), log, objects, json,
		test("test/good", Contestant{Name: HeapName, Prepare: busy}, Contestant{Name: BoundName, Prepare: busy}),
		test("test/mismatch", Contestant{Name: HeapName, Prepare: same(1)}, Contestant{Name: "other", Prepare: same(2)}),
		test("test/crash", Contestant{Name: HeapName, Prepare: func(*Run) func() uint64 { panic("boom: the child's last words") }}),
		test("test/fail", Contestant{Name: HeapName, Prepare: func(r *Run) func() uint64 {
			r.Fail(errors.New("this contestant gave up"))
			return func() uint64 { return 0 }
		}}),
		test("test/missing", Contestant{Name: HeapName, Prepare: same(1)}, missing),
		test("test/environment", Contestant{Name: HeapName, Env: []string{"BENCH_TEST=set"}, Prepare: func(r *Run) func() uint64 {
			r.Report("set", float64(len(os.Getenv("BENCH_TEST"))))
			return func() uint64 { return 0 }
		}}))
}

const (
	idleName = "idle"
	slabName = "slab"
)

// TestSetRefuses: names in a set are one of a kind, and must be there to be added to.
func TestSetRefuses(t *testing.T) {
	w := Workload{Name: "w", Contestants: []Contestant{{Name: "c"}}}
	for want, f := range map[string]func(){
		`bench: two workloads are called "w"`:         func() { NewSet(w, w) },
		`bench: workload "w" has two contestants "c"`: func() { NewSet(w).Add("w", Contestant{Name: "c"}) },
		`bench: there is no workload "v"`:             func() { NewSet(w).AddBars("v") },
	} {
		func() {
			defer func() {
				if got := recover(); got != want {
					t.Errorf("panics with %v, want %q", got, want)
				}
			}()
			f()
		}()
	}
}

// busy is the Prepare of a contestant that takes time by the clock that is read, which has microseconds.
func busy(*Run) func() uint64 {
	return func() uint64 {
		for begin := usage.CPU(); usage.CPU() == begin; {
		}
		return 1
	}
}

// runPlan measures the workloads that match, once and shortly.
func runPlan(t *testing.T, workloads string) []*Row {
	t.Helper()
	p, err := tests.makePlan(Options{Run: regexp.MustCompile(workloads), Count: 1, MinTime: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	p.run(t.Context(), func(event) {})
	return p.rows()
}

func TestRatiosAndPasses(t *testing.T) {
	rows := runPlan(t, "^test/good$")
	if len(rows) != 2 {
		t.Fatalf("%d rows, want 2", len(rows))
	}
	for _, r := range rows {
		if r.Error != "" || r.Passes != 1 || r.NsOp <= 0 || r.PeakRSS <= 0 || r.LiveHeap <= 0 {
			t.Errorf("%s: %+v", r.Contestant, r)
		}
		if r.Ratio == nil || r.BoundRatio == nil {
			t.Errorf("%s has no ratios", r.Contestant)
		}
	}
	if *rows[0].Ratio != 1 || *rows[1].BoundRatio != 1 {
		t.Errorf("baselines have ratios %g and %g to themselves", *rows[0].Ratio, *rows[1].BoundRatio)
	}
}

func TestMismatchIsAnError(t *testing.T) {
	rows := runPlan(t, "^test/mismatch$")
	if rows[0].Error != "" || !strings.Contains(rows[1].Error, `checksum of round 0 is 2, but "Go heap" has 1`) {
		t.Errorf("errors are %q and %q", rows[0].Error, rows[1].Error)
	}
}

func TestFailuresOfChildrenAreShown(t *testing.T) {
	for workload, want := range map[string]string{
		"test/crash": "boom: the child's last words",
		"test/fail":  "this contestant gave up",
	} {
		row := runPlan(t, "^"+workload+"$")[0]
		if !strings.Contains(row.Error, want) || !strings.Contains(row.Error, "exit status") {
			t.Errorf("%s: error is %q, want it to contain %q", workload, row.Error, want)
		}
		var out bytes.Buffer
		rep := &report{Rows: []*Row{row}}
		(&tableWriter{out: &out}).write(rep)
		if !strings.Contains(out.String(), want) || !rep.failed() {
			t.Errorf("%s: the report does not tell %q:\n%s", workload, want, out.String())
		}
	}
}

func TestUnavailableContestantIsSkipped(t *testing.T) {
	rows := runPlan(t, "^test/missing$")
	if rows[0].Passes != 1 || rows[1].Passes != 0 || rows[1].Skipped != "the library is not installed" || rows[1].Error != "" {
		t.Errorf("rows: %+v, %+v", rows[0], rows[1])
	}
}

func TestChildGetsItsEnvironment(t *testing.T) {
	if row := runPlan(t, "^test/environment$")[0]; row.Extra["set"] != 3 {
		t.Errorf("the child saw %v, error %q", row.Extra, row.Error)
	}
}

// TestCancelKeepsWhatIsDone interrupts a run at its fourth child.
func TestCancelKeepsWhatIsDone(t *testing.T) {
	p, err := tests.makePlan(Options{Run: regexp.MustCompile("^test/(good|missing|environment)$"), Count: 2, MinTime: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	p.run(ctx, func(e event) {
		if e.job.w.Name == "test/missing" {
			cancel()
		}
	})
	rows := p.rows()
	if rows[0].Passes != 1 || rows[1].Passes != 1 {
		t.Errorf("what was done is lost: %+v, %+v", rows[0], rows[1])
	}
	if last := rows[len(rows)-1]; last.Passes != 0 || last.Skipped != "interrupted" || last.Error != "" {
		t.Errorf("what was not done: %+v", last)
	}
}

// TestQuickSelectionEnds gives the quick selection no time at all: nothing may start, and every row must say why.
func TestQuickSelectionEnds(t *testing.T) {
	p, err := tests.makePlan(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !p.limited || p.limit >= 90*time.Second {
		t.Fatalf("the quick selection is not limited to less than 90 s: %v, %v", p.limited, p.limit)
	}
	p.budget = 0
	p.run(t.Context(), func(e event) { t.Errorf("%s was started", e.job.w.Name) })
	for _, r := range p.rows() {
		if r.Skipped == "" {
			t.Errorf("%s, %s: no word on why it was not run", r.Workload, r.Contestant)
		}
	}
}

func TestPassesAlternate(t *testing.T) {
	p, err := tests.makePlan(Options{Run: regexp.MustCompile("^test/good$|^test/missing$")})
	if err != nil {
		t.Fatal(err)
	}
	names := func(jobs []*job) (s []string) {
		for _, j := range jobs {
			s = append(s, j.w.Name+" "+j.c.Name)
		}
		return s
	}
	want := []string{"test/good bound", "test/good Go heap", "test/missing absent", "test/missing Go heap"}
	if got := names(p.inOrder(1)); !slices.Equal(got, want) {
		t.Errorf("second pass runs %q, want %q", got, want)
	}
}

func TestSelection(t *testing.T) {
	for _, test := range []struct {
		options Options
		want    []string // workloads
	}{
		{Options{Run: regexp.MustCompile("^(list|pair)$")}, []string{"list", "pair", "pair/all"}},
		{Options{Run: regexp.MustCompile("^pair/all$")}, []string{"pair/all"}},
		{Options{Run: regexp.MustCompile("churn"), Contestants: regexp.MustCompile("^offheap$")}, []string{"churn", "churn/zeroed"}},
	} {
		p, err := tests.makePlan(test.options)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, j := range p.jobs {
			got = append(got, j.w.Name)
		}
		if got = slices.Compact(got); !slices.Equal(got, test.want) {
			t.Errorf("%+v selects %q, want %q", test.options, got, test.want)
		}
	}
	if _, err := tests.makePlan(Options{Run: regexp.MustCompile("^nothing$")}); !errors.Is(err, errNothingSelected) {
		t.Errorf("an empty selection gives %v", err)
	}
}

func TestJSONContract(t *testing.T) {
	ratio := 0.5
	rep := &report{Rows: []*Row{
		{
			Workload: "list", N: 2_000_000, Contestant: "offheap New", NsOp: 12.5, Spread: 0.04, Ratio: &ratio, AllocsOp: 0,
			GCCycles: 3, GCCPU: 0.25, LiveHeap: 1 << 20, PeakRSS: 64 << 20, Op: "node", WallNsOp: 12.75, CPU: 1.5, Ops: 1e8,
			Passes: 3, NsOps: []float64{12.25, 12.5, 12.75}, Extra: map[string]float64{"trough_rss_ratio": 1.25},
		},
		{Workload: "list", N: 2_000_000, Contestant: "other", Op: "node", Skipped: "interrupted"},
	}}
	var out bytes.Buffer
	if err := rep.writeJSON(&out); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "rows.json", out.Bytes())
	first, _, _ := bytes.Cut(out.Bytes(), []byte("\n"))
	var object map[string]any
	if err := json.Unmarshal(first, &object); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"workload", "n", "contestant", "ns_op", "spread", "ratio", "bound_ratio", "allocs_op", "gc_cycles", "gc_cpu_s",
		"live_heap_bytes", "peak_rss_bytes",
	} {
		if _, ok := object[name]; !ok {
			t.Errorf("a row has no %q", name)
		}
	}
}

// sampleReport is a report with every kind of row.
func sampleReport() *report {
	list, frag := tests.find("list"), tests.find("fragmentation/log")
	of := func(w *Workload, n int, name string, ns float64, more func(*Row)) *Row {
		r := &Row{
			Workload: w.Name, N: n, Contestant: name, Op: w.Op, NsOp: ns, NsOps: []float64{ns, ns}, Passes: 2, Spread: 0.1,
			LiveHeap: 8 << 20, PeakRSS: 50 << 20, GCCycles: 12, GCCPU: 0.125, AllocsOp: 1, w: w, c: w.contestant(name),
		}
		if more != nil {
			more(r)
		}
		return r
	}
	rows := []*Row{
		of(list, 2_000_000, HeapName, 50.25, nil),
		of(list, 2_000_000, BoundName, 6, func(r *Row) { r.AllocsOp, r.GCCycles, r.GCCPU = 0, 0, 0 }),
		of(list, 2_000_000, "offheap New", 12.125, func(r *Row) { r.AllocsOp = 0.00001 }),
		of(list, 2_000_000, "offheap Ref", 0, func(r *Row) { r.Passes, r.Error = 0, "child failed: exit status 2\n    panic: <boom>" }),
		of(list, 2_000_000, "sync.Pool", 0, func(r *Row) { r.Passes, r.Skipped = 0, "interrupted" }),
		of(frag, 1<<30, idleName, 1e6, nil),
		of(frag, 1<<30, HeapName, 18e3, func(r *Row) {
			r.Extra = map[string]float64{"trough_rss_bytes": 1e9, "trough_rss_ratio": 16.5}
			r.series = []Series{{Name: "resident set over time", Unit: "MiB", Seconds: []float64{0, 1, 2}, Values: []float64{5, 1024, 900}}}
		}),
	}
	for _, r := range rows {
		r.Ratio = ratioTo(r, findRow(rows, r, HeapName))
		r.BoundRatio = ratioTo(r, findRow(rows, r, BoundName))
		adjust(rows, r)
	}
	return &report{Environment: "2026-01-02 15:04 · go1.26 · linux/amd64", Quick: true, Rows: rows, Bars: []BarResult{
		{"list, offheap New by the Go heap", 0.25, 0.241, "12.1 ns, 50.2 ns", true},
		{"fragmentation/log, resident", 1.3, 16.5, "Go heap", false},
	}}
}

func TestTable(t *testing.T) {
	var out bytes.Buffer
	(&tableWriter{out: &out}).write(sampleReport())
	golden.Check(t, "table.txt", out.Bytes())
}

// TestPage checks what a browser would need a network for, and that text is escaped.
func TestPage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.html")
	if err := sampleReport().writeHTML(file); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	for _, outside := range []string{" src=", "<link", "@import", "url(", "sourceMappingURL", "fetch("} {
		if strings.Contains(page, outside) {
			t.Errorf("the page refers to something outside of it: %q", outside)
		}
	}
	for _, want := range []string{
		"panic: &lt;boom&gt;", `"resident set over time"`, "12.1 ns", "not run: interrupted", "Quick selection", "Chart.js v4", "missed",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if err := sampleReport().writeHTML(filepath.Join(t.TempDir(), "no", "folder.html")); err == nil {
		t.Error("a page that cannot be written gives no error")
	}
}

func TestBars(t *testing.T) {
	rep := sampleReport()
	for _, b := range tests.Judge(rep.Rows) {
		if b.Name == "list, offheap New by the Go heap" {
			if want := 12.125 / 50.25; b.Value != want || !b.Met {
				t.Errorf("%+v, want %g", b, want)
			}
			return
		}
	}
	t.Error("the bar on list was not judged")
}

// TestSignal sends a real signal to the command and wants the report of the rounds done so far.
func TestSignal(t *testing.T) {
	if os.Getenv("BENCH_TEST_COMMAND") != "" {
		if err := tests.Command().Run(context.Background(), strings.Fields("bench -run ^test/good$ -count 100000 -mintime 1ms")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if testing.Short() {
		t.Skip("starts this binary as the command")
	}
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestSignal$")
		cmd.Env = append(os.Environ(), "BENCH_TEST_COMMAND=1")
		var out bytes.Buffer
		started := &firstChild{done: make(chan struct{})}
		cmd.Stdout, cmd.Stderr = &out, started
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		<-started.done
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		err := cmd.Wait()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != exitInterrupted {
			t.Errorf("after %v the command ended with %v, want exit status %d", sig, err, exitInterrupted)
		}
		if !strings.Contains(out.String(), "test/good") || !strings.Contains(out.String(), "Quick selection") {
			t.Errorf("no report after %v:\n%s", sig, out.String())
		}
		if !strings.HasPrefix(started.text.String(), "bench: 200000 child processes in 100000 passes, about 3333 min") {
			t.Errorf("it does not say first how long it takes: %.200s", started.text.String())
		}
	}
}

// firstChild closes done when the progress line of the first child is written to it.
type firstChild struct {
	done   chan struct{}
	text   bytes.Buffer
	closed bool
}

func (w *firstChild) Write(p []byte) (int, error) {
	w.text.Write(p)
	if !w.closed && bytes.Contains(p, []byte("[1/")) {
		w.closed = true
		close(w.done)
	}
	return len(p), nil
}
