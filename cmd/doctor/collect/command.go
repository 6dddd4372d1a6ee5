// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/freehold-go/freehold/cmd/debugport"
	"github.com/freehold-go/freehold/cmd/evidence"
	"github.com/freehold-go/freehold/cmd/process"
	"github.com/freehold-go/freehold/cmd/terminal"
)

// grace is how long a command may take to end after it was interrupted.
const grace = 5 * time.Second

// command runs a command with GODEBUG=gctrace=1 until it ends or ctx does, and reads the trace from
// its standard error.
func (c *collector) command(ctx context.Context, argv []string) error {
	cmd, traced, err := c.prepare(ctx, argv)
	if err != nil {
		return err
	}
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return cannotStart(argv[0], err)
	}
	wait := c.ticking("running " + argv[0])
	interrupt, stopped := stopAfter(cmd, c.Duration)
	err = cmd.Wait()
	c.ev.Window = time.Since(begin)
	wait()
	interrupt()
	if !stopped() && ctx.Err() == nil {
		c.noteFailure(argv, traced, err)
	}
	if process.Kill(cmd) == nil {
		c.Progress(argv[0] + " left a process running, which the doctor ended. Its CPU time is unknown; give the program itself")
	} else {
		c.noteCPU(cmd.ProcessState)
	}
	traced.End()
	if err := c.ended(argv, traced, err); err != nil {
		return err
	}
	return c.keepRun()
}

// commandAt runs a command with a trace, watches it at its address, and ends it.
func (c *collector) commandAt(ctx context.Context, address string, argv []string) error {
	cmd, traced, err := c.prepare(ctx, argv)
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return cannotStart(argv[0], err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	err = c.reached(ctx, address, ended)
	if err == nil {
		err = c.address(ctx, address)
	}
	select {
	case early := <-ended: // by itself, while it was watched or right after
		c.noteFailure(argv, traced, early)
	default:
		stop, _ := stopAfter(cmd, time.Nanosecond)
		<-ended
		stop()
	}
	_ = process.Kill(cmd) // what it left running
	traced.End()
	if err != nil {
		return err
	}
	if len(traced.Trace()) > 0 {
		return c.trace(argv, traced)
	}
	return nil
}

// noteFailure notes how a command failed that the doctor did not interrupt.
func (c *collector) noteFailure(argv []string, traced *evidence.TraceFilter, err error) {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return
	}
	c.ev.Failure = exit.Error()
	text := c.ev.Failure
	if code := exit.ExitCode(); code > 0 {
		text = fmt.Sprintf("status %d", code)
	}
	traced.End()
	c.ev.Note(fmt.Sprintf("%s failed with %s%s; the report covers the time before", argv[0], text, lastWords(traced.Tail())), "mend the failure, and run the doctor again")
}

// noteCPU notes the CPU time of a process. The collector's time of the trace is shown as a share of
// it.
func (c *collector) noteCPU(state *os.ProcessState) {
	if state != nil {
		c.ev.Metrics[1].Set(evidence.MetricProcessCPU, (state.UserTime() + state.SystemTime()).Seconds())
	}
}

// keepRun keeps, for a run that was watched from start to end, the values that neither profiles nor
// trace have. They are kept as metrics.
func (c *collector) keepRun() error {
	c.noteSettings()
	var run evidence.Metrics
	run.Set(evidence.MetricUptime, c.ev.Window.Seconds())
	for _, name := range []string{evidence.MetricProcessCPU, evidence.MetricCyclesTotal, evidence.MetricGOGC, evidence.MetricMemoryLimit} {
		if v, ok := c.ev.Metrics[1].Get(name); ok {
			run.Set(name, v)
		}
	}
	return c.keepMetrics(fileMetric1, run)
}

// answerAfter is how long a command may take until it answers at its address.
const answerAfter = 20 * time.Second

// reached waits until the command answers at its address.
func (c *collector) reached(ctx context.Context, address string, ended chan error) error {
	server, err := debugport.ParseWith(address, c.Server)
	if err != nil {
		return fmt.Errorf("doctor: %w", err)
	}
	limit := time.Now().Add(answerAfter)
	for {
		_, err := server.GetWithin(ctx, debugport.Pprof+"/", answerAfter)
		if err == nil {
			return nil
		}
		if debugport.Status(err) != 0 || ctx.Err() != nil || time.Now().After(limit) {
			return fmt.Errorf("doctor: %w", err)
		}
		select {
		case result := <-ended:
			ended <- result
			return fmt.Errorf("doctor: the command ended (%s) before it answered at %s", howEnded(result), server.String())
		case <-time.After(100 * time.Millisecond):
			c.Progress("waiting for " + server.String())
		}
	}
}

