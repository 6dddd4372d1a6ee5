// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"bytes"
	"expvar"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	_ "net/http/pprof"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
)

// stackOf makes a profile's sample: its value and the functions from the innermost out.
type stackOf struct {
	ns    int64
	funcs []string
}

// cpuProfile is one as runtime/pprof writes it.
func cpuProfile(t *testing.T, stacks []stackOf) []byte {
	t.Helper()
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 10_000_000,
	}
	for _, s := range stacks {
		sample := &profile.Sample{Value: []int64{s.ns / 10_000_000, s.ns}}
		for _, name := range s.funcs {
			f := &profile.Function{ID: uint64(len(p.Function) + 1), Name: name, SystemName: name, Filename: "x.go"}
			loc := &profile.Location{ID: f.ID, Address: f.ID << 4, Line: []profile.Line{{Function: f, Line: 1}}}
			p.Function, p.Location = append(p.Function, f), append(p.Location, loc)
			sample.Location = append(sample.Location, loc)
		}
		p.Sample = append(p.Sample, sample)
	}
	var out bytes.Buffer
	if err := p.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// heapText is the end of the text form of a heap profile after n readings: each time two cycles
// with pauses of 10 and 30 µs.
func heapText(n int, scale float64) string {
	pauses := make([]string, 256)
	for i := range pauses {
		pauses[i] = []string{"10000", "30000"}[i%2]
	}
	return fmt.Sprintf("heap profile: 0: 0 [0: 0] @ heap/1048576\n\n# runtime.MemStats\n# Alloc = 5\n# TotalAlloc = %.0f\n# Mallocs = %.0f\n# NumGC = %d\n"+
		"# NumForcedGC = 0\n# PauseNs = [%s]\n# MaxRSS = 104857600\n", 1e6+scale*1e7*float64(n), 1e3+scale*1e5*float64(n), 10+2*n, strings.Join(pauses, " "))
}

// fake is a server whose figures are known: 0.4 s of CPU in each profile, a quarter of it marking,
// and scale times that for all but the number of cycles.
func fake(t *testing.T, scale float64) *httptest.Server {
	t.Helper()
	ns := func(v float64) int64 { return int64(v * scale * 1e9) }
	cpu := cpuProfile(t, []stackOf{
		{ns(0.3), []string{"main.work", "main.main"}},
		{ns(0.1), []string{"runtime.scanobject", "runtime.gcDrain", "runtime.gcBgMarkWorker.func2", "runtime.systemstack", "runtime.gcBgMarkWorker"}},
	})
	readings, requests := 0, 0
	mux := http.NewServeMux()
	mux.HandleFunc("/base/debug/pprof/heap", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, heapText(readings, scale))
		readings++
	})
	mux.HandleFunc("/base/debug/pprof/profile", func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("seconds") != "1" {
			http.Error(w, "wrong seconds", http.StatusBadRequest)
			return
		}
		w.Write(cpu)
	})
	mux.HandleFunc("/base/debug/vars", func(w http.ResponseWriter, _ *http.Request) {
		requests += 50
		fmt.Fprintf(w, `{"requests": %d, "name": "x", "idle": 7}`, requests)
	})
	mux.HandleFunc("/base/metrics", func(w http.ResponseWriter, _ *http.Request) {
		requests += 50
		fmt.Fprintf(w, "# TYPE http_requests_total counter\nhttp_requests_total{code=\"200\"} %d\nhttp_requests_total{code=\"500\"} 3\n", requests)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func TestServers(t *testing.T) {
	a, b := fake(t, 1), fake(t, 2)
	for _, per := range []string{"", "requests", `http_requests_total{code="200"}`} {
		r, err := Run(t.Context(), Options{
			A: a.URL + "/base/debug/pprof/?x=1", B: b.URL + "/base/", Count: 6, Window: time.Second, Per: per,
		})
		if err != nil {
			t.Fatal(err)
		}
		c := &r.Comparisons[0]
		for name, want := range map[string]float64{MeasureCPU: 2, MeasureGCCPU: 2, MeasurePeakRSS: 1, MeasurePauseP50: 1, MeasurePauseMax: 1} {
			if m := c.Measure(name); m == nil || m.Ratio == nil || math.Abs(*m.Ratio-want) > 1e-6 && name[0] == 'p' {
				t.Errorf("per %q, %s: %+v, want the ratio %g", per, name, m, want)
			}
		}
		if gc, cpu := c.Measure(MeasureGCCPU), c.Measure(MeasureCPU); gc == nil || cpu == nil || math.Abs(gc.A/cpu.A-0.25) > 1e-6 {
			t.Errorf("per %q: the collector takes %+v of %+v, want a quarter", per, gc, cpu)
		}
		if m := c.Measure(MeasurePauseMax); m == nil || m.A != 3e-5 {
			t.Errorf("longest pause: %+v", m)
		}
		if per == "" {
			if m := c.Measure(MeasureCPU); math.Abs(m.A-0.4) > 1e-9 || math.Abs(*m.Ratio-2) > 1e-9 || c.Per != "second" {
				t.Errorf("CPU by second: %+v", m)
			}
			continue
		}
		for name, want := range map[string][2]float64{MeasureAllocBytes: {2e5, 2}, MeasureAllocs: {2e3, 2}, MeasureGCCycles: {0.04, 1}} {
			if m := c.Measure(name); m == nil || math.Abs(m.A-want[0]) > 1e-9*want[0] || math.Abs(*m.Ratio-want[1]) > 1e-9 {
				t.Errorf("by request, %s: %+v, want %v", name, m, want)
			}
		}
		if c.Per != per || c.Measure(per+" per second") == nil {
			t.Errorf("%+v", c)
		}
	}
}

func TestServersRefuse(t *testing.T) {
	good := fake(t, 1).URL + "/base"
	const nobody = "http://127.0.0.1:1" // no port that was free a moment ago: the next listener may get it
	answer := func(status int, text string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, text, status) }))
		t.Cleanup(s.Close)
		return s.URL
	}
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{A: nobody, B: good}, "connection refused; is the program running"},
		{Options{A: good, B: answer(404, "")}, `/debug/pprof/heap answers "404 Not Found"; import _ "net/http/pprof" in the program`},
		{Options{A: good, B: answer(403, "")}, `/debug/pprof/heap answers "403 Forbidden"; put user and password`},
		{Options{A: good, B: answer(500, "it broke\nhere")}, `/debug/pprof/heap answers "500 Internal Server Error"; is there a Go program`},
		{Options{A: good, B: answer(200, "<html>hello")}, "/debug/pprof/heap"},
		{Options{A: good, B: good + "/debug/pprof"}, "A and B are the same server"},
		{Options{A: good, B: "http://"}, `"http://" is no address`},
		{Options{A: good, B: fake(t, 1).URL + "/base", Per: "nothing"}, `there is no variable "nothing"; the numbers are ["idle" "requests"]; `},
		{Options{A: good, B: fake(t, 1).URL + "/base", Per: "nothing"}, `/metrics: there is no counter "nothing"; there are "http_requests_total"`},
		{Options{A: good, B: fake(t, 1).URL + "/base", Per: "name"}, `the variable "name" is no number`},
		{Options{A: good, B: fake(t, 1).URL + "/base", Per: "idle", Window: time.Second}, `the counter "idle" did not rise`},
	} {
		expectError(t, c.o, c.want)
	}
}

