// SPDX-License-Identifier: Apache-2.0

package sweep

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/freehold-go/freehold/cmd/compare/child"
)

// This test binary is the program that its tests measure: what it does is in the variable.
const actVariable = "FREEHOLD_SWEEP_ACT"

func TestMain(m *testing.M) {
	switch act, argument, _ := strings.Cut(os.Getenv(actVariable), "="); act {
	case "":
		os.Exit(m.Run())
	case "allocate":
		allocate(argument)
	case "own":
		debug.SetGCPercent(50)
		allocate(argument)
	case "fail":
		os.Stderr.WriteString("no such luck\n")
		os.Exit(3)
	case "serve":
		serve(argument)
	case "silent":
		time.Sleep(time.Hour)
	}
}

var sink [][]byte

// allocate makes n MiB of garbage beside 8 MiB that live.
func allocate(n string) {
	for range 128 {
		sink = append(sink, make([]byte, 64<<10))
	}
	mib, err := strconv.Atoi(n)
	if err != nil {
		panic(err)
	}
	for i := range mib << 4 {
		sink[i%len(sink)] = make([]byte, 64<<10)
	}
}

// serve listens, answers each connection with garbage, and ends at SIGTERM.
func serve(file string) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer ln.Close()
	if file != "" {
		if err := os.WriteFile(file, []byte(ln.Addr().String()), 0o600); err != nil {
			panic(err)
		}
	}
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM)
	allocate("64")
	<-end
}

// own is this binary doing something.
func own(t *testing.T, act string) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return []string{actVariable + "=" + act, self}
}

// A faked program takes CPU time and memory by a formula: base and a cost of collections that falls with GOGC.
type faked struct {
	runs    []string
	share   float64 // of the CPU time that collections take with GOGC=100
	stuck   bool    // GOGC changes nothing
	failing int     // the run that fails, counted from 1
	cancel  func()
	at      int // the run at which cancel is called
}

func (f *faked) command() string { return "./faked" }

func (f *faked) run(ctx context.Context, s Setting, traced bool) (*child.Outcome, error) {
	f.runs = append(f.runs, s.String())
	if len(f.runs) == f.at {
		f.cancel()
		return nil, ctx.Err()
	}
	if len(f.runs) == f.failing {
		return nil, errors.New("it fails")
	}
	percent, err := strconv.ParseFloat(s.GOGC, 64)
	if err != nil { // off: the memory is the limit
		limit, err := ParseMemory(s.GOMEMLIMIT)
		if err != nil {
			return nil, err
		}
		percent = 100 * (float64(limit)/(100<<20) - 1)
	}
	if f.stuck {
		percent = 100
	}
	noise := 1 + 0.001*float64(len(f.runs)%5)
	out := &child.Outcome{
		CPU: time.Duration(noise * float64(time.Second) * (1 - f.share + f.share*100/percent)), Wall: time.Second, PeakRSS: noise * (1 + percent/100) * (100 << 20),
	}
	if traced {
		for i := range int(5000 / percent) {
			out.Trace = append(out.Trace, fmt.Sprintf("gc %d @0.001s 2%%: 0.10+0.20+0.30 ms clock, 0.20+0.01/0.02/0.03+0.60 ms cpu, 300->300->100 MB, %d MB goal, 0 MB stacks, 0 MB globals, 2 P\n",
				i+1, 100+int(percent))...)
		}
	}
	return out, nil
}

// sweepOf runs the faked program.
func sweepOf(t *testing.T, f *faked, o Options) (*Report, error) {
	t.Helper()
	o.Command = []string{"./faked"}
	if err := o.prepare(); err != nil {
		t.Fatal(err)
	}
	rows, err := firstRound(t.Context(), f, &o)
	if err != nil {
		return nil, err
	}
	if err := rounds(t.Context(), f, rows, &o); err != nil {
		return nil, err
	}
	return newReport(&o, f, rows, o.Rounds, false), nil
}

