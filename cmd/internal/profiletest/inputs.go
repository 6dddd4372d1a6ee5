// SPDX-License-Identifier: Apache-2.0

package profiletest

import (
	"bytes"
	"testing"

	"github.com/google/pprof/profile"
)

// Program is a small program: a CPU profile and a heap profile.
func Program() *Fake {
	f := NewFake()
	f.Ran("main.work;main.main;runtime.main", 900)
	f.Ran("runtime.mallocgc;runtime.newobject;main.work;main.main;runtime.main", 100)
	f.Made("main.work;main.main;runtime.main", 64, 1_000_000, 10)
	return f
}

// TraceText is a log with three lines of the collector's trace, in the forms of three versions of
// Go.
const TraceText = `2026/11/21 starting
gc 1 @0.010s 2% (checking for goroutine leaks): 0.018+1.2+0.003 ms clock, 0.036+0.5/1.0/0.25+0.006 ms cpu, 4->4->1 MB, 4 MB goal, 1 MB stacks, 2 MB globals, 2 P
noise gc 2 @1.500s 7%: 0.020+10+0.003 ms clock, 0.040+5.0/10/2.0+0.006 ms cpu, 40->44->31 MB, 42 MB goal, 0 MB stacks, 0 MB globals, 8 P (forced)
gc 3 @2.000s 8%: 0.020+10+0.003 ms clock, 0.040+5.0/10/2.0+0.006 ms cpu, 40->44->31 MB, 62 MB goal, 8 P
`

// HeapText is a heap profile in its text form, with a site of named functions and one without
// names.
const HeapText = "heap profile: 1: 1048576 [3: 3145728] @ heap/1048576\n1: 1048576 [3: 3145728] @ 0x1 0x2 0x3\n" +
	"#\t0x1\tbytes.makeSlice+0x3f\t/usr/lib/go/src/bytes/buffer.go:243\n#\t0x2\tmain.(*page[...]).read+0x1b\t\t/src/app/page.go:10\n" +
	"1: 8 [1: 8] @ 0x9\n\n# runtime.MemStats\n# NextGC = 9999\n"

// MetricsTexts are the metrics of one program in three forms, those of the first at both ends of a
// window.
var MetricsTexts = []string{
	`{"/gc/heap/allocs:bytes": 3000, "/gc/heap/live:bytes": 77, "/freehold/uptime:seconds": 30, "main": "example.com/shop", "go": "go1.26.1",
		  "/sched/pauses/total/gc:seconds": {"counts": [0, 3], "buckets": [0, 1e-6, 1.7e308]}}`,
	`{"cmdline": ["x"], "memstats": {"TotalAlloc": 3100, "NextGC": 4096, "NumGC": 12, "GCCPUFraction": 0.25}}`,
	`{"/gc/heap/allocs:bytes": 1000, "/gc/heap/live:bytes": 55, "/freehold/uptime:seconds": 10}`,
	"heap profile: 1: 2 [3: 4] @ heap/1048576\n1: 2 [3: 4] @ 0x1 0x2\n# runtime.MemStats\n# Stack = 65536 / 98304\n# NextGC = 9999\n# NumForcedGC = 5\n",
}

// Inputs are pairs of inputs for fuzz tests to begin with: profiles, metrics with extreme values,
// traces and damaged files.
func Inputs(tb testing.TB) (pairs [][2][]byte) {
	small := Program()
	for _, p := range []*profile.Profile{small.CPU, small.Heap} {
		var b bytes.Buffer
		if err := p.WriteUncompressed(&b); err != nil {
			tb.Fatal(err)
		}
		pairs = append(pairs, [2][]byte{b.Bytes(), []byte(TraceText)})
	}
	counts, delta := Program(), Program()
	counts.CPU.SampleType = counts.CPU.SampleType[:1]
	for _, s := range counts.CPU.Sample {
		s.Value = s.Value[:1]
	}
	delta.Heap.DurationNanos, delta.Heap.Sample[0].Value[2], delta.Heap.Sample[0].Value[3] = 5e9, -1, -64
	for _, p := range []*profile.Profile{counts.CPU, delta.Heap} {
		var b bytes.Buffer
		if err := p.WriteUncompressed(&b); err != nil {
			tb.Fatal(err)
		}
		pairs = append(pairs, [2][]byte{b.Bytes(), []byte(HeapText)})
	}
	var cpu bytes.Buffer
	small.Collector(500, 100)
	if err := small.CPU.WriteUncompressed(&cpu); err != nil {
		tb.Fatal(err)
	}
	for _, values := range []string{
		`{"/gc/heap/live:bytes": 1e19, "/gc/heap/goal:bytes": 1.7e19, "/gc/gogc:percent": 1e-300, "/gc/scan/stack:bytes": 1e19, "/gc/scan/globals:bytes": 1e19}`,
		`{"/gc/heap/live:bytes": 0, "/gc/heap/goal:bytes": 0, "/gc/gogc:percent": 0, "/gc/gomemlimit:bytes": 1, "/gc/scan/heap:bytes": 1, "/freehold/uptime:seconds": 1e19}`,
		`{"/gc/heap/live:bytes": 4e6, "/gc/heap/goal:bytes": 4.1e6, "/gc/gogc:percent": 5, "/gc/gomemlimit:bytes": 5e6, "/gc/cycles/total:gc-cycles": 1e9, "/freehold/memprofilerate:bytes": 0}`,
		`{"/cpu/classes/user:cpu-seconds": 0, "/cpu/classes/gc/total:cpu-seconds": 7, "/cpu/classes/gc/mark/idle:cpu-seconds": 9}`,
	} {
		pairs = append(pairs, [2][]byte{cpu.Bytes(), []byte(values)})
		pairs = append(pairs, [2][]byte{[]byte(values), []byte(TraceText)})
	}
	pairs = append(pairs, [2][]byte{[]byte(`{"memstats": {"NumGC": 3}}`), []byte(`{"/gc/heap/live:bytes": 1e300, "/gc/gogc:percent": -5}`)})
	pairs = append(pairs, [2][]byte{[]byte("heap profile: 1: 2 [3: 4] @ heap/1048576\n# runtime.MemStats\n# NextGC = 1\n"), []byte{0x1f, 0x8b, 8}})
	const series = "# TYPE n_total counter\nn_total{a=\"}\\\"\",b=\"c\"} 1e308 5\nn_total 1e308\ngo_gc_gogc_percent NaN\nprocess_cpu_seconds_total -1\n"
	pairs = append(pairs, [2][]byte{[]byte(series), []byte("pkg: a/b\nBenchmarkX-2 1 5 ns/op 1e308 B/op 0 allocs/op\nBenchmarkX-2 1 1e-300 ns/op 1e308 B/op NaN allocs/op\n")})
	return pairs
}
