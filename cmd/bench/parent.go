// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// An event reports to the progress line that a child is about to start.
type event struct {
	job         *job
	pass        int
	done, total int // children
	elapsed     time.Duration
}

// run runs the plan until it is done, its time is over or ctx is cancelled. The measurements are in
// the jobs.
func (p *plan) run(ctx context.Context, progress func(event)) {
	begin := time.Now()
	if p.limited {
		limited, cancel := context.WithTimeout(ctx, p.limit)
		defer cancel()
		ctx = limited
	}
	done, total := 0, p.children()
	for pass := range p.passes {
		for _, j := range p.inOrder(pass) {
			if pass >= p.passesOf(j) {
				continue
			}
			done++
			if ctx.Err() != nil || j.failure != "" || (j.skipped != "" && pass == 0) {
				j.markUnrun(ctx)
				continue
			}
			if p.limited && time.Since(begin)+j.longest > p.budget {
				j.markUnrun(ctx)
				continue
			}
			progress(event{j, pass, done, total, time.Since(begin)})
			p.runChild(ctx, j, pass)
		}
	}
}

// children is the number of child processes.
func (p *plan) children() (n int) {
	for _, j := range p.jobs {
		n += p.passesOf(j)
	}
	return n
}

// markUnrun notes why j has no sample, if it has none.
func (j *job) markUnrun(ctx context.Context) {
	if len(j.samples) > 0 || j.failure != "" || j.skipped != "" {
		return
	}
	j.skipped = "no time left in the quick selection"
	if errors.Is(ctx.Err(), context.Canceled) {
		j.skipped = "interrupted"
	}
}

// runChild starts a child for j, waits for it and keeps its sample or the reason why there is none.
func (p *plan) runChild(ctx context.Context, j *job, pass int) {
	begin := time.Now()
	ctx, cancel := context.WithTimeout(ctx, childLimit)
	defer cancel()
	sample, err := StartChild(ctx, p.spec(j, pass), j.c.Env)
	j.longest = max(j.longest, time.Since(begin))
	switch {
	case err == nil:
		j.skipped = ""
		j.samples = append(j.samples, sample)
	case ctx.Err() != nil:
		j.markUnrun(ctx)
	default:
		j.failure = err.Error()
	}
}

func (p *plan) spec(j *job, pass int) Spec {
	s := Spec{Workload: j.w.Name, N: j.n, Input: j.input, Contestant: j.c.Name, MinTime: p.minTime, Flags: p.Flags, Quick: j.quick}
	if p.ProfileDir != "" && pass == 0 {
		s.Profile = filepath.Join(p.ProfileDir, profileName(j))
	}
	return s
}

var notInFileNames = regexp.MustCompile(`[^a-zA-Z0-9.]+`)

func profileName(j *job) string {
	name := fmt.Sprintf("%s %s %d %s", j.w.Name, j.input.Name, j.n, j.c.Name)
	return strings.Trim(notInFileNames.ReplaceAllString(name, "-"), "-") + ".prof"
}

// StartChild runs one child to its end, with more variables in its environment. Its error holds what the child wrote to stderr.
func StartChild(ctx context.Context, spec Spec, env []string) (Sample, error) {
	self, err := os.Executable()
	if err != nil {
		return Sample{}, fmt.Errorf("find the executable to start as a child: %w", err)
	}
	task, err := ChildEnv(spec)
	if err != nil {
		return Sample{}, err
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(append(os.Environ(), env...), task)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = 2 * time.Second
	if err := cmd.Run(); err != nil {
		return Sample{}, fmt.Errorf("child failed: %w%s", err, indented(stderr.String()))
	}
	var sample Sample
	if err := json.Unmarshal(stdout.Bytes(), &sample); err != nil {
		return Sample{}, fmt.Errorf("child printed no result: %w%s", err, indented(stdout.String()+stderr.String()))
	}
	return sample, nil
}

// maxErrorLines keeps a goroutine dump from burying the report: the cause is at its beginning.
const maxErrorLines = 20

func indented(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	lines := strings.Split(text, "\n")
	if len(lines) > maxErrorLines {
		rest := len(lines) - maxErrorLines
		lines = append(lines[:maxErrorLines], fmt.Sprintf("(%d more lines)", rest))
	}
	return "\n    " + strings.Join(lines, "\n    ")
}
