// SPDX-License-Identifier: Apache-2.0

package sweep

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/perf/benchfmt"

	"github.com/freehold-go/freehold/cmd/compare/child"
)

// A benchmark is one benchmark of a package, run for a fixed number of operations.
type benchmark struct {
	commandProgram
	name string
}

// newBenchmark builds the package's tests, and runs the benchmark for a second, as go test does, to find a number of operations.
func newBenchmark(ctx context.Context, o *Options, temp string) (*benchmark, error) {
	o.progress("sweep: building the tests of " + o.Package)
	file := filepath.Join(temp, "sweep.test")
	dir, err := child.GoOutput(ctx, "", nil, "list", "-f", "{{.Dir}}", "--", o.Package)
	if err != nil {
		return nil, fmt.Errorf("sweep: %q is no package: %w", o.Package, err)
	}
	if strings.Contains(dir, "\n") {
		return nil, fmt.Errorf("sweep: %q is more than one package; name one", o.Package)
	}
	if _, err := child.GoOutput(ctx, "", nil, "test", "-c", "-o", file, "--", o.Package); err != nil {
		return nil, fmt.Errorf("sweep: build the tests of %s: %w", o.Package, err)
	}
	p := child.Process{Name: "sweep: the benchmark", Dir: dir, Stdout: true, Args: []string{file, "-test.run=^$", "-test.bench=" + o.Bench, "-test.benchtime=1s", "-test.count=1"}}
	o.progress("sweep: looking for the number of operations that take a second")
	out, err := p.Run(ctx, false)
	if err != nil {
		return nil, err
	}
	var names []string
	n := 0
	reader := benchfmt.NewReader(bytes.NewReader(out.Stdout), "output")
	for reader.Scan() {
		if r, ok := reader.Result().(*benchfmt.Result); ok {
			names, n = append(names, "Benchmark"+r.Name.String()), r.Iters
		}
	}
	switch len(names) {
	case 0:
		return nil, fmt.Errorf("sweep: package %s has no benchmark that matches -bench %q", o.Package, o.Bench)
	case 1:
	default:
		return nil, fmt.Errorf("sweep: -bench %q matches %d benchmarks (%s); settings are measured for one", o.Bench, len(names), strings.Join(names, ", "))
	}
	p.Args[3] = "-test.benchtime=" + strconv.Itoa(n) + "x"
	b := &benchmark{commandProgram: commandProgram{p}, name: gomaxprocs.ReplaceAllString(names[0], "")}
	return b, nil
}

// gomaxprocs is the end of a benchmark's name.
var gomaxprocs = regexp.MustCompile(`-[0-9]+$`)

func (b *benchmark) command() string { return "go test -bench '" + b.name + "$'" }
