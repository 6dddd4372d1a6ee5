// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/freehold-go/freehold/internal/checks/testenv"
)

// TestCorpus checks the corpus itself: that it is as large as it is meant to be, and that nothing
// in it is left without a mode.
func TestCorpus(t *testing.T) {
	names := map[string]bool{}
	wrong, right := 0, 0
	for c := range Corpus() {
		if names[c.Name] {
			t.Errorf("two programs are called %s", c.Name)
		}
		names[c.Name] = true
		if len(c.Run) == 0 || c.Text == "" {
			t.Errorf("%s has no program or no description", c.Name)
		}
		switch {
		case c.Correct():
			right++
		case c.Blind == "":
			wrong++
			for v := range c.Run {
				if !slices.ContainsFunc(All, func(m Mode) bool { return c.By(m, v) != nil }) {
					t.Errorf("no mode catches %s with %s", c.Name, v)
				}
			}
		}
		for _, s := range c.Seen {
			if len(s.Says) == 0 || len(s.By) == 0 {
				t.Errorf("%s has an expectation without a mode or a text", c.Name)
			}
		}
	}
	if wrong < 45 || right < 8 {
		t.Errorf("%d wrong programs and %d correct ones, want 45 and 8", wrong, right)
	}
}

// build makes the command and returns its path.
func build(t *testing.T, env []string, flags ...string) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("what the corpus expects is what Linux can tell")
	}
	testenv.StartsPrograms(t)
	path := filepath.Join(t.TempDir(), "program")
	cmd := exec.Command("go", append(append([]string{"build", "-o", path}, flags...), ".")...)
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build %s: %v\n%s", strings.Join(flags, " "), err, out)
	}
	if err := exec.Command(path).Run(); err != nil && testenv.Emulated(err) {
		t.Skip("we are emulated and cannot start programs")
	}
	return path
}

// A result is what a process left.
type result struct {
	status         int
	stdout, stderr string
}

func (r result) String() string {
	return fmt.Sprintf("status %d, output %q, on standard error:\n%s", r.status, r.stdout, r.stderr)
}

