// SPDX-License-Identifier: Apache-2.0

// Package child runs a command once and says what it cost: CPU time, elapsed time, the largest resident set, and the collections of a
// Go program.
package child

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mattn/go-shellwords"

	"github.com/freehold-go/freehold/cmd/evidence"
	group "github.com/freehold-go/freehold/cmd/process"
)

// A Process says how to start a child.
type Process struct {
	Name string // in messages
	Args []string
	Dir  string
	Env  []string // in addition to this process's, as "NAME=value"
	// Stdout says that the child's standard output is kept.
	Stdout bool
}

// An Outcome is the result of one child.
type Outcome struct {
	Wall, CPU time.Duration
	PeakRSS   float64 // bytes, 0 if not known
	Stdout    []byte
	Trace     []byte // the lines of GODEBUG=gctrace=1
}

// Run starts the child and waits for its end. Its input is empty. Processes that it leaves running are killed; if ctx is cancelled, the
// child as well. With traced the child gets GODEBUG=gctrace=1.
func (p *Process) Run(ctx context.Context, traced bool) (*Outcome, error) {
	c, err := p.Start(ctx, traced)
	if err != nil {
		return nil, err
	}
	return c.Wait()
}

// A Child is a process that was started.
type Child struct {
	*Process
	Cmd    *exec.Cmd
	ctx    context.Context
	stdout bytes.Buffer
	stderr evidence.TraceFilter
	begin  time.Time
	own    float64
	peak   interface{ stop() float64 }
	ended  atomic.Bool // by Stop
}

// Start starts the child. Wait must be called.
func (p *Process) Start(ctx context.Context, traced bool) (*Child, error) {
	c := &Child{Process: p, ctx: ctx, Cmd: exec.CommandContext(ctx, p.Args[0], p.Args[1:]...)}
	c.Cmd.Dir = p.Dir
	c.Cmd.Env = p.environment(traced)
	c.Cmd.Stderr = &c.stderr
	if p.Stdout {
		c.Cmd.Stdout = &c.stdout
	}
	group.Own(c.Cmd)
	c.Cmd.WaitDelay = 2 * time.Second
	c.begin = time.Now()
	if err := c.Cmd.Start(); err != nil {
		return nil, p.cannotStart(err)
	}
	c.own = ownPeak()
	c.peak = watchPeak(c.Cmd.Process.Pid)
	return c, nil
}

// Stop asks the child to end, by SIGTERM where there is such a signal. Wait then takes the status that the signal gives it for no
// failure.
func (c *Child) Stop() {
	c.ended.Store(true)
	if err := c.Cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		_ = c.Cmd.Process.Kill()
	}
}

// Wait waits for the child's end.
func (c *Child) Wait() (*Outcome, error) {
	err := c.Cmd.Wait()
	o := &Outcome{Wall: time.Since(c.begin), Stdout: c.stdout.Bytes()}
	_ = group.Kill(c.Cmd) // processes that it left running, if any
	seen := c.peak.stop()
	if c.ctx.Err() != nil {
		return nil, c.ctx.Err()
	}
	c.stderr.End()
	if errors.Is(err, exec.ErrWaitDelay) {
		return nil, fmt.Errorf("%s left a process in the background that holds its output open; let the command end the processes that it starts", c.Name)
	}
	if err != nil && !c.ended.Load() {
		return nil, fmt.Errorf("%s failed: %w%s", c.Name, err, Tail(c.stderr.Tail(), c.stdout.Bytes()))
	}
	o.Trace = c.stderr.Trace()
	o.CPU = c.Cmd.ProcessState.UserTime() + c.Cmd.ProcessState.SystemTime()
	o.PeakRSS = childPeak(c.Cmd.ProcessState, c.own, seen)
	return o, nil
}

// Cycles are the collections of the trace.
func (o *Outcome) Cycles(name string) ([]evidence.GCCycle, error) {
	if len(o.Trace) == 0 {
		return nil, nil
	}
	var e evidence.Evidence
	if err := e.Read(name+", trace", bytes.NewReader(o.Trace)); err != nil {
		return nil, err
	}
	if e.Trace == nil {
		return nil, nil
	}
	return e.Trace.Cycles, nil
}

// environment is the child's environment. A GODEBUG that is set keeps its other settings.
func (p *Process) environment(traced bool) []string {
	env := append(os.Environ(), p.Env...)
	if traced {
		return evidence.TraceEnvironment(env)
	}
	return env
}

// cannotStart explains why a command cannot be started.
func (p *Process) cannotStart(err error) error {
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("%s: there is no command %q in PATH; a program in this folder is ./%s", p.Name, p.Args[0], p.Args[0])
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: there is no file %s", p.Name, p.Args[0])
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s: cannot run %s: permission denied; is it an executable file?", p.Name, p.Args[0])
	}
	return fmt.Errorf("%s: cannot run %s: %w", p.Name, p.Args[0], err)
}

// How much of a failing child's output an error contains: a dump of goroutines must not bury the
// cause.
const (
	tailLines = 12
	tailBytes = 4 << 10
)

// Tail is the end of a child's standard error, indented, or of its standard output if standard
// error is empty.
func Tail(stderr, stdout []byte) string {
	out := bytes.TrimSpace(stderr)
	if len(out) == 0 {
		out = bytes.TrimSpace(stdout)
	}
	if len(out) == 0 {
		return ", and wrote nothing to its standard error"
	}
	if len(out) > tailBytes {
		out = out[len(out)-tailBytes:]
	}
	lines := strings.Split(string(out), "\n")
	if len(lines) > tailLines {
		lines = lines[len(lines)-tailLines:]
	}
	return "\n    " + strings.Join(lines, "\n    ")
}

// ParseWords divides a command line into words as a shell does. Variables may stand in front: "GOGC=400 ./prog -n 5".
func ParseWords(line string) (env, args []string, err error) {
	parser := shellwords.NewParser()
	words, err := parser.Parse(line)
	if err != nil {
		return nil, nil, fmt.Errorf("it cannot be split into words (%w); is there an open quote?", err)
	}
	if parser.Position >= 0 {
		return nil, nil, errors.New("pipes, redirections and lists need a shell: write sh -c '...'")
	}
	env, args, err = shellwords.ParseWithEnvs(line)
	if err != nil || len(args) == 0 || len(words) == 0 {
		return nil, nil, errors.New("it has no command")
	}
	return env, args, nil
}

// Machine is one line about what figures of children depend on.
func Machine() string {
	return fmt.Sprintf("%s/%s · %d CPUs · GOMAXPROCS=%d", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.GOMAXPROCS(0))
}
