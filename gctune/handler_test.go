// SPDX-License-Identifier: Apache-2.0

package gctune_test

import (
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/gctune"
)

func ask(t *testing.T, method, target string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	gctune.Handler().ServeHTTP(w, httptest.NewRequest(method, target, nil))
	return w
}

func answer(t *testing.T, target string) map[string]json.RawMessage {
	t.Helper()
	w := ask(t, http.MethodGet, target)
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/json" {
		t.Fatalf("status %d, type %q: %s", w.Code, w.Header().Get("Content-Type"), w.Body)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(w.Body.Bytes(), &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}

func field[T any](t *testing.T, fields map[string]json.RawMessage, name string) (v T) {
	t.Helper()
	if err := json.Unmarshal(fields[name], &v); err != nil {
		t.Fatalf("%s is %q: %v", name, fields[name], err)
	}
	return v
}

// TestHandlerHasEveryMetric decodes each metric into the type that the runtime gives it.
func TestHandlerHasEveryMetric(t *testing.T) {
	runtime.GC()
	fields := answer(t, gctune.HandlerPath)
	for _, d := range metrics.All() {
		switch d.Kind {
		case metrics.KindUint64:
			field[uint64](t, fields, d.Name)
		case metrics.KindFloat64:
			field[float64](t, fields, d.Name)
		case metrics.KindFloat64Histogram:
			h := field[metrics.Float64Histogram](t, fields, d.Name)
			if len(h.Counts) == 0 || len(h.Buckets) != len(h.Counts)+1 {
				t.Errorf("%s has %d counts in %d buckets", d.Name, len(h.Counts), len(h.Buckets))
			}
			for i := 1; i < len(h.Buckets); i++ {
				if h.Buckets[i] <= h.Buckets[i-1] {
					t.Errorf("%s: bucket %d begins at %g, the one before at %g", d.Name, i, h.Buckets[i], h.Buckets[i-1])
				}
			}
		}
	}
	pauses := field[metrics.Float64Histogram](t, fields, "/sched/pauses/total/gc:seconds")
	if last := pauses.Buckets[len(pauses.Buckets)-1]; last != math.MaxFloat64 {
		t.Errorf("infinity is written as %g, want %g", last, math.MaxFloat64)
	}
	var events uint64
	for _, n := range pauses.Counts {
		events += n
	}
	if events == 0 {
		t.Error("no pause is counted after a collection")
	}
	if live := field[uint64](t, fields, "/gc/heap/live:bytes"); live == 0 {
		t.Error("nothing is live after a collection")
	}
}

// held is what a package of this test claims to hold. A name is registered once in a process,
// however often a test runs.
var held = func() *int64 {
	n := new(int64)
	freehold.Register("gctune_test", func() freehold.Totals { return freehold.Totals{InUse: *n, Retained: *n / 2} })
	return n
}()

func TestHandlerSaysWhatMetricsDoNot(t *testing.T) {
	before := field[int64](t, answer(t, gctune.HandlerPath), "/freehold/offheap/resident:bytes")
	*held = 1000
	defer func() { *held = 0 }()
	fields := answer(t, gctune.HandlerPath)
	if got := field[int64](t, fields, "/freehold/offheap/resident:bytes"); got != before+1500 {
		t.Errorf("%d bytes off the heap, want %d", got, before+1500)
	}
	if got := field[string](t, fields, "go"); got != runtime.Version() {
		t.Errorf("go is %q, want %q", got, runtime.Version())
	}
	if got := field[int](t, fields, "/freehold/numcpu:cpus"); got != runtime.NumCPU() {
		t.Errorf("%d CPUs, want %d", got, runtime.NumCPU())
	}
	if got := field[int](t, fields, "/freehold/memprofilerate:bytes"); got != runtime.MemProfileRate {
		t.Errorf("memory profile rate %d, want %d", got, runtime.MemProfileRate)
	}
	if got := field[float64](t, fields, "/freehold/uptime:seconds"); got <= 0 {
		t.Errorf("up for %g seconds", got)
	}
	if got := field[string](t, fields, "path"); got != "github.com/freehold-go/freehold/gctune.test" {
		t.Errorf("path is %q", got)
	}
	if got := field[string](t, fields, "main"); got != "github.com/freehold-go/freehold" {
		t.Errorf("main is %q", got)
	}
}

func TestHandlerCollects(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // A collection that begins by itself would spare the handler one.
	const name = "/gc/cycles/forced:gc-cycles"
	before := field[uint64](t, answer(t, gctune.HandlerPath), name)
	if same := field[uint64](t, answer(t, gctune.HandlerPath+"?gc=0"), name); same != before {
		t.Errorf("gc=0 ran %d collections", same-before)
	}
	if after := field[uint64](t, answer(t, gctune.HandlerPath+"?gc=1"), name); after != before+1 {
		t.Errorf("gc=1 ran %d collections", after-before)
	}
}

func TestHandlerRefuses(t *testing.T) {
	for _, c := range []struct {
		method, target string
		code           int
		text           string
	}{
		{http.MethodGet, "?gc=now", http.StatusBadRequest, "gctune: gc=\"now\" is no number\n"},
		{http.MethodPost, "", http.StatusMethodNotAllowed, "gctune: method POST; want GET\n"},
	} {
		w := ask(t, c.method, gctune.HandlerPath+c.target)
		if w.Code != c.code || w.Body.String() != c.text {
			t.Errorf("%s %s: status %d, %q; want %d, %q", c.method, c.target, w.Code, w.Body, c.code, c.text)
		}
	}
}

func BenchmarkHandler(b *testing.B) {
	h := gctune.Handler()
	for b.Loop() {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, gctune.HandlerPath, nil))
	}
}
