// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"errors"
	"fmt"
	"regexp"
	"testing"
)

// prometheusText is an answer of /metrics of a program with n requests.
func prometheusText(n int) string {
	return fmt.Sprintf(`# HELP go_gc_gogc_percent Heap size target percentage.
# TYPE go_gc_gogc_percent gauge
go_gc_gogc_percent 150
# TYPE go_memstats_alloc_bytes_total counter
go_memstats_alloc_bytes_total %[1]d.5e+06
go_memstats_mallocs_total %[1]d00
# TYPE http_requests_total counter
http_requests_total{code="200",path="/a b{}\"#"} %[1]d 1700000000000
http_requests_total{code="500"} %[1]d # {trace_id="x"} 1
# TYPE http_seconds histogram
http_seconds_bucket{le="+Inf"} %[1]d
http_seconds_count %[1]d
# TYPE in_flight gauge
in_flight 7
empty_total NaN
process_cpu_seconds_total %[1]d.25
other_app{x="y"} +Inf
`, n)
}

func TestCounterInPrometheus(t *testing.T) {
	text := []byte(prometheusText(40))
	for name, want := range map[string]float64{
		"http_requests_total": 80, `http_requests_total{code="200"}`: 40, `http_requests_total{ code="200", path="/a b{}\"#" }`: 40, "http_seconds_count": 40,
		"http_requests_total{}": 80,
	} {
		if v, err := Counter(text, name); v != want || err != nil {
			t.Errorf("%s: %v, %v, want %v", name, v, err, want)
		}
	}
	for name, want := range map[string]string{
		"requests": `there is no counter "requests"; there are "http_requests_total", "empty_total", "http_seconds_count", "go_memstats`, `http_requests_total{code="404"}`: `there is no counter`,
		"in_flight": `in_flight is a gauge, and no counter$`, "http_seconds": `is a histogram, and no counter; http_seconds_count counts`,
		"http_requests_total{code}": `is no name of a counter; write it like`, `http_requests_total{code="200"`: `is no name of a counter`, "empty_total": `has no value`,
	} {
		if _, err := Counter(text, name); err == nil || !regexp.MustCompile(want).MatchString(err.Error()) || !errors.Is(err, ErrInput) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}

// The answers of /metrics are metrics of the runtime as well, in whatever order the files come.
func TestReadPrometheus(t *testing.T) {
	e := readCounted(t, Per{Counter: "http_requests_total"}, prometheusText(50), prometheusText(30))
	if v, _ := e.Metrics[1].Get(MetricGOGC); v != 150 {
		t.Errorf("GOGC is %v", v)
	}
	if a, b := e.Metrics[0].Values[MetricAllocObjects], e.Metrics[1].Values[MetricAllocObjects]; a != 3000 || b != 5000 {
		t.Errorf("objects %v and %v", a, b)
	}
	want := Work{Name: "http_requests_total", Count: 40, CPUSeconds: 20, AllocBytes: 20e6, AllocObjects: 2000}
	if w, err := e.Work(); err != nil || *w != want {
		t.Errorf("the work is %+v, %v, want %+v", w, err, want)
	}
	if w, err := readCounted(t, Per{}, prometheusText(50)).Work(); w != nil || err != nil {
		t.Errorf("without a counter: %+v, %v", w, err)
	}
	if w, err := readCounted(t, Per{Number: 12000}, prometheusText(50)).Work(); err != nil || *w != (Work{Name: "operation", Count: 12000}) {
		t.Errorf("of a number: %+v, %v", w, err)
	}
}

func readCounted(t *testing.T, per Per, texts ...string) *Evidence {
	t.Helper()
	e := &Evidence{Per: per}
	for i, text := range texts {
		if err := e.ReadBytes(fmt.Sprint("FILE", i), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	return e
}

// The variables of package expvar count, too, and so do readings that -save kept.
func TestReadVariables(t *testing.T) {
	vars := func(n int) string { return fmt.Sprintf(`{"requests": %d, "memstats": {"TotalAlloc": %d000}}`, n, n) }
	e := readCounted(t, Per{Counter: "requests"}, vars(5), vars(9))
	if w, err := e.Work(); err != nil || *w != (Work{Name: "requests", Count: 4, AllocBytes: 4000}) {
		t.Errorf("%+v, %v", w, err)
	}
	e = &Evidence{Per: Per{Counter: "requests"}}
	for i := range e.Metrics {
		e.Metrics[i].SetReading("requests", float64(3*i))
		e.Metrics[i].SetReadAt(float64(100 + 2*i))
	}
	if w, err := e.Work(); err != nil || *w != (Work{Name: "requests", Count: 3, Seconds: 2}) {
		t.Errorf("kept: %+v, %v", w, err)
	}
	if n := len(e.Metrics[1].Readings().Values); n != 2 {
		t.Errorf("%d readings, want 2", n)
	}
}

func TestWorkRefused(t *testing.T) {
	counted := Per{Counter: "http_requests_total"}
	for want, e := range map[string]*Evidence{
		`is in one input; give the answers of /metrics or /debug/vars from the start and from the end`: readCounted(t, counted, prometheusText(5)),
		`there is no counter "jobs"; there are "`:                                                      readCounted(t, Per{Counter: "jobs"}, prometheusText(5), prometheusText(6)),
		`did not rise, it was 10 at both ends`:                                                         readCounted(t, counted, prometheusText(5), prometheusText(5)+"\n"),
		`no input has counters, such as "http_requests_total"; save`:                                   {Per: counted},
		`there is no variable "jobs"; the numbers are \["requests"\]`:                                  readCounted(t, Per{Counter: "jobs"}, `{"requests": 1, "memstats": {"NumGC": 1}}`),
	} {
		if w, err := e.Work(); err == nil || w != nil || !regexp.MustCompile(want).MatchString(err.Error()) || !errors.Is(err, ErrInput) {
			t.Errorf("%+v, %v, want %s", w, err, want)
		}
	}
	fell := &Evidence{Per: counted}
	fell.Metrics[0].SetReading("http_requests_total", 9)
	fell.Metrics[1].SetReading("http_requests_total", 2)
	if _, err := fell.Work(); err == nil || !regexp.MustCompile("fell from 9 to 2: the program was started again").MatchString(err.Error()) {
		t.Errorf("%v", err)
	}
	other := &Evidence{Per: Per{Counter: "jobs"}}
	if err := other.ReadBytes("FILE", []byte("# TYPE up gauge\nup 1\n")); err == nil || !regexp.MustCompile(`FILE: it has no value of the runtime, and there is no counter "jobs"`).MatchString(err.Error()) {
		t.Errorf("%v", err)
	}
}
