// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/perf/benchfmt"

	"github.com/freehold-go/freehold/cmd/compare/child"
	"github.com/freehold-go/freehold/cmd/evidence"
)

// A testBinary is a program made by go test -c, and the folder that its tests run in.
type testBinary struct {
	name string // in messages
	file string
	dir  string
	// pkg is the package that it was built from, for messages, or empty.
	pkg string
	env []string // in addition to this process's
}

// process runs the benchmarks that match, for a time or a number of operations ("500ms", "20x").
// GOMAXPROCS is set, so that the ending of the results' names is known.
func (t *testBinary) process(bench, benchtime string) *child.Process {
	return &child.Process{Name: t.name, Dir: t.dir, Env: t.env, Stdout: true, Args: []string{
		t.file, "-test.run=^$", "-test.bench=" + bench, "-test.benchtime=" + benchtime, "-test.benchmem", "-test.count=1",
		"-test.cpu=" + strconv.Itoa(runtime.GOMAXPROCS(0)),
	}}
}

// A benchResult is one line of a benchmark's output.
type benchResult struct {
	name   string
	n      int
	values []benchfmt.Value // in seconds, bytes and the benchmark's own units
}

// results reads the output of a test binary.
func results(output []byte) ([]benchResult, error) {
	var found []benchResult
	ending := "-" + strconv.Itoa(runtime.GOMAXPROCS(0))
	reader := benchfmt.NewReader(bytes.NewReader(output), "output")
	for reader.Scan() {
		r, ok := reader.Result().(*benchfmt.Result)
		if !ok {
			continue // other lines are the program's own
		}
		name := r.Name.String()
		if ending != "-1" {
			name = strings.TrimSuffix(name, ending)
		}
		found = append(found, benchResult{"Benchmark" + name, r.Iters, slices.Clone(r.Values)})
	}
	return found, reader.Err()
}

// list finds the full names of the benchmarks that match, by running each once.
func (t *testBinary) list(ctx context.Context, bench string) ([]string, error) {
	o, err := t.process(bench, "1x").Run(ctx, false)
	if err != nil {
		return nil, err
	}
	found, err := results(o.Stdout)
	if err != nil {
		return nil, fmt.Errorf("%s: read the output of %s: %w", t.name, t.file, err)
	}
	var names []string
	for _, r := range found {
		if !slices.Contains(names, r.name) {
			names = append(names, r.name)
		}
	}
	if len(names) == 0 {
		what := t.file
		if t.pkg != "" {
			what = "package " + t.pkg
		}
		return nil, fmt.Errorf("%s: %s has no benchmark that matches -bench %q", t.name, what, bench)
	}
	return names, nil
}

// exactly is the pattern that selects the benchmark of this full name and no other.
func exactly(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}

// A benchSide is one benchmark of a test binary, run for a fixed number of operations.
type benchSide struct {
	*testBinary
	bench string
	n     int
}

// baseOps is the number of operations of a base run. With it go test calls a benchmark as often as
// for more operations, so that both runs set up alike.
const baseOps = 2

// leastForBase is the least number of operations for which the cost of a base run is subtracted.
const leastForBase = 10

// measure runs the operations, and a base run, whose cost is that of starting, setting up, and the first call, which go test makes with
// one operation. The further cost of the longer run is that of its operations. Each pair has base runs of its own: the error of one that
// all pairs share would move the ratio of all of them, and the interval would not show it.
func (b *benchSide) measure(ctx context.Context, traced bool) (sample, error) {
	var base sample
	var err error
	if b.n >= leastForBase {
		if base, err = b.sample(ctx, baseOps, traced); err != nil {
			return nil, err
		}
	}
	s, err := b.sample(ctx, b.n, traced)
	if err != nil {
		return nil, err
	}
	for name, v := range s {
		if kindOf(name).per && fromOutside(name, traced) {
			s[name] = perOp(v, base[name], b.n, base != nil)
		}
	}
	return s, nil
}

// fromOutside says whether a measure is of the whole process; the others are the benchmark's own,
// and by operation already.
func fromOutside(name string, traced bool) bool { return traced || name == MeasureCPU }

// perOp is the cost of an operation, if n operations cost v.
func perOp(v, base float64, n int, based bool) float64 {
	if !based {
		return v / float64(n)
	}
	return max(0, v-base) / float64(n-baseOps)
}

// sample runs n operations.
func (b *benchSide) sample(ctx context.Context, n int, traced bool) (sample, error) {
	o, err := b.process(exactly(b.bench), strconv.Itoa(n)+"x").Run(ctx, traced)
	if err != nil {
		return nil, err
	}
	if traced {
		cycles, err := o.Cycles(b.name)
		if err != nil {
			return nil, err
		}
		// The collections that go test forces before each call are not the benchmark's.
		cycles = slices.DeleteFunc(cycles, func(c evidence.GCCycle) bool { return c.Forced })
		return collectorSample(cycles, o.Wall), nil
	}
	found, err := results(o.Stdout)
	if err != nil || len(found) != 1 {
		return nil, fmt.Errorf("%s: %s: want one result of %s, but got %d%s", b.name, b.file, b.bench, len(found), child.Tail(o.Stdout, nil))
	}
	s := plain(o)
	delete(s, MeasureWall)
	for _, v := range found[0].values {
		s[metricName(v.Unit)] = v.Value
	}
	return s, nil
}