// TestKnee: where collections take a third, doubling the memory beyond GOGC=400 saves less than a tenth, and where they take a twentieth
// beyond GOGC=100.
func TestKnee(t *testing.T) {
	for _, c := range []struct {
		share  float64
		memory int64
		want   string
		best   string
	}{
		{0.35, 0, "GOGC=400", ""},
		{0.05, 0, "GOGC=100", ""},
		{0.35, 310 << 20, "GOGC=400", "GOGC=200"},
		{0.35, 10 << 30, "GOGC=400", "GOGC=800"},
	} {
		r, err := sweepOf(t, &faked{share: c.share}, Options{Memory: c.memory})
		if err != nil {
			t.Fatal(err)
		}
		if r.Knee < 0 || r.Rows[r.Knee].Setting.String() != c.want {
			t.Errorf("share %g: the knee is row %d of %+v, want %s", c.share, r.Knee, settings(r), c.want)
		}
		if got := ""; r.Best >= 0 || c.best != "" {
			if r.Best >= 0 {
				got = r.Rows[r.Best].Setting.String()
			}
			if got != c.best {
				t.Errorf("within %d bytes %q is best, want %q", c.memory, got, c.best)
			}
		}
		if len(r.Rows) != 7 || r.Rounds != DefaultRounds || len(r.Paste) != 4 {
			t.Errorf("%d rows, %d rounds, %v", len(r.Rows), r.Rounds, r.Paste)
		}
		if !slices.IsSortedFunc(r.Rows, func(a, b Row) int { return int(a.PeakRSS - b.PeakRSS) }) {
			t.Errorf("rows are not in the order of memory: %v", settings(r))
		}
	}
	r, err := sweepOf(t, &faked{share: 0.3}, Options{Memory: 100 << 20})
	if err != nil || r.Best != -1 || !strings.HasPrefix(r.Verdict, "no setting stays within 100 MiB") || len(r.Paste) != 0 {
		t.Errorf("%v, %d, %q, %v", err, r.Best, r.Verdict, r.Paste)
	}
}

// TestDoubt: where the runs scatter, the rows that could be the knee are named, and where they do not, none is.
func TestDoubt(t *testing.T) {
	report := func(scatter float64) *Report {
		var rows []*row
		for i, cpu := range []float64{1, 0.85, 0.7, 0.69} {
			r := &row{setting: Setting{GOGC: strconv.Itoa(100 << i)}, cycles: 10 >> i}
			for round := range 8 {
				r.cpu = append(r.cpu, cpu*(1+scatter*float64((round*(i+3))%8-4)/4))
				r.wall = append(r.wall, 1)
				r.rss = append(r.rss, float64(int(100)<<i))
			}
			rows = append(rows, r)
		}
		return newReport(&Options{}, &faked{}, rows, 8, false)
	}
	if r := report(0.001); r.Rows[r.Knee].GOGC != "400" || len(r.KneeAlso) > 0 || len(r.Notes) > 0 {
		t.Errorf("without scatter the knee is row %d, or %v, %q", r.Knee, r.KneeAlso, r.Notes)
	}
	r := report(0.25)
	if len(r.KneeAlso) == 0 || slices.Contains(r.KneeAlso, r.Knee) || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "the knee could also be "+r.Rows[r.KneeAlso[0]].Setting.String()) {
		t.Errorf("with scatter the knee is row %d, or %v, %q", r.Knee, r.KneeAlso, r.Notes)
	}
	var text bytes.Buffer
	if err := r.WriteText(&text, false, 100); err != nil || !strings.Contains(text.String(), "\n knee?  "+r.Rows[r.KneeAlso[0]].Setting.String()) {
		t.Errorf("%v\n%s", err, text.String())
	}
}

func settings(r *Report) (list []string) {
	for _, row := range r.Rows {
		list = append(list, row.Setting.String())
	}
	return list
}

