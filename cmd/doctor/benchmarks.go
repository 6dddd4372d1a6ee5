// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/perf/benchmath"

	"github.com/freehold-go/freehold/cmd/evidence"
	"github.com/freehold-go/freehold/cmd/terminal"
)

// benchmarks are the figures of the benchmarks, the one first that allocates most bytes a second.
func benchmarks(e *evidence.Evidence) (list []BenchmarkCost) {
	for _, b := range e.Benchmarks {
		c := BenchmarkCost{Name: b.Name, Package: b.Package, Runs: len(b.Runs)}
		for _, run := range b.Runs {
			if run.Seconds > 0 {
				c.seconds = append(c.seconds, run.Seconds)
			}
			if run.Memory {
				c.bytes, c.objects, c.Memory = append(c.bytes, run.Bytes), append(c.objects, run.Objects), true
			}
		}
		if len(c.seconds) > 0 {
			c.Seconds, c.Fastest, c.Slowest = terminal.Median(c.seconds), slices.Min(c.seconds), slices.Max(c.seconds)
		}
		if c.Memory {
			c.AllocBytes, c.AllocObjects = terminal.Median(c.bytes), terminal.Median(c.objects)
		}
		if c.Seconds > 0 {
			c.AllocBytesPerSecond = c.AllocBytes / c.Seconds
			c.CyclesPerSecond = c.AllocBytesPerSecond / smallestHeap
		}
		list = append(list, c)
	}
	slices.SortStableFunc(list, func(b, c BenchmarkCost) int { return cmp.Compare(c.AllocBytesPerSecond, b.AllocBytesPerSecond) })
	return list
}

// verdictBenchmarks is the verdict on the output of benchmarks alone.
func verdictBenchmarks(list []BenchmarkCost) string {
	const unknown = "The cost of collection is unknown: there is no CPU profile."
	top := list[0]
	switch {
	case !slices.ContainsFunc(list, func(c BenchmarkCost) bool { return c.Memory }):
		return unknown + " The benchmarks ran without -benchmem, so what they allocate is unknown, too."
	case top.AllocBytes == 0:
		return "GC is not the problem of these benchmarks: none of them allocates."
	}
	return fmt.Sprintf("%s %s allocates %s in %s objects an operation, %s/s.",
		unknown, top.Name, terminal.Bytes(top.AllocBytes), terminal.Count(top.AllocObjects), terminal.Bytes(top.AllocBytesPerSecond))
}

// profileBenchmark are the commands that profile the benchmark that allocates most.
func profileBenchmark(list []BenchmarkCost) string {
	top := list[0]
	pkg := cmp.Or(top.Package, "PACKAGE")
	pattern := exactly(top.Name)
	return fmt.Sprintf("freehold doctor -bench '%s' %s, or go test -run '^$' -bench '%s' -benchmem -cpuprofile cpu.pb.gz -memprofile heap.pb.gz %s >bench.txt, then freehold doctor cpu.pb.gz heap.pb.gz bench.txt",
		pattern, pkg, pattern, pkg)
}

// exactly is the pattern of -bench that selects the benchmark of a full name.
func exactly(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}

// perBenchmark is the cost of an operation of a benchmark whose run the CPU profile covers, nil if
// there are several benchmarks. Elapsed time becomes CPU time by the profile's busy Ps.
func (a *account) perBenchmark(list []BenchmarkCost, gc, alloc float64) *PerOperation {
	if len(list) != 1 || list[0].Seconds == 0 || a.ev.CPU == nil || a.ev.CPU.DurationNanos <= 0 || a.total == 0 {
		return nil
	}
	c := list[0]
	p := &PerOperation{Name: c.Name, PerSecond: 1 / c.Seconds, CPUSeconds: c.Seconds * a.total / float64(a.ev.CPU.DurationNanos), CPUFrom: FromBenchmark}
	for _, run := range a.ev.Benchmarks[0].Runs {
		p.Operations += float64(run.Operations)
	}
	p.GCSeconds, p.AllocSeconds = gc*p.CPUSeconds, alloc*p.CPUSeconds
	if c.Memory {
		p.AllocBytes, p.AllocObjects, p.AllocFrom = c.AllocBytes, c.AllocObjects, FromBenchmark
	}
	return p
}

// missingBenchmark is the profile of one benchmark if the CPU profile covers several.
func (a *account) missingBenchmark(list []BenchmarkCost) []Missing {
	if a.ev.CPU == nil || len(list) < 2 {
		return nil
	}
	return []Missing{{"profile of a single benchmark", fmt.Sprintf("this one may cover all %d, so the CPU time of an operation is unknown", len(list)), profileBenchmark(list)}}
}

const (
	// certain is the probability of a difference by chance below which it counts as sure.
	certain = 0.05
	// fewRuns is the largest number of runs on a side with which no difference can be sure.
	fewRuns = 3
)

// CompareBenchmarks are the figures of the benchmarks that both reports have.
func CompareBenchmarks(before, after *Report) (list []BenchmarkChange) {
	for i := range after.Benchmarks {
		c := &after.Benchmarks[i]
		j := slices.IndexFunc(before.Benchmarks, func(b BenchmarkCost) bool { return b.Name == c.Name && b.Package == c.Package })
		if j < 0 {
			continue
		}
		b := &before.Benchmarks[j]
		for _, unit := range []struct {
			name        string
			old, recent []float64
		}{{"sec/op", b.seconds, c.seconds}, {"B/op", b.bytes, c.bytes}, {"allocs/op", b.objects, c.objects}} {
			if len(unit.old) > 0 && len(unit.recent) > 0 {
				list = append(list, changeOf(c.Name, unit.name, unit.old, unit.recent))
			}
		}
	}
	return list
}

func changeOf(name, unit string, old, recent []float64) BenchmarkChange {
	c := BenchmarkChange{Name: name, Unit: unit, Before: terminal.Median(old), After: terminal.Median(recent)}
	thresholds := &benchmath.Thresholds{CompareAlpha: certain}
	result := benchmath.AssumeNothing.Compare(benchmath.NewSample(slices.Clone(old), thresholds), benchmath.NewSample(slices.Clone(recent), thresholds))
	c.P = result.P
	c.Few = min(len(old), len(recent)) <= fewRuns
	c.Sure = !c.Few && c.P < certain
	return c
}
