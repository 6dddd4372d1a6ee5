// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/perf/benchfmt"
)

// addBenchmarks adds the results in the output of go test -bench, and reports whether there are any.
// Results of one name and package are runs of one benchmark, in whatever inputs they are.
func (e *Evidence) addBenchmarks(name string, data []byte) bool {
	found := benchmarksIn(data)
	for _, b := range found {
		i := slices.IndexFunc(e.Benchmarks, func(known Benchmark) bool { return known.Name == b.Name && known.Package == b.Package })
		if i < 0 {
			e.Benchmarks = append(e.Benchmarks, b)
			continue
		}
		e.Benchmarks[i].Runs = append(e.Benchmarks[i].Runs, b.Runs...)
	}
	if failed := failedBenchmark.FindSubmatch(data); len(found) > 0 && failed != nil {
		e.Note(name+": "+string(failed[1])+" failed, so results may be missing or wrong", "mend the failure, and run the benchmarks again")
	}
	return len(found) > 0
}

// failedBenchmark is the line of a test or a benchmark that failed.
var failedBenchmark = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// procsEnding is the number of Ps at the end of a benchmark's name. One P is not written.
var procsEnding = regexp.MustCompile(`-[0-9]+$`)

// benchmarksIn are the results in the output of go test -bench.
func benchmarksIn(data []byte) (list []Benchmark) {
	reader := benchfmt.NewReader(bytes.NewReader(data), "")
	var endings []string
	for reader.Scan() {
		result, ok := reader.Result().(*benchfmt.Result)
		if !ok {
			continue // another line of the program's or of go test
		}
		run := runOf(result)
		name, pkg := "Benchmark"+result.Name.String(), result.GetConfig("pkg")
		endings = append(endings, procsEnding.FindString(name))
		i := slices.IndexFunc(list, func(b Benchmark) bool { return b.Name == name && b.Package == pkg })
		if i < 0 {
			i, list = len(list), append(list, Benchmark{Name: name, Package: pkg})
		}
		list[i].Runs = append(list[i].Runs, run)
	}
	// An ending that some results lack, or that differs, may belong to the name.
	if slices.Sort(endings); len(endings) > 0 && endings[0] == endings[len(endings)-1] {
		for i := range list {
			list[i].Name = strings.TrimSuffix(list[i].Name, endings[0])
		}
	}
	return list
}

// runOf are the figures of a line. Values that no benchmark has, such as a NaN of b.ReportMetric,
// count as unknown.
func runOf(result *benchfmt.Result) BenchmarkRun {
	run := BenchmarkRun{Operations: result.Iters}
	value := func(unit string, least, most float64) (float64, bool) {
		v, ok := result.Value(unit)
		if !ok || !(v >= least && v <= most) {
			return 0, false
		}
		return v, true
	}
	const century, all = 3e9, 1 << 60 // seconds, bytes
	run.Seconds, _ = value("sec/op", 1e-15, century)
	bytes, hasBytes := value("B/op", 0, all)
	objects, hasObjects := value("allocs/op", 0, all)
	if hasBytes && hasObjects {
		run.Bytes, run.Objects, run.Memory = bytes, objects, true
	}
	return run
}

// outputOfJSON is the output in the events of go test -json, a line each; nil for other data.
func outputOfJSON(data []byte) (text []byte) {
	for line := range bytes.Lines(data) {
		var event struct{ Action, Output string }
		if json.Unmarshal(line, &event) != nil || event.Action == "" {
			return nil
		}
		text = append(text, event.Output...)
	}
	return text
}