// metricName is the name of the measure for a benchmark's unit.
func metricName(unit string) string {
	switch unit {
	case "sec/op":
		return MeasureWall
	case "B/op":
		return MeasureAllocBytes
	case "allocs/op":
		return MeasureAllocs
	}
	return unit
}

// calibrate finds the number of operations for which the slower side takes about benchtime.
func calibrate(ctx context.Context, sides [2]*benchSide, benchtime time.Duration) error {
	slowest := 0.0
	for _, b := range sides {
		seconds, err := b.secondsPerOp(ctx, max(benchtime/5, 20*time.Millisecond))
		if err != nil {
			return err
		}
		slowest = max(slowest, seconds)
	}
	n := operations(benchtime, slowest)
	for _, b := range sides {
		b.n = n
	}
	return nil
}

// secondsPerOp runs the benchmark for about benchtime and returns the time of an operation: the
// benchmark's ns/op, if it can be the timer's. But b.ReportMetric can hide ns/op or replace it by
// another number, and the number of operations computed from that could take for ever. Then the
// result is computed from the elapsed time of the process. It includes setting up, so it leads to
// fewer operations.
func (b *benchSide) secondsPerOp(ctx context.Context, benchtime time.Duration) (float64, error) {
	o, err := b.process(exactly(b.bench), benchtime.String()).Run(ctx, false)
	if err != nil {
		return 0, err
	}
	found, err := results(o.Stdout)
	if err != nil || len(found) != 1 {
		return 0, fmt.Errorf("%s: %s: want one result of %s, but got %d", b.name, b.file, b.bench, len(found))
	}
	r := found[0]
	if i := slices.IndexFunc(r.values, func(v benchfmt.Value) bool { return v.Unit == "sec/op" }); i >= 0 {
		seconds := r.values[i].Value
		// go test goes on until the timer shows benchtime, or it has run the most operations; half
		// of it leaves room for rounding.
		full := seconds*float64(r.n) >= benchtime.Seconds()/2 || r.n >= mostOperations
		if full && isFinite(seconds) {
			return seconds, nil
		}
	}
	return o.Wall.Seconds() / float64(max(1, r.n)), nil
}

// mostOperations keeps a benchmark that takes no time from running for ever.
const mostOperations = 1_000_000_000

// operations is the number of operations that takes about benchtime, in two digits.
func operations(benchtime time.Duration, seconds float64) int {
	n := mostOperations * 1.0
	if seconds > 0 {
		n = min(n, math.Ceil(benchtime.Seconds()/seconds))
	}
	if n < 100 {
		return int(max(1, n))
	}
	step := math.Pow(10, math.Floor(math.Log10(n))-1)
	return int(math.Ceil(n/step) * step)
}

// benchContests prepares one contest for each benchmark that both sides have.
func benchContests(ctx context.Context, binaries [2]*testBinary, o *Options) (contests []*contest, notes []string, err error) {
	var names [2][]string
	for i, t := range binaries {
		o.progress(t.name + ": looking for benchmarks")
		if names[i], err = t.list(ctx, o.Bench); err != nil {
			return nil, nil, err
		}
	}
	for i, missing := range [2][]string{without(names[0], names[1]), without(names[1], names[0])} {
		if len(missing) > 0 {
			notes = append(notes, fmt.Sprintf("only %s has %s", sideNames[i], strings.Join(missing, ", ")))
		}
	}
	for _, name := range names[0] {
		if !slices.Contains(names[1], name) {
			continue
		}
		contests = append(contests, benchContest(binaries, name, o))
	}
	if len(contests) == 0 {
		return nil, nil, fmt.Errorf("compare: A and B have no benchmark in common: A has %s, B has %s",
			strings.Join(names[0], ", "), strings.Join(names[1], ", "))
	}
	return contests, notes, nil
}

// benchContest is the comparison of one benchmark. It begins by finding the number of operations,
// which uses its budget and warms up.
func benchContest(binaries [2]*testBinary, name string, o *Options) *contest {
	sides := [2]*benchSide{{testBinary: binaries[0], bench: name}, {testBinary: binaries[1], bench: name}}
	return &contest{
		name: name, per: "op", pair: inTurn([2]side{sides[0], sides[1]}), traces: true,
		prepare: func(ctx context.Context, c *contest) error {
			if err := calibrate(ctx, sides, o.Benchtime); err != nil {
				return err
			}
			if c.ops = sides[0].n; c.ops < leastForBase {
				c.notes = append(c.notes, "an operation takes so long that the CPU time includes the set-up")
			}
			return nil
		},
	}
}

// without returns the elements of a that are not in b.
func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}