// run starts a command with the modes.
func run(t *testing.T, modes string, env []string, command ...string) result {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	// The race detector would wait for a second before it ends.
	cmd.Env = append(append(clean(os.Environ()), "FREEHOLD="+modes, "GORACE=atexit_sleep_ms=0"), env...)
	// A report comes from a process that outlives this one; it holds standard error open until it
	// has said everything.
	cmd.WaitDelay = time.Minute
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil || errors.As(err, &exit):
	default:
		t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// clean leaves out what would change what a program does or says.
func clean(env []string) []string {
	return slices.DeleteFunc(env, func(s string) bool {
		name, _, _ := strings.Cut(s, "=")
		return slices.Contains([]string{"FREEHOLD", "GODEBUG", "GOTRACEBACK", "GOGC", "GOMEMLIMIT", "GORACE"}, name)
	})
}

// each calls f for each program and variant in a test of its own.
func each(t *testing.T, f func(t *testing.T, c *Case, v Variant)) {
	for c := range Corpus() {
		for _, v := range Variants {
			if c.Run[v] != nil {
				t.Run(c.Name+"/"+string(v), func(t *testing.T) {
					t.Parallel()
					f(t, c, v)
				})
			}
		}
	}
}

// TestWithoutModes runs everything as programs run in production: only the checks that are always
// on report mistakes.
func TestWithoutModes(t *testing.T) {
	if testing.Short() {
		t.Skip("starts some hundred processes")
	}
	program := build(t, nil)
	each(t, func(t *testing.T, c *Case, v Variant) {
		c.judge(t, v, nil, run(t, "", nil, program, c.Name, string(v)))
	})
}

// TestRunTime runs everything in each mode that FREEHOLD turns on, and in all of them together.
func TestRunTime(t *testing.T) {
	program := build(t, nil)
	for _, modes := range [][]Mode{{Guard}, {Leaks}, {HeapPointers}, RunTime} {
		if testing.Short() && modes[0] != Guard {
			continue
		}
		words := joined(modes)
		t.Run(words, func(t *testing.T) {
			each(t, func(t *testing.T, c *Case, v Variant) {
				c.judge(t, v, modes, run(t, words, nil, program, c.Name, string(v)))
			})
		})
	}
}

// TestSample runs everything with every allocation sampled, and the correct programs also with
// every third.
func TestSample(t *testing.T) {
	program := build(t, nil)
	for _, words := range []string{"sample=1", "sample=3"} {
		t.Run(words, func(t *testing.T) {
			each(t, func(t *testing.T, c *Case, v Variant) {
				if c.Correct() || words == "sample=1" {
					c.judge(t, v, []Mode{Sample}, run(t, words, nil, program, c.Name, string(v)))
				}
			})
		})
	}
}

// TestExplain runs what a guard page catches in programs that turn faults into panics.
func TestExplain(t *testing.T) {
	program := build(t, nil)
	each(t, func(t *testing.T, c *Case, v Variant) {
		r := run(t, "guard", nil, program, "-explain", c.Name, string(v))
		s := c.By(Guard, v)
		if s == nil {
			s = c.By(Always, v)
		}
		if s == nil {
			c.judge(t, v, []Mode{Guard}, r)
		} else if why := s.unlike(r.stderr); why != "" || r.status != 3 {
			t.Errorf("%s: %v", why, r)
		}
	})
}

// joined is the modes as FREEHOLD has them.
func joined(modes []Mode) string {
	words := make([]string, len(modes))
	for i, m := range modes {
		words[i] = string(m)
	}
	return strings.Join(words, ",")
}

// judge compares what a program did with what the modes that are on must say.
func (c *Case) judge(t *testing.T, v Variant, on []Mode, r result) {
	t.Helper()
	var want []*Sight
	for _, m := range on {
		if s := c.By(m, v); s != nil {
			want = append(want, s)
		}
	}
	if s := c.By(Always, v); s != nil && len(want) == 0 {
		want = append(want, s)
	}
	switch {
	case len(want) == 0 && (c.Loose || c.Wild && slices.Contains(on, Race)):
	case len(want) == 0:
		if !c.Correct() && slices.Contains(on, Leaks) {
			r.stderr = withoutLeaks(r.stderr) // A program that goes wrong may also leak.
		}
		if r.status != 0 || r.stdout != "done\n" || r.stderr != "" {
			t.Errorf("want no report: %v", r)
		}
	default:
		var problems []string
		for _, s := range want {
			why := s.unlike(r.stderr)
			if why == "" {
				return
			}
			problems = append(problems, why)
		}
		t.Errorf("%s: %v", strings.Join(problems, "; "), r)
	}
}

// unlike names the part missing in the text for it to be the report that s expects, or "".
func (s *Sight) unlike(text string) string {
	lines := strings.Split(text, "\n")
	first := slices.IndexFunc(lines, func(line string) bool {
		for _, part := range s.Says {
			if !strings.Contains(line, part) {
				return false
			}
		}
		return true
	})
	if first < 0 {
		return fmt.Sprintf("no line says %q", s.Says)
	}
	for _, stack := range []struct {
		is              Stacks
		heading, caller string
	}{
		{Accessed, "accessed|found in", "main.access"},
		{Allocated, "allocated", "main.allocate"},
		{Freed, "freed", "main.giveUp"},
	} {
		if s.Stacks&stack.is != 0 && !strings.Contains(section(lines[first:], stack.heading), stack.caller) {
			return fmt.Sprintf("no stack %q with %s", stack.heading, stack.caller)
		}
	}
	return ""
}

// section is the part of a report below the first line that has one of the headings, up to the next
// line that is indented no more.
func section(lines []string, headings string) string {
	for i, line := range lines {
		body := strings.TrimLeft(line, " \t") // Go indents the text of a panic by a tab.
		if i == 0 || !strings.HasSuffix(body, ":") ||
			!slices.ContainsFunc(strings.Split(headings, "|"), func(h string) bool { return strings.HasPrefix(body, h) || strings.Contains(body, " "+h) }) {
			continue
		}
		indent, end := len(line)-len(body), i+1
		for end < len(lines) && len(lines[end])-len(strings.TrimLeft(lines[end], " \t")) > indent {
			end++
		}
		return strings.Join(lines[i:end], "\n")
	}
	return ""
}

// withoutLeaks is the text without the reports of leaks.
func withoutLeaks(text string) string {
	var rest strings.Builder
	leak := false
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, " ") && strings.TrimSpace(line) != "" {
			leak = strings.HasPrefix(line, "freehold: leak")
		}
		if !leak {
			rest.WriteString(line)
		}
	}
	return rest.String()
}