// TestTurns: each round has every setting once, and no two rounds have the same order.
func TestTurns(t *testing.T) {
	f := &faked{share: 0.3}
	if _, err := sweepOf(t, f, Options{Rounds: 6}); err != nil {
		t.Fatal(err)
	}
	const n = 7
	seen := map[string]bool{}
	for round := range 6 {
		order := f.runs[1+n*(round+1) : 1+n*(round+2)]
		if all := slices.Compact(slices.Sorted(slices.Values(order))); len(all) != n {
			t.Errorf("round %d has %v", round, order)
		}
		if key := strings.Join(order, ","); seen[key] {
			t.Errorf("round %d has the order of another", round)
		} else {
			seen[key] = true
		}
	}
}

func TestSettingDoesNotTake(t *testing.T) {
	r, err := sweepOf(t, &faked{share: 0.3, stuck: true}, Options{})
	if err != nil || r.Knee != -1 || !strings.HasPrefix(r.Verdict, "the setting does not take: by the heap's goals GOGC was 100 to 100") {
		t.Errorf("%v, knee %d, %q", err, r.Knee, r.Verdict)
	}
}

// TestCollectorOff: no collection is no wonder with a small heap, and otherwise the program's own doing.
func TestCollectorOff(t *testing.T) {
	rows := []*row{{setting: Setting{GOGC: "50"}, peak: 10 << 20}, {setting: Setting{GOGC: "800"}, peak: 10 << 20}}
	if why := noEffect(rows); !strings.HasPrefix(why, "no collection ran under any setting: the program's heap is small") {
		t.Errorf("a small heap: %q", why)
	}
	rows[0].peak = 1 << 30
	if why := noEffect(rows); !strings.HasPrefix(why, "the setting does not take: no collection ran although the process took 1.00 GiB") {
		t.Errorf("a large heap: %q", why)
	}
}

func TestDominated(t *testing.T) {
	rows := []Row{
		{CPURatio: Ratio{Ratio: 1}, RSSRatio: Ratio{Ratio: 1}},
		{CPURatio: Ratio{Ratio: 0.8}, RSSRatio: Ratio{Ratio: 2}},
		{CPURatio: Ratio{Ratio: 0.9}, RSSRatio: Ratio{Ratio: 3}},     // less memory and less time above
		{CPURatio: Ratio{Ratio: 0.795}, RSSRatio: Ratio{Ratio: 2.1}}, // a little of each
	}
	markDominated(rows)
	for i, want := range []bool{false, false, true, false} {
		if got := rows[i].Dominated; got != want {
			t.Errorf("row %d: dominated %v, want %v", i, got, want)
		}
	}
}

func TestReportForms(t *testing.T) {
	r, err := sweepOf(t, &faked{share: 0.35}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var text, coloured, page, data bytes.Buffer
	if err := errors.Join(r.WriteText(&text, false, 100), r.WriteText(&coloured, true, 100), r.WriteHTML(&page), r.WriteJSON(&data)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"GOGC=400 is the knee", " knee  GOGC=400 ", "  shell       GOGC=400 ./faked\n", "  Dockerfile  ENV GOGC=400\n", `env: [{name: GOGC, value: "400"}]`} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text lacks %q:\n%s", want, text.String())
		}
	}
	if strings.Contains(text.String(), "\x1b") || !strings.Contains(coloured.String(), "\x1b[2m") && slices.ContainsFunc(r.Rows, func(r Row) bool { return r.Dominated }) {
		t.Error("colours are where they must not be, or dominated rows are not dimmed")
	}
	for _, want := range []string{"<svg ", "GOGC=400", "prefers-color-scheme: dark", "<polyline"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page.String(), "<script") || strings.Contains(page.String(), "NaN") {
		t.Error("the page has a script, or a number that is none")
	}
	var back Report
	if err := json.Unmarshal(data.Bytes(), &back); err != nil || back.Verdict != r.Verdict || len(back.Rows) != len(r.Rows) {
		t.Errorf("%v, %+v", err, back)
	}
}

