// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/freehold-go/freehold/cmd/evidence"
	"github.com/freehold-go/freehold/cmd/process"
)

// A goPackage has the fields of go list's output for a package.
type goPackage struct {
	path, dir, module, root string
}

// benchmarks runs the benchmarks of a package with all profiles on.
func (c *collector) benchmarks(ctx context.Context, name string) error {
	in, pattern := "", name
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		in, pattern = name, "." // it may belong to another module than the working directory
	}
	pkg, err := listPackage(ctx, name, in, pattern)
	if err != nil {
		return err
	}
	c.sources = append(c.sources, fmt.Sprintf("%s -bench %s", pkg.path, c.Bench))
	c.ev.Main, c.ev.Root = pkg.module, pkg.root
	dir, err := os.MkdirTemp("", "freehold-doctor")
	if err != nil {
		return fmt.Errorf("doctor: %w", err)
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "bench.test")
	done := c.ticking("building the tests of " + pkg.path)
	build := exec.CommandContext(ctx, "go", "test", "-c", "-o", binary, "--", pattern)
	build.Dir = in
	out, err := build.CombinedOutput()
	done()
	if err != nil {
		return fmt.Errorf("doctor: the tests of %s do not build: %s; go vet %s lists all errors", name, firstMistake(out), name)
	}
	if _, err := os.Stat(binary); err != nil {
		return fmt.Errorf("doctor: %s has no tests, and so no benchmarks", name)
	}
	return c.runBenchmarks(ctx, pkg, binary, dir)
}

// benchmarkLine matches the output if a benchmark ran. It looks for two things: the name with the
// number of iterations, and the time. The benchmark's own output can separate the two, and
// ReportMetric can hide the time.
var benchmarkLine = regexp.MustCompile(`(?m)^Benchmark\S*\s+\d+\s|ns/op`)

// runBenchmarks runs a test binary, and reads what it leaves in dir.
func (c *collector) runBenchmarks(ctx context.Context, pkg goPackage, binary, dir string) error {
	cpu, heap := filepath.Join(dir, fileCPU), filepath.Join(dir, fileHeap1)
	cmd := exec.CommandContext(ctx, binary, "-test.run=^$", "-test.bench="+c.Bench, "-test.benchtime="+c.duration(benchTime).String(),
		"-test.benchmem", "-test.cpuprofile="+cpu, "-test.memprofile="+heap)
	cmd.Dir = pkg.dir
	cmd.Env = evidence.TraceEnvironment(os.Environ())
	var out bytes.Buffer
	traced := &evidence.TraceFilter{Rest: c.Output}
	cmd.Stdout, cmd.Stderr = &out, traced
	cmd.WaitDelay = grace
	process.Own(cmd)
	begin := time.Now()
	done := c.ticking("running the benchmarks of " + pkg.path)
	err := cmd.Run()
	done()
	if cmd.Process != nil {
		_ = process.Kill(cmd) // what the benchmarks left running
	}
	traced.End()
	c.ev.Window = time.Since(begin)
	_, _ = c.Output.Write(out.Bytes()) // for a reader at the terminal
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("doctor: the benchmarks of %s: interrupted: %w", pkg.path, ctx.Err())
	case err != nil:
		return fmt.Errorf("doctor: the benchmarks of %s failed (%w): %s", pkg.path, err, firstMistake(append(out.Bytes(), traced.Tail()...)))
	case !benchmarkLine.Match(out.Bytes()):
		return fmt.Errorf("doctor: no benchmark of %s matches %q; go test -list 'Benchmark.*' %s lists them", pkg.path, c.Bench, pkg.path)
	}
	for _, file := range []string{cpu, heap} {
		data, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("doctor: %w", err)
		}
		c.keep(filepath.Base(file), data)
		if err := c.read(filepath.Base(file)+" of "+pkg.path, data); err != nil {
			return err
		}
	}
	// Output of the benchmarks themselves can hide their results. The report is whole without them.
	if err := c.read("the output of "+pkg.path, out.Bytes()); err == nil {
		c.keep(fileBench, out.Bytes())
	}
	if len(traced.Trace()) > 0 {
		if err := c.trace([]string{pkg.path}, traced); err != nil {
			return err
		}
	}
	return c.keepRun()
}

// listPackage asks the go command, in a folder, for the package that a pattern names. Name is what
// the user called it.
func listPackage(ctx context.Context, name, in, pattern string) (goPackage, error) {
	const format = "{{.ImportPath}}\n{{.Dir}}\n{{with .Module}}{{.Path}}\n{{.Dir}}{{else}}\n{{end}}"
	cmd := exec.CommandContext(ctx, "go", "list", "-f", format, "--", pattern)
	cmd.Dir = in
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return goPackage{}, fmt.Errorf("doctor: the benchmarks of %s need the go command, which is not in PATH", name)
		}
		return goPackage{}, fmt.Errorf("doctor: there is no package %s: %s", name, firstMistake(stderr.Bytes()))
	}
	lines := strings.Split(strings.TrimRight(stdout.String(), "\n"), "\n")
	if len(lines) != 4 {
		if len(lines) > 4 {
			return goPackage{}, fmt.Errorf("doctor: %s is more than one package; diagnose one at a time", name)
		}
		lines = append(lines, "", "")
	}
	return goPackage{path: lines[0], dir: lines[1], module: lines[2], root: lines[3]}, nil
}

// firstMistake is the first line of a tool's output that names the mistake.
func firstMistake(out []byte) string {
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "goos:") && !strings.HasPrefix(line, "goarch:") &&
			!strings.HasPrefix(line, "pkg:") && !strings.HasPrefix(line, "cpu:") {
			return line
		}
	}
	return "it says nothing"
}
