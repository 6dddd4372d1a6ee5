// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"cmp"
	"context"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/freehold-go/freehold/cmd/compare/child"
	"github.com/freehold-go/freehold/cmd/evidence"
)

// This test binary is the program that its tests compare: what it does is in the variable.
const actVariable = "FREEHOLD_COMPARE_ACT"

func TestMain(m *testing.M) {
	switch act, argument, _ := strings.Cut(os.Getenv(actVariable), "="); act {
	case "":
		os.Setenv("GORACE", cmp.Or(os.Getenv("GORACE"), "atexit_sleep_ms=0")) // or children with the race detector sleep for a second before they end
		os.Exit(m.Run())
	case "allocate":
		n, err := strconv.Atoi(argument)
		if err != nil {
			panic(err)
		}
		allocate(n)
	case "fail":
		os.Stderr.WriteString("first line\n" + strings.Repeat("more\n", 100) + "the last words\n")
		os.Exit(7)
	case "mumble":
		os.Stdout.WriteString("told nobody but stdout\n")
		os.Exit(1)
	case "touch":
		n, err := strconv.Atoi(argument)
		if err != nil {
			panic(err)
		}
		touch(n)
	case "serve":
		serve()
	case "hang":
		time.Sleep(time.Hour)
	}
}

var sink []byte

// allocate makes n MiB of garbage, so that collections run.
func allocate(n int) {
	for range n << 6 {
		sink = make([]byte, 16<<10)
	}
}

// touch makes n MiB resident, and no more for the race detector.
//
//go:norace
func touch(n int) {
	sink = make([]byte, n<<20)
	for i := 0; i < len(sink); i += 4 << 10 {
		sink[i] = 1
	}
}

// own is the command line of this binary doing something.
func own(t *testing.T, act string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return actVariable + "=" + act + " '" + self + "'"
}

// TestCommands compares a program with itself, and with one that allocates twice as much: bytes,
// not times. On one P each MiB of garbage is one collection; on several the program runs on while
// another marks, as far as the machine lets it.
func TestCommands(t *testing.T) {
	const settings = "GOMAXPROCS=1 GOGC=25 "
	r, err := Run(t.Context(), Options{A: settings + own(t, "allocate=40"), B: settings + own(t, "allocate=80"), Count: 6})
	if err != nil {
		t.Fatal(err)
	}
	c := &r.Comparisons[0]
	if r.Kind != KindCommands || c.Per != "process" || c.Ended != endCount || c.Prediction != nil {
		t.Errorf("%+v", r)
	}
	// The trace has 0 for a pause of less than a microsecond, which half of them may have, but not
	// all.
	if m := c.Measure(MeasurePauseP50); m == nil || len(m.AValues) != 6 || slices.Min(m.AValues) < 0 {
		t.Errorf("%s: %+v", MeasurePauseP50, m)
	}
	for _, name := range []string{MeasureCPU, MeasureWall, MeasureGCCPU, MeasureGCCycles, MeasurePauseP99, MeasurePauseMax,
		MeasurePausesRate, MeasurePausedTime, MeasureAllocBytes} {
		m := c.Measure(name)
		if m == nil || len(m.AValues) != 6 || slices.Min(m.AValues) <= 0 || m.Ratio == nil || m.Low == nil {
			t.Errorf("%s: %+v", name, m)
		}
	}
	m := c.Measure(MeasureAllocBytes)
	if m == nil || m.Ratio == nil || math.Abs(*m.Ratio-2) > 0.3 || math.Abs(m.A-40<<20) > 12<<20 {
		t.Errorf("40 and 80 MiB allocated are measured as %+v", m)
	}
}

func TestProgramWithoutCollector(t *testing.T) {
	r, err := Run(t.Context(), Options{A: own(t, "allocate=0"), B: own(t, "allocate=0"), Count: 1})
	if err != nil {
		t.Fatal(err)
	}
	c := &r.Comparisons[0]
	if c.Measure(MeasureGCCPU) != nil || c.Measure(MeasureWall) == nil || len(c.Notes) != 1 || !strings.Contains(c.Notes[0], "no collection was traced") {
		t.Errorf("%+v", c)
	}
}

func TestFailingCommands(t *testing.T) {
	expectError(t, Options{A: own(t, "allocate=0"), B: own(t, "fail")}, "compare: B failed: exit status 7")
	_, err := Run(t.Context(), Options{A: own(t, "fail"), B: own(t, "allocate=0")})
	if lines := strings.Split(err.Error(), "\n"); len(lines) != 1+12 || lines[len(lines)-1] != "    the last words" {
		t.Errorf("the end of what the child wrote is not told: %q", err)
	}
	_, err = Run(t.Context(), Options{A: own(t, "mumble"), B: own(t, "allocate=0")})
	if !strings.Contains(err.Error(), "told nobody but stdout") && !strings.Contains(err.Error(), "wrote nothing to its standard error") {
		t.Errorf("error is %q", err)
	}
}

