// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/freehold-go/freehold/cmd/doctor"
	"github.com/freehold-go/freehold/cmd/evidence"
)

func asRole(t *testing.T, role string) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(roleVariable, role)
	return []string{self}
}

// The trace is taken out of what a command writes, and the rest passed on. If it fails, the report
// says so.
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
	if cpu, _ := e.Metrics[1].Get(evidence.MetricProcessCPU); e.Window <= 0 || cpu <= 0 || e.Go != runtime.Version() {
		t.Errorf("window %v, CPU %v s, Go %q", e.Window, cpu, e.Go)
	}
	if text := fmt.Sprint(doctor.Diagnose(t.Context(), e).Warnings); e.Failure != "exit status 3" || !strings.Contains(text, "failed with status 3; its last words: its last words; the report covers the time before") {
		t.Errorf("failure %q, warnings %s", e.Failure, text)
	}
	sameReport(t, e, dir)
}

// TestCommandUncollected: a program without a collection is judged by the evidence that remains.
func TestCommandUncollected(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kept")
	for gogc, want := range map[string]string{
		"off": "no collection ran in .* The collector is off \\(GOGC=off\\)", "": "no collection ran in .* the first one begins",
	} {
		t.Setenv("GOGC", gogc)
		e := collected(t, nil, asRole(t, "quiet"), Options{Save: dir})
		if r := doctor.Diagnose(t.Context(), e); !regexp.MustCompile(want).MatchString(r.Verdict) || r.Confidence == doctor.None || len(r.Warnings) != 0 {
			t.Errorf("GOGC=%s: %q, confidence %s, warnings %v", gogc, r.Verdict, r.Confidence, r.Warnings)
		}
		sameReport(t, e, dir)
	}
}

// sameReport checks that the files kept in a folder give the same report as the evidence itself.
func sameReport(t *testing.T, e *evidence.Evidence, dir string) {
	t.Helper()
	again := collected(t, []string{dir}, nil, Options{})
	if again.Main != e.Main || again.Go != e.Go {
		t.Errorf("main %q, Go %q; want %q, %q", again.Main, again.Go, e.Main, e.Go)
	}
	got, want := doctor.Diagnose(t.Context(), again), doctor.Diagnose(t.Context(), e)
	if got.Verdict != want.Verdict || got.CPUSeconds != want.CPUSeconds || math.Abs(got.WindowSeconds-want.WindowSeconds) > 1e-6 {
		t.Errorf("read again: %q, %v s of CPU in %v s; want %q, %v s in %v s", got.Verdict, got.CPUSeconds, got.WindowSeconds,
			want.Verdict, want.CPUSeconds, want.WindowSeconds)
	}
}

// stopped runs a command that goes on for good until its duration is over. That is longer each time
// until it has got as far as a collection, for which a busy machine may need seconds.
func stopped(t *testing.T, command []string) *evidence.Evidence {
	t.Helper()
	for d := 300 * time.Millisecond; ; d *= 4 {
		var out bytes.Buffer
		e, err := From(t.Context(), nil, command, Options{Duration: d, Output: &out})
		switch {
		case strings.Contains(out.String(), upAndRunning) && err != nil:
			t.Fatal(err)
		case err == nil && len(e.Trace.Cycles) == 0:
			t.Fatal("nothing was traced")
		case strings.Contains(out.String(), upAndRunning):
			return e
		case d > time.Minute:
			t.Fatalf("the command did not come up: %v, %q", err, out.String())
		}
	}
}

func TestCommandStopped(t *testing.T) {
	if e := stopped(t, asRole(t, "for good")); e.Failure != "" {
		t.Errorf("the doctor's own interrupt counts as a failure: %s", e.Failure)
	}
}

// freeAddress returns a loopback address without a listener. No other listener gets it by asking
// for any port, because those are on 127.0.0.1.
func freeAddress(t *testing.T) string {
	t.Helper()
	pid := os.Getpid()
	l, err := net.Listen("tcp", fmt.Sprintf("127.%d.%d.%d:0", 1+pid>>16&0x3f, pid>>8&0xff, 1+pid&0x7f))
	if err != nil {
		l, err = net.Listen("tcp", "127.0.0.1:0") // some systems have this one alone
	}
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// freeSocket is a file for a command to listen at. Its name is short, as it must be.
func freeSocket(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "s")
}

// wantEnded waits until the socket has no listener any more. A process goes on for a moment after
// it was killed.
func wantEnded(t *testing.T, socket string) {
	t.Helper()
	for begin := time.Now(); time.Since(begin) < time.Minute; time.Sleep(10 * time.Millisecond) {
		c, err := net.Dial("unix", socket)
		if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, os.ErrNotExist) {
			return
		}
		if err == nil {
			c.Close()
		}
	}
	t.Fatal("the command goes on")
}

// What a script started ends with it, and its CPU time counts.
func TestScriptStopped(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no shell")
	}
	self := asRole(t, "for good")[0]
	socket := freeSocket(t)
	t.Setenv(socketVariable, socket)
	e := stopped(t, []string{"/bin/sh", "-c", "rm -f " + socket + "; " + self + "; true"})
	wantEnded(t, socket)
	if cpu, _ := e.Metrics[1].Get(evidence.MetricProcessCPU); cpu < 0.01 { // a shell takes 1 ms
		t.Errorf("%v s of CPU", cpu)
	}
}

// What a command leaves running is ended; how much CPU time that took is not known, so that no
// share is told of it.
func TestScriptLeaves(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no shell")
	}
	self := asRole(t, "collects")[0]
	socket := freeSocket(t)
	t.Setenv(socketVariable, socket)
	script := roleVariable + "='for good' " + self + " >/dev/null 2>&1 & i=0; " +
		"while ! [ -e " + socket + " ] && [ $((i+=1)) -lt 6000 ]; do sleep 0.01; done; " + self
	var told []string
	e := collected(t, nil, []string{"/bin/sh", "-c", script}, Options{Progress: func(line string) { told = append(told, line) }})
	wantEnded(t, socket)
	if cpu, ok := e.Metrics[1].Get(evidence.MetricProcessCPU); ok {
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
	if c, err := net.Dial("tcp", address); err == nil {
		c.Close()
		t.Error("the command goes on")
	}
	wantError(t, []string{"http://" + address}, asRole(t, "fails"), Options{}, `the command ended \(exit status 4\) before it answered`)
}

// A calling writer calls when it has been written a text.
type calling struct {
	on      string
	do      func()
	written strings.Builder
}

func (w *calling) Write(b []byte) (int, error) {
	w.written.Write(b)
	if strings.Contains(w.written.String(), w.on) {
		w.do()
	}
	return len(b), nil
}

// Who presses Ctrl-C wants to see what there is up to then.
func TestCommandInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	e, err := From(ctx, nil, asRole(t, "for good"), Options{Output: &calling{on: upAndRunning, do: cancel}})
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Trace.Cycles) == 0 {
		t.Error("nothing was traced")
	}
}

func TestCommandRefused(t *testing.T) {
	wantError(t, nil, []string{"no-such-command"}, Options{}, `there is no command no-such-command; give its path`)
	wantError(t, nil, []string{"go", "run", "."}, Options{}, `the trace of go run would mix .* go build`)
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
		c := &collector{ev: &evidence.Evidence{CPU: cpu}, Options: Options{Save: "kept", Progress: func(line string) { told = line }}}
		traced := &evidence.TraceFilter{}
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