// TestPasswords looks for one in everything that is told of a comparison of two servers.
func TestPasswords(t *testing.T) {
	const secret = "hunter2"
	with := func(address string) string {
		return strings.Replace(address, "http://", "http://user:"+secret+"@", 1) + "/base"
	}
	a, b := with(fake(t, 1).URL), with(fake(t, 1).URL)
	var told bytes.Buffer
	o := Options{A: a, B: b, Count: 1, Window: time.Second, Progress: func(line string) { fmt.Fprintln(&told, line) }}
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{r.WriteJSON(&told), r.WriteText(&told, false, 110)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, bad := range []string{a, "http://user:" + secret + "/@host", "http://user:" + secret + "%zz@host", "http://user:" + secret + "@"} {
		if _, err := Run(t.Context(), Options{A: a, B: bad}); err == nil {
			t.Errorf("%s is compared with itself", bad)
		} else {
			fmt.Fprintln(&told, err)
		}
	}
	if i := strings.Index(told.String(), secret); i >= 0 {
		t.Errorf("the password is told:\n%s", told.String())
	}
	if !strings.Contains(told.String(), "user:xxxxx@127.0.0.1") || !strings.Contains(told.String(), "A and B are the same server") {
		t.Errorf("told:\n%s", told.String())
	}
}

// serve is what the test binary does as a server: it allocates, counts, and tells where it listens.
func serve() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	count := expvar.NewInt("done")
	go func() {
		for {
			allocate(1)
			count.Add(1)
		}
	}()
	fmt.Println("http://" + listener.Addr().String())
	panic(http.Serve(listener, nil))
}

// TestRealServers watches two processes with Go's own handlers, long enough for a sample of CPU
// where they hardly get any.
func TestRealServers(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var addresses [2]string
	for i := range addresses {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), actVariable+"=serve", "GOMAXPROCS=1")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			cmd.Process.Kill()
			cmd.Wait() // killed
		})
		if _, err := fmt.Fscanln(out, &addresses[i]); err != nil {
			t.Fatal(err)
		}
		if _, err := url.Parse(addresses[i]); err != nil {
			t.Fatal(err)
		}
	}
	r, err := Run(t.Context(), Options{A: addresses[0], B: addresses[1], Count: 1, Window: 3 * time.Second, Per: "done"})
	if err != nil {
		t.Fatal(err)
	}
	c := &r.Comparisons[0]
	// A server may lose the processor between reading its counter and its memory, so the order of
	// magnitude must do.
	if m := c.Measure(MeasureAllocBytes); m == nil || m.Ratio == nil || max(m.A, m.B) > 8<<20 || min(m.A, m.B) < 1<<20/8 {
		t.Errorf("a MiB is allocated by unit of work, but: %+v", m)
	}
	for _, name := range []string{MeasureCPU, MeasureGCCycles, MeasureAllocs, MeasurePausesRate} {
		if m := c.Measure(name); m == nil || m.A <= 0 {
			t.Errorf("%s: %+v", name, m)
		}
	}
}