// TestInterrupt ends a child that would not end by itself.
func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	r, err := Run(ctx, Options{A: own(t, "hang"), B: own(t, "hang")})
	if err != nil || !r.Interrupted || r.Comparisons[0].Ended != endInterrupted || r.Verdict != "interrupted before a pair was measured" {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestBackground wants an end to what a command leaves running, and a word about it where that
// holds the command's output open.
func TestBackground(t *testing.T) {
	if runtime.GOOS == "windows" || runtime.GOOS == "plan9" || runtime.GOOS == "js" {
		t.Skip("groups of processes are a matter of Unix")
	}
	file := filepath.Join(t.TempDir(), "pid")
	// The background process has closed the command's output before the command ends.
	const closing = `sh -c 'exec >/dev/null 2>&1; echo $$ >"$0"; exec sleep 600' "$0" &
		i=0; while ! [ -s "$0" ] && [ $((i+=1)) -lt 6000 ]; do sleep 0.01; done`
	p := child.Process{Name: "compare: A", Args: []string{"sh", "-c", closing, file}}
	if _, err := p.Run(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	expectEnded(t, file)
	p.Args[2] = `sleep 600 & echo $! >"$0"`
	_, err := p.Run(t.Context(), false)
	if err == nil || !strings.HasPrefix(err.Error(), "compare: A left a process in the background") || strings.Contains(err.Error(), "\n") {
		t.Errorf("error is %v", err)
	}
	expectEnded(t, file)
}

// expectEnded waits for the end of the process whose number is in the file. A zombie counts as
// ended: its parent may never wait for it.
func expectEnded(t *testing.T, file string) {
	t.Helper()
	pid, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	number := strings.TrimSpace(string(pid))
	for begin := time.Now(); time.Since(begin) < time.Minute; time.Sleep(20 * time.Millisecond) {
		state, err := exec.Command("ps", "-o", "stat=", "-p", number).Output()
		if errors.Is(err, exec.ErrNotFound) {
			t.Skip("there is no ps")
		}
		if err != nil || strings.HasPrefix(string(state), "Z") {
			return
		}
	}
	t.Errorf("process %s goes on", number)
	if err := exec.Command("kill", number).Run(); err != nil {
		t.Error(err)
	}
}

// TestTrace reads a trace of Go 1.26 by hand: clock times are the pauses, which count once, the other
// cpu times are added up, MB are MiB.
func TestTrace(t *testing.T) {
	const one = `gc 1 @0.001s 2%: 0.10+0.20+0.30 ms clock, 0.20+0.01/0.02/0.03+0.60 ms cpu, 3->5->2 MB, 4 MB goal, 0 MB stacks, 0 MB globals, 2 P
`
	const two = `gc 2 @60.002s 2%: 0.50+0.20+0.70 ms clock, 1.00+0.10/0.20/0.30+1.40 ms cpu, 4->6->1 MB, 4 MB goal, 0 MB stacks, 0 MB globals, 2 P (forced)
`
	var e evidence.Evidence
	if err := e.Read("test", strings.NewReader(one+two)); err != nil {
		t.Fatal(err)
	}
	cycles := e.Trace.Cycles
	if len(cycles) != 2 || cycles[0].Forced || !cycles[1].Forced {
		t.Fatalf("%+v", cycles)
	}
	got := collectorSample(cycles, 2*time.Minute)
	for name, want := range map[string]float64{
		MeasureGCCycles: 2, MeasureGCCPU: 0.00226, MeasurePauseP50: 0.0003, MeasurePauseP99: 0.0007, MeasurePauseMax: 0.0007,
		MeasurePausesRate: 2, MeasurePausedTime: 0.0008,
	} {
		if math.Abs(got[name]-want) > 1e-12 {
			t.Errorf("%s is %g, want %g", name, got[name], want)
		}
	}
	if _, ok := allocatedBytes(cycles); ok {
		t.Error("two cycles are too few to tell what was allocated")
	}
	many := slices.Repeat(cycles[:1], leastCycles)
	for i := range many {
		many[i].Number = i + 1
	}
	// 5 MiB at the end of the first, and then 3 more than the 2 that were left, each time.
	if sum, ok := allocatedBytes(many); !ok || sum != float64(5+3*(leastCycles-1))*(1<<20) {
		t.Errorf("allocated %g, %v", sum, ok)
	}
	many[4].Number = 1 // another process
	if sum, ok := allocatedBytes(many); ok {
		t.Errorf("of two processes: %g", sum)
	}
}

func TestStartErrors(t *testing.T) {
	file := t.TempDir() + "/plain"
	if err := os.WriteFile(file, []byte("no program"), 0o600); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "windows" {
		t.Skip("files have no execute permission here")
	}
	expectError(t, Options{A: "'" + file + "'", B: "x"}, "permission denied; is it an executable file?")
	var exit interface{ ExitCode() int }
	if _, err := Run(t.Context(), Options{A: own(t, "fail"), B: "x"}); !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("the child's status is lost in %v", err)
	}
}
