// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/freehold-go/freehold/cmd/doctor"
	"github.com/freehold-go/freehold/cmd/evidence"
	"github.com/freehold-go/freehold/cmd/internal/profiletest"
)

// counting serves a counter that rises by a hundred with each answer.
func counting(form string) http.HandlerFunc {
	var n atomic.Int64
	return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, form, n.Add(100)) }
}

const (
	prometheusForm = "# TYPE jobs_total counter\njobs_total{kind=\"a\"} %d\nprocess_cpu_seconds_total 3\n"
	variablesForm  = `{"jobs": %d, "memstats": {"NumGC": 3}}`
	plainForm      = `{"jobs": %d}`
)

// quick is debugServer with a CPU profile that takes no time.
func quick(t *testing.T, more map[string]http.HandlerFunc) *httptest.Server {
	t.Helper()
	f := profiletest.Program()
	f.CPU.DurationNanos = 1e9
	data := profiletest.Written(t, f.CPU, true)
	if more == nil {
		more = map[string]http.HandlerFunc{}
	}
	more["/debug/pprof/profile"] = func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(data) }
	return debugServer(t, "", more)
}

// A counter is read right before and right after the CPU profile, wherever the program serves it, and
// -save keeps it.
func TestPerAddress(t *testing.T) {
	second := Options{Duration: time.Second}
	other := quick(t, map[string]http.HandlerFunc{"/stats/counters": counting(prometheusForm)})
	for name, c := range map[string]struct {
		path, form, counter string
	}{
		"prometheus": {"/metrics", prometheusForm, `jobs_total{kind="a"}`}, "expvar": {"/debug/vars", variablesForm, "jobs"}, "other JSON": {"/debug/vars", plainForm, "jobs"},
		"other port": {"/other", plainForm, other.URL + "/stats/counters#jobs_total"},
	} {
		t.Run(name, func(t *testing.T) {
			o := second
			o.Per, o.Save = evidence.Per{Counter: c.counter}, filepath.Join(t.TempDir(), "kept")
			s := quick(t, map[string]http.HandlerFunc{c.path: counting(c.form)})
			e := collected(t, []string{s.URL}, nil, o)
			w, err := e.Work()
			if err != nil || w.Count < 100 || w.Seconds <= 0 || w.Seconds > 600 || strings.Contains(w.Name, "://") {
				t.Fatalf("the work is %+v, %v", w, err)
			}
			again := collected(t, []string{o.Save}, nil, Options{Per: evidence.Per{Counter: w.Name}})
			if kept, err := again.Work(); err != nil || *kept != *w {
				t.Errorf("%+v was kept as %+v, %v", w, kept, err)
			}
			p := doctor.Diagnose(t.Context(), e).PerOperation
			if p == nil || p.WindowAssumed || p.PerSecond != w.Count/w.Seconds {
				t.Errorf("the cost is %+v", p)
			}
		})
	}
}

func TestPerRefused(t *testing.T) {
	counter := func(name string) Options {
		return Options{Duration: time.Second, Per: evidence.Per{Counter: name}}
	}
	s := quick(t, map[string]http.HandlerFunc{"/metrics": counting(prometheusForm)})
	still := quick(t, map[string]http.HandlerFunc{"/metrics": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "idle_total 7\n") }})
	bare := quick(t, nil)
	wantError(t, []string{s.URL}, nil, counter("requests"), `doctor: -per: http://.*/metrics: there is no counter "requests"; there are "jobs_total"`)
	wantError(t, []string{bare.URL}, nil, counter("requests"), `/debug/vars answers "404 Not Found"; import _ "expvar" .*; /metrics is not served either; for a counter of another port write http://HOST:PORT/metrics#requests`)
	wantError(t, []string{still.URL}, nil, counter("idle_total"), `the counter "idle_total" did not rise, it was 7 at both ends`)
	wantError(t, []string{s.URL}, nil, counter("http://localhost:1/metrics"), `is no address of a counter; write it like`)
	wantError(t, []string{s.URL}, nil, counter("http://127.0.0.1:1/metrics#jobs"), `-per: cannot reach http://127.0.0.1:1`)
	wantError(t, []string{s.URL}, nil, Options{Per: evidence.Per{Number: 5}}, `the number of operations in the window of a running program is not known before`)
	wantError(t, nil, []string{"true"}, counter("jobs"), `the counters of a command are read at its address`)
	wantError(t, []string{"."}, nil, Options{Bench: ".", Per: evidence.Per{Number: 5}}, `benchmarks count their operations themselves`)
}

// A header, which may be a secret, goes to no other port for the sake of a counter.
func TestPerKeepsSecrets(t *testing.T) {
	var leaked atomic.Bool
	other := quick(t, map[string]http.HandlerFunc{"/metrics": func(w http.ResponseWriter, r *http.Request) {
		leaked.Store(leaked.Load() || r.Header.Get("Token") != "")
		fmt.Fprint(w, "jobs_total 1\n")
	}})
	s := quick(t, nil)
	o := Options{Duration: time.Second, Per: evidence.Per{Counter: other.URL + "/metrics#none"}}
	o.Server.Headers = []string{"Token: secret"}
	wantError(t, []string{s.URL}, nil, o, `there is no counter "none"`)
	if leaked.Load() {
		t.Error("the header went to the other port")
	}
}