// prepare makes the command ready to start. It turns on the trace, passes on the output, and makes
// an interrupt the way to end it.
func (c *collector) prepare(ctx context.Context, argv []string) (*exec.Cmd, *evidence.TraceFilter, error) {
	if tool := filepath.Base(argv[0]); (tool == "go" || tool == "go.exe") && len(argv) > 1 && (argv[1] == "run" || argv[1] == "test") {
		return nil, nil, fmt.Errorf("doctor: the trace of %s %s would mix with that of the program that it builds; "+
			"build it with go build (go test -c) and give the binary, or a package with -bench", tool, argv[1])
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return nil, nil, cannotStart(argv[0], err)
	}
	c.sources = append(c.sources, strings.Join(argv, " "))
	if info, err := buildinfo.ReadFile(path); err == nil {
		c.ev.Main, c.ev.Go = info.Main.Path, info.GoVersion
	}
	cmd := exec.CommandContext(ctx, path, argv[1:]...)
	cmd.Env = evidence.TraceEnvironment(os.Environ())
	traced := &evidence.TraceFilter{Rest: c.Output}
	cmd.Stdout, cmd.Stderr = c.Output, traced
	if f, ok := c.Stdin.(*os.File); !ok || !terminal.Is(f) { // a group in the background would be stopped when it reads one
		cmd.Stdin = c.Stdin
	}
	process.Own(cmd)
	cmd.Cancel = func() error { return process.Interrupt(cmd) }
	cmd.WaitDelay = grace
	return cmd, traced, nil
}

// stopAfter interrupts the command after d, and kills it if it goes on. It does nothing if d is 0.
// The first returned function cancels it, the second reports whether it was interrupted.
func stopAfter(cmd *exec.Cmd, d time.Duration) (cancel func(), stopped func() bool) {
	if d <= 0 {
		return func() {}, func() bool { return false }
	}
	var asked atomic.Bool
	kill := time.AfterFunc(d+grace, func() { _ = process.Kill(cmd) })
	ask := time.AfterFunc(d, func() {
		asked.Store(true)
		_ = process.Interrupt(cmd)
	})
	return func() {
		ask.Stop()
		kill.Stop()
	}, asked.Load
}

// cannotStart is the error for a command that cannot be started.
func cannotStart(name string, err error) error {
	var failed *exec.Error
	if errors.As(err, &failed) {
		err = failed.Err
	}
	switch {
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("doctor: cannot run %s: permission denied; is it an executable file?", name)
	case errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("doctor: there is no command %s; give its path, like ./%s", name, filepath.Base(name))
	}
	return fmt.Errorf("doctor: cannot run %s: %w", name, err)
}

// ended reads the trace of a command that has ended.
func (c *collector) ended(argv []string, traced *evidence.TraceFilter, err error) error {
	if len(traced.Trace()) > 0 {
		return c.trace(argv, traced) // however it ended: by itself, by a signal, by an interrupt of ours
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return fmt.Errorf("doctor: run %s: %w", argv[0], err)
	}
	window := terminal.Seconds(c.ev.Window.Seconds())
	switch {
	case exit != nil && exit.ExitCode() > 0:
		return fmt.Errorf("doctor: %s failed (%s) before a collection ran%s", argv[0], howEnded(err), lastWords(traced.Tail()))
	case c.ev.Go == "":
		return fmt.Errorf("doctor: %s printed no trace of Go's collector in %s; is it a Go program?", argv[0], window)
	}
	c.ev.Metrics[1].Set(evidence.MetricCyclesTotal, 0)
	return nil
}

// trace reads the trace. A trace that mixes several programs is left out if there is a CPU profile,
// and an error otherwise.
func (c *collector) trace(argv []string, traced *evidence.TraceFilter) error {
	name, data := "the trace of "+argv[0], traced.Trace()
	e, err := alone(name, data)
	if err != nil {
		return err
	}
	last := 0
	for _, cycle := range e.Trace.Cycles {
		if cycle.Number <= last {
			if c.ev.CPU != nil {
				c.Progress(argv[0] + " started more than one Go program. Their traces cannot be separated, and are left out")
				return nil
			}
			return fmt.Errorf("doctor: %s started more than one Go program, and their traces cannot be separated; give the program itself", argv[0])
		}
		last = cycle.Number
	}
	c.keep(fileTrace, data)
	return c.read(name, data)
}

// howEnded says in words how a process ended.
func howEnded(err error) string {
	if err == nil {
		return "exit status 0"
	}
	return err.Error()
}

// lastWords is the last line of a program's output. Errors quote it.
func lastWords(said []byte) string {
	lines := strings.Split(strings.TrimSpace(string(said)), "\n")
	if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
		return "; its last words: " + last
	}
	return ""
}