// TestCommand runs a real program, one that sets GOGC itself, and one that fails.
func TestCommand(t *testing.T) {
	t.Setenv("GOGC", "33") // a setting of the caller's
	r, err := Run(t.Context(), Options{Command: own(t, "allocate=256"), Rounds: 6})
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]Row{}
	for _, row := range r.Rows {
		by[row.Setting.String()] = row
	}
	few, many := by["GOGC=800"], by["GOGC=50"]
	if many.Collections < 4*max(1, few.Collections) || few.PeakRSS <= many.PeakRSS || many.CPURatio.Low == 0 {
		t.Errorf("GOGC=800: %+v\nGOGC=50: %+v", few, many)
	}
	if len(r.Rows) != 7 || r.Knee < 0 {
		t.Errorf("%d rows, knee %d", len(r.Rows), r.Knee)
	}
	r, err = Run(t.Context(), Options{Command: own(t, "own=256"), Rounds: 6, Settings: []Setting{{GOGC: "100"}, {GOGC: "50"}, {GOGC: "400"}}})
	if err != nil || !strings.HasPrefix(r.Verdict, "the setting does not take: ") {
		t.Errorf("%v, %+v", err, r)
	}
	_, err = Run(t.Context(), Options{Command: own(t, "fail")})
	if err == nil || !strings.HasPrefix(err.Error(), "sweep: the command with GOGC=100 failed: exit status 3") || !strings.HasSuffix(err.Error(), "no such luck") {
		t.Errorf("error is %v", err)
	}
}

// TestPrepare runs the command before each run, and ends where it fails.
func TestPrepare(t *testing.T) {
	file := filepath.Join(t.TempDir(), "marks")
	o := Options{Command: own(t, "allocate=1"), Rounds: 6, Settings: []Setting{{GOGC: "100"}, {GOGC: "200"}}, Prepare: "sh -c 'echo >>" + file + "'"}
	if _, err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(file); err != nil || len(data) != 1+2*(1+6) {
		t.Errorf("%d runs were prepared, %v", len(data), err)
	}
	o.Prepare = "false"
	if _, err := Run(t.Context(), o); err == nil || !strings.HasPrefix(err.Error(), "sweep: -prepare failed") {
		t.Errorf("error is %v", err)
	}
}

// TestServer starts a server for each run, finds out that it listens, and ends it after its load.
func TestServer(t *testing.T) {
	two := []Setting{{GOGC: "100"}, {GOGC: "800"}}
	file := filepath.Join(t.TempDir(), "address")
	o := Options{Command: own(t, "serve="+file), Load: "sh -c 'test -s " + file + "'", Rounds: 6, Settings: two, Wait: time.Minute}
	r, err := Run(t.Context(), o)
	if errors.Is(err, errNoListeners) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	if len(r.Rows) != 2 || r.Rows[0].CPU <= 0 || r.Rows[0].Collections == 0 {
		t.Errorf("%+v", r)
	}
	o.Load = "sh -c 'echo broken >&2; exit 4'"
	if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "sweep: -load failed: exit status 4") || !strings.Contains(err.Error(), "broken") {
		t.Errorf("a load that fails: %v", err)
	}
	o.Load = "true"
	o.Command = own(t, "fail")
	if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "failed: exit status 3") {
		t.Errorf("a server that ends at once: %v", err)
	}
	o.Command, o.Wait = own(t, "silent"), 100*time.Millisecond
	if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "does not listen at any TCP port after 100ms") {
		t.Errorf("a server that never listens: %v", err)
	}
	o.Ready = "nonsense"
	if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), `-ready "nonsense": want host:port`) {
		t.Errorf("an address that is none: %v", err)
	}
}

