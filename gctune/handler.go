// SPDX-License-Identifier: Apache-2.0

package gctune

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strconv"
	"time"

	"github.com/freehold-go/freehold"
)

// HandlerPath is the path where tools look for [Handler].
const HandlerPath = "/debug/freehold/metrics"

// Handler serves every metric of runtime/metrics as one JSON object, for tools that watch a running
// program:
//
//	http.Handle(gctune.HandlerPath, gctune.Handler())
//
// Each metric has its own name. Integers and floating-point numbers are JSON numbers:
//
//	"/gc/heap/live:bytes": 41943040,
//
// A histogram is an object with the fields of [metrics.Float64Histogram], so a program can decode
// it into that type:
//
//	"/sched/pauses/total/gc:seconds": {"counts": [0, 3, 1], "buckets": [0, 6.4e-08, 1.28e-07, 1.7976931348623157e+308]},
//
// Here counts[i] values were at least buckets[i] and less than buckets[i+1]. JSON has no infinity:
// plus and minus math.MaxFloat64 stand for it. Further fields are not metrics of the runtime:
//
//	"go":   "go1.26.1",                              version of the runtime
//	"main": "example.com/service",                   path of the main module, "" if the program was built without one
//	"path": "example.com/service/cmd/api",           import path of the main package
//	"/freehold/memprofilerate:bytes": 524288         runtime.MemProfileRate
//	"/freehold/numcpu:cpus": 8                       logical CPUs that the process may use
//	"/freehold/offheap/resident:bytes": 1048576      memory of freehold's packages outside the Go heap, free blocks included
//	"/freehold/uptime:seconds": 86400.5              since the initialisation of this package
//
// Counters are sums since the program's start, so a window takes two requests. With ?gc=1 a
// collection runs first, so that live bytes are current. The answer to a parameter that is not a
// number is status 400; to a method other than GET and HEAD, 405.
//
// A request takes some 0.3 ms of CPU and does not stop the program, except for the collection of
// gc=1. The figures describe the program's memory, so serve the path where net/http/pprof is
// served.
func Handler() http.Handler { return http.HandlerFunc(serve) }

func serve(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, fmt.Sprintf("gctune: method %s; want GET", r.Method), http.StatusMethodNotAllowed)
		return
	}
	if v := r.FormValue("gc"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil {
			http.Error(w, fmt.Sprintf("gctune: gc=%q is no number", v), http.StatusBadRequest)
			return
		}
		if n != 0 {
			runtime.GC()
		}
	}
	body, err := encode(snapshot())
	if err != nil {
		http.Error(w, "gctune: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(body) // An error here means that the client has gone.
}

// encode writes a line for each field, sorted by name, so that people can read it, too.
func encode(fields map[string]any) ([]byte, error) {
	b := []byte("{")
	for i, name := range slices.Sorted(maps.Keys(fields)) {
		v, err := json.Marshal(fields[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, "\n%q: %s", name, v)
	}
	return append(b, "\n}\n"...), nil
}

// start is as near to the program's start as a package can get.
var start = time.Now()

// histogram is metrics.Float64Histogram with the names that JSON uses, and without infinities.
type histogram struct {
	Counts  []uint64  `json:"counts"`
	Buckets []float64 `json:"buckets"`
}

// snapshot returns the fields of the answer. Each request has samples of its own, because
// histograms are read into them.
func snapshot() map[string]any {
	all := metrics.All()
	samples := make([]metrics.Sample, len(all))
	for i := range all {
		samples[i].Name = all[i].Name
	}
	metrics.Read(samples)
	fields := make(map[string]any, len(samples)+7)
	for _, s := range samples {
		switch s.Value.Kind() {
		case metrics.KindUint64:
			fields[s.Name] = s.Value.Uint64()
		case metrics.KindFloat64:
			fields[s.Name] = finite(s.Value.Float64())
		case metrics.KindFloat64Histogram:
			fields[s.Name] = toHistogram(s.Value.Float64Histogram())
		}
	}
	fields["go"] = runtime.Version()
	fields["main"], fields["path"] = "", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		fields["main"], fields["path"] = info.Main.Path, info.Path
	}
	held, _ := freehold.ReadTotals()
	fields["/freehold/memprofilerate:bytes"] = runtime.MemProfileRate
	fields["/freehold/numcpu:cpus"] = runtime.NumCPU()
	fields["/freehold/offheap/resident:bytes"] = held.Resident()
	fields["/freehold/uptime:seconds"] = time.Since(start).Seconds()
	return fields
}

func toHistogram(h *metrics.Float64Histogram) histogram {
	buckets := make([]float64, len(h.Buckets)) // the runtime shares its own among all readers
	for i, b := range h.Buckets {
		buckets[i] = finite(b)
	}
	return histogram{h.Counts, buckets}
}

// finite replaces infinity by the largest number, and NaN by 0.
func finite(f float64) float64 {
	if math.IsNaN(f) {
		return 0
	}
	return max(-math.MaxFloat64, min(f, math.MaxFloat64))
}
