// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The sources of metrics, the one with the most values first.
const (
	fromRuntime    = "runtime/metrics"
	fromMemStats   = "/debug/vars"
	fromText       = "heap?debug=1"
	fromPrometheus = "/metrics"
)

// addMetrics adds values. Two sets of one source are the ends of the window: the set with fewer
// allocated bytes is the start.
func (e *Evidence) addMetrics(m Metrics) error {
	if m.Empty() {
		return inputError("it has no value of the runtime" + e.whyUncounted() + "; serve gctune.Handler or import expvar")
	}
	if e.read == nil {
		e.read = map[string][]Metrics{}
	}
	list := append(e.read[m.Source], m)
	if len(list) > 2 {
		return inputError("a third set of metrics from " + m.Source + "; give the two from the start and the end of the window")
	}
	counter := perCounter + e.Per.Counter
	slices.SortStableFunc(list, func(a, b Metrics) int {
		return cmp.Or(cmp.Compare(a.Values[MetricAllocBytes], b.Values[MetricAllocBytes]), cmp.Compare(a.Values[counter], b.Values[counter]))
	})
	e.read[m.Source] = list
	e.Metrics = [2]Metrics{}
	for _, source := range []string{fromRuntime, fromMemStats, fromText, fromPrometheus} {
		if list := e.read[source]; len(list) > 0 {
			e.Metrics[1] = e.Metrics[1].and(list[len(list)-1])
			if len(list) == 2 {
				e.Metrics[0] = e.Metrics[0].and(list[0])
			}
		}
	}
	return nil
}

// and is With, but the live heap and the next collection's goal are taken from one source, because
// GOGC follows from these two.
func (m Metrics) and(other Metrics) Metrics {
	both := m.With(other)
	if _, ok := m.Get(MetricLiveHeap); !ok {
		if _, live := other.Get(MetricLiveHeap); live {
			if goal, ok := other.Get(MetricHeapGoal); ok {
				both.Set(MetricHeapGoal, goal)
			}
		}
	}
	return both
}

// With returns the values of m, and those of other that m lacks.
func (m Metrics) With(other Metrics) Metrics {
	both := Metrics{Source: cmp.Or(m.Source, other.Source), Values: maps.Clone(other.Values), Histograms: maps.Clone(other.Histograms)}
	if both.Values == nil {
		both.Values = map[string]float64{}
	}
	if both.Histograms == nil {
		both.Histograms = map[string]Histogram{}
	}
	maps.Copy(both.Values, m.Values)
	maps.Copy(both.Histograms, m.Histograms)
	return both
}

// metricsOfRuntime reads gctune.Handler's object: runtime/metrics by name.
func metricsOfRuntime(fields map[string]json.RawMessage) (Metrics, error) {
	m := Metrics{Source: fromRuntime}
	for name, raw := range fields {
		if !strings.HasPrefix(name, "/") {
			continue
		}
		if raw[0] != '{' {
			var v float64
			if err := json.Unmarshal(raw, &v); err != nil {
				return m, inputError("JSON of the runtime's metrics, but the value of " + name + " is no number; serve it with gctune.Handler")
			}
			if !plausible(v) && !(name == MetricGOGC && v == gogcOff) {
				return m, inputError(fmt.Sprintf("JSON of the runtime's metrics, but %s is %g, a value that no program has; collect it again", name, v))
			}
			m.Set(name, v)
			continue
		}
		var h Histogram
		if err := json.Unmarshal(raw, &h); err != nil || len(h.Buckets) != len(h.Counts)+1 {
			return m, inputError("JSON of the runtime's metrics, but the histogram " + name + " lacks counts and one more bucket; serve it with gctune.Handler")
		}
		if m.Histograms == nil {
			m.Histograms = map[string]Histogram{}
		}
		m.Histograms[name] = h
	}
	if m.Empty() {
		return m, inputError("JSON without the runtime's values; give that of gctune.Handler or of /debug/vars")
	}
	return m, nil
}

// gogcOff stands for GOGC=off that was read from the environment; runtime/metrics has 2⁶⁴-1 for it.
const gogcOff = -1

// plausible reports whether the runtime can have such a value. The largest that it has is 2⁶⁴-1,
// which stands for "off".
func plausible(v float64) bool { return v >= 0 && v <= 1<<64 }

// memStats are the fields of runtime.MemStats that have a counterpart in runtime/metrics.
var memStats = map[string]string{
	"TotalAlloc": MetricAllocBytes, "Mallocs": MetricAllocObjects, "HeapObjects": MetricHeapObjects, "HeapAlloc": MetricHeapInUse, "HeapIdle": MetricHeapIdle,
	"NextGC": MetricHeapGoal, "NumGC": MetricCyclesTotal, "NumForcedGC": MetricCyclesForced, "StackInuse": MetricStackBytes,
	"Sys": MetricTotalMemory, "HeapReleased": MetricReleased, "GCCPUFraction": MetricGCFraction,
}

func metricsOfMemStats(raw json.RawMessage) (Metrics, error) {
	m := Metrics{Source: fromMemStats}
	var stats map[string]json.RawMessage
	if err := json.Unmarshal(raw, &stats); err != nil {
		return m, inputError("JSON with memstats that are no object; give the answer of /debug/vars")
	}
	for field, name := range memStats {
		var v float64
		if raw, ok := stats[field]; ok && json.Unmarshal(raw, &v) == nil && plausible(v) {
			m.Set(name, v)
		}
	}
	m.showLimit()
	if m.Empty() {
		return m, inputError("JSON with memstats that have none of runtime.MemStats's fields; give the answer of /debug/vars")
	}
	return m, nil
}

// memStatsLine is a line at the end of /debug/pprof/heap?debug=1, such as "# NextGC = 4194304" or
// "# Stack = 65536 / 98304".
var memStatsLine = regexp.MustCompile(`(?m)^# (\w+) = ([0-9.e+-]+)(?: / [0-9]+)?\r?$`)

// metricsOfText reads the statistics at the end of the text form of a heap profile, and the
// sampling rate in its first line.
func metricsOfText(data []byte) Metrics {
	m := Metrics{Source: fromText}
	tail := data
	if i := bytes.LastIndex(data, []byte("# runtime.MemStats")); i >= 0 {
		tail = data[i:]
	}
	for _, match := range memStatsLine.FindAllSubmatch(tail, -1) {
		field := string(match[1])
		if field == "Stack" {
			field = "StackInuse"
		}
		v, err := strconv.ParseFloat(string(match[2]), 64)
		if name, ok := memStats[field]; ok && err == nil && plausible(v) {
			m.Set(name, v)
		}
	}
	m.showLimit()
	first, _, _ := bytes.Cut(data, []byte("\n"))
	if rate, ok := textRate(first); ok && !m.Empty() {
		m.Set(MetricMemProfileRate, rate)
	}
	return m
}

// textRate is the sampling rate in the first line. The line has twice the rate, as tools for C++
// expect.
func textRate(line []byte) (float64, bool) {
	_, rate, ok := bytes.Cut(line, []byte("@ heap/"))
	if !ok {
		return 0, false
	}
	v, err := strconv.ParseFloat(string(bytes.TrimSpace(rate)), 64)
	return v / 2, err == nil && v >= 2 && v < 1<<60
}