// TestBenchmark measures the benchmark below.
func TestBenchmark(t *testing.T) {
	r, err := Run(t.Context(), Options{Bench: "^BenchmarkTinyGarbage$", Package: ".", Rounds: 6, Settings: []Setting{{GOGC: "100"}, {GOGC: "50"}}})
	if err != nil {
		t.Fatal(err)
	}
	if r.Command != "go test -bench 'BenchmarkTinyGarbage$'" || len(r.Rows) != 2 || r.Rows[0].CPU <= 0 {
		t.Errorf("%+v", r)
	}
	for want, o := range map[string]Options{
		`has no benchmark that matches -bench "Nothing"`: {Bench: "Nothing", Package: "."},
		`"./nowhere" is no package`:                      {Bench: "X", Package: "./nowhere"},
		"-bench wants one package":                       {Bench: "X"},
		"want a command behind --":                       {},
		"-rounds is 3; it must be from 6":                {Command: []string{"x"}, Rounds: 3},
		"-load is for a server":                          {Bench: "X", Package: ".", Load: "x"},
		"-ready says where a server listens":             {Command: []string{"x"}, Ready: "x:1"},
		"there are variables and no command":             {Command: []string{"A=b"}},
		`no command "nothing-of-the-sort" in PATH`:       {Command: []string{"nothing-of-the-sort"}},
	} {
		if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want one with %q", err, want)
		}
	}
}

var tiny []byte

func BenchmarkTinyGarbage(b *testing.B) {
	for range min(b.N, 1000) {
		tiny = make([]byte, 1000)
	}
}

func TestSettings(t *testing.T) {
	got, err := ParseSettings([]string{"GOGC=100", "GOGC=off GOMEMLIMIT=1GiB"})
	if err != nil || len(got) != 2 || got[1] != (Setting{"off", "1GiB"}) || strings.Join(got[1].all(), " ") != "GOGC=off GOMEMLIMIT=1GiB" || strings.Join(got[0].all(), " ") != "GOGC=100 GOMEMLIMIT=off" {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"", "GOGC=x", "GOGC=-1", "A=b", "GOMEMLIMIT="} {
		if got, err := ParseSettings([]string{bad}); err == nil {
			t.Errorf("%q is %v", bad, got)
		}
	}
	for bytes, want := range map[float64]string{1 << 20: "2MiB", 99.5 * (1 << 20): "100MiB", 256 << 20: "260MiB", 5 << 30: "5200MiB"} {
		if got := roundedLimit(bytes); got != want {
			t.Errorf("%g bytes are %s, want %s", bytes, got, want)
		}
	}
	for text, want := range map[string]int64{"2GiB": 2 << 30, "1.5 MiB": 3 << 19, "1000": 1000, "1MB": 1e6} {
		if n, err := ParseMemory(text); err != nil || n != want {
			t.Errorf("%q is %d, %v", text, n, err)
		}
	}
	for _, bad := range []string{"", "GiB", "-1", "1 parsec", "0"} {
		if n, err := ParseMemory(bad); err == nil {
			t.Errorf("%q is %d", bad, n)
		}
	}
}

// TestCommandText: what is pasted into a shell is one command again.
func TestCommandText(t *testing.T) {
	c := &commandProgram{child.Process{Args: []string{"sh", "-c", "echo it's; true", ""}, Env: []string{"A=b"}}}
	if got, want := c.command(), `A=b sh -c 'echo it'\''s; true' ''`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestInterrupted: what was measured in whole rounds is reported, and before the first one nothing is.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, Options{Command: own(t, "allocate=1")}); err == nil || !strings.Contains(err.Error(), "interrupted before the first round was done") {
		t.Errorf("error is %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	n := 0
	r, err := Run(ctx, Options{Command: own(t, "allocate=1"), Settings: []Setting{{GOGC: "100"}, {GOGC: "200"}}, Progress: func(line string) {
		if strings.Contains(line, "round 3 of 8, 2 of 2") {
			cancel()
		}
		n++
	}})
	if err != nil || !r.Interrupted || r.Rounds != 2 || !slices.ContainsFunc(r.Notes, func(s string) bool { return strings.Contains(s, "too few for intervals") }) {
		t.Errorf("%v, %+v", err, r)
	}
}
