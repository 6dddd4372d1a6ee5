// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/freehold-go/freehold/cmd/evidence"
	group "github.com/freehold-go/freehold/cmd/process"
)

// A process says how to start a child.
type process struct {
	name string // in messages
	args []string
	dir  string
	env  []string // in addition to this process's, as "NAME=value"
	// stdout says that the child's standard output is kept.
	stdout bool
}

// An outcome is the result of one child.
type outcome struct {
	wall, cpu time.Duration
	peakRSS   float64 // bytes, 0 if not known
	stdout    []byte
	trace     []byte // the lines of GODEBUG=gctrace=1
}

// run starts the child and waits for its end. Its input is empty. Processes that it leaves running
// are killed; if ctx is cancelled, the child as well.
func (p *process) run(ctx context.Context, traced bool) (*outcome, error) {
	var stdout bytes.Buffer
	var stderr evidence.TraceFilter
	cmd := exec.CommandContext(ctx, p.args[0], p.args[1:]...)
	cmd.Dir = p.dir
	cmd.Env = p.environment(traced)
	cmd.Stderr = &stderr
	if p.stdout {
		cmd.Stdout = &stdout
	}
	group.Own(cmd)
	cmd.WaitDelay = 2 * time.Second
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, p.cannotStart(err)
	}
	own := ownPeak()
	peak := watchPeak(cmd.Process.Pid)
	err := cmd.Wait()
	o := &outcome{wall: time.Since(begin), stdout: stdout.Bytes()}
	_ = group.Kill(cmd) // processes that it left running, if any
	seen := peak.stop()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	stderr.End()
	if errors.Is(err, exec.ErrWaitDelay) {
		return nil, fmt.Errorf("%s left a process in the background that holds its output open; let the command end the processes that it starts", p.name)
	}
	if err != nil {
		return nil, fmt.Errorf("%s failed: %w%s", p.name, err, tail(stderr.Tail(), stdout.Bytes()))
	}
	o.trace = stderr.Trace()
	o.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	o.peakRSS = childPeak(cmd.ProcessState, own, seen)
	return o, nil
}

// environment is the child's environment. A GODEBUG that is set keeps its other settings.
func (p *process) environment(traced bool) []string {
	env := append(os.Environ(), p.env...)
	if traced {
		return evidence.TraceEnvironment(env)
	}
	return env
}

// cannotStart explains why a command cannot be started.
func (p *process) cannotStart(err error) error {
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("%s: there is no command %q in PATH; a program in this folder is ./%s", p.name, p.args[0], p.args[0])
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: there is no file %s", p.name, p.args[0])
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s: cannot run %s: permission denied; is it an executable file?", p.name, p.args[0])
	}
	return fmt.Errorf("%s: cannot run %s: %w", p.name, p.args[0], err)
}

// How much of a failing child's output an error contains: a dump of goroutines must not bury the
// cause.
const (
	tailLines = 12
	tailBytes = 4 << 10
)

// tail is the end of a child's standard error, indented, or of its standard output if standard
// error is empty.
func tail(stderr, stdout []byte) string {
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
