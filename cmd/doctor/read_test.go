package doctor

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
)

// program is a small program's evidence: a CPU profile and a heap profile.
func program() *fake {
	f := newFake()
	f.ran("main.work;main.main;runtime.main", 900)
	f.ran("runtime.mallocgc;runtime.newobject;main.work;main.main;runtime.main", 100)
	f.made("main.work;main.main;runtime.main", 64, 1_000_000, 10)
	return f
}

func TestReadProfiles(t *testing.T) {
	f := program()
	for _, compressed := range []bool{true, false} {
		var e Evidence
		late, early := f.heap.Copy(), f.heap.Copy()
		late.TimeNanos, early.TimeNanos = 20e9, 5e9
		for _, p := range []*profile.Profile{f.cpu, late, early, f.cpu} {
			if err := e.Read("file", bytes.NewReader(written(t, p, compressed))); err != nil {
				t.Fatal(err)
			}
		}
		if e.Heap[0].TimeNanos != 5e9 || e.Heap[1].TimeNanos != 20e9 {
			t.Errorf("heap profiles of %d and %d, want the earlier one first", e.Heap[0].TimeNanos, e.Heap[1].TimeNanos)
		}
		if got := sums(e.CPU); got[0] != 2000 {
			t.Errorf("two CPU profiles of 1000 samples came to %d", got[0])
		}
		if w := newAccount(&e).window; w != 15*time.Second {
			t.Errorf("the window is %v, want 15 s", w)
		}
		err := e.Read("third", bytes.NewReader(written(t, f.heap, compressed)))
		if err == nil || !strings.Contains(err.Error(), "third: a third heap profile") {
			t.Errorf("a third heap profile: %v", err)
		}
	}
}

// A process that hardly ran may have been seen in the runtime's assembly alone.
func TestReadAssemblyAlone(t *testing.T) {
	f := newFake()
	f.ran("runtime.futex", 1)
	f.cpu.Function[0].Filename = "/usr/lib/go/src/runtime/sys_linux_amd64.s"
	var e Evidence
	if err := e.Read("file", bytes.NewReader(written(t, f.cpu, true))); err != nil || e.CPU == nil {
		t.Errorf("refused: %v", err)
	}
}

func TestReadRefuses(t *testing.T) {
	cpu := written(t, program().cpu, true)
	change := func(do func(f *fake)) []byte {
		f := program()
		do(f)
		return written(t, f.cpu, false)
	}
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "empty; "},
		{"blank", []byte("\n \n"), "empty; "},
		{"truncated, compressed", cpu[:len(cpu)-20], "truncated: "},
		{"truncated, plain", written(t, program().cpu, false)[:200], "truncated"},
		{"damaged", append(bytes.Clone(cpu[:20]), bytes.Repeat([]byte{7}, 100)...), "damaged: "},
		{"executable", []byte("\x7fELF\x02\x01\x01"), "an executable; "},
		{"execution trace", []byte("go 1.26 trace\x00\x00\x00rest"), "an execution trace; "},
		{"web page", []byte("<!DOCTYPE html>\n<title>404</title>"), "a web page; "},
		{"goroutines", []byte("goroutine profile: total 7\n"), "a goroutine profile; "},
		{"panic", []byte("goroutine 1 [running]:\nmain.main()\n"), "stacks of goroutines; "},
		{"locks as text", []byte("--- mutex:\ncycles/second=1\n"), "a lock profile; "},
		{"perf", []byte("PERFILE2\x00\x00"), "another tool"},
		{"any text", []byte("hello\nworld\n"), "gctrace=1"},
		{"bytes", []byte{0xff, 0xfe, 1, 2, 3}, "not a profile in pprof's format"},
		{"other JSON", []byte(`{"a": 1}`), "JSON without the runtime's values"},
		{"broken JSON", []byte(`{"a": `), "damaged or truncated"},
		{"a report", []byte(`{"gc_cpu_share": 0.5}`), "a report of the doctor"},
		{"a metric that is text", []byte(`{"/gc/heap/live:bytes": "many"}`), "/gc/heap/live:bytes is no number"},
		{"a negative metric", []byte(`{"/gc/heap/live:bytes": -5}`), "/gc/heap/live:bytes is -5"},
		{"half a histogram", []byte(`{"/sched/pauses/total/gc:seconds": {"counts": [1,2], "buckets": [1]}}`), "one more bucket"},
		{"memstats without fields", []byte(`{"memstats": {"a": 1}}`), "none of runtime.MemStats's fields"},
		{"locks", change(func(f *fake) { f.cpu.SampleType[0].Type, f.cpu.SampleType[1].Type = "contentions", "delay" }), "a mutex or block profile"},
		{"goroutine profile", change(func(f *fake) { f.cpu.SampleType[0].Type, f.cpu.SampleType[1].Type = "goroutine", "x" }), "a goroutine profile"},
		{"wall clock", change(func(f *fake) { f.cpu.SampleType[1].Type = "wall" }), "a profile of samples/count wall/nanoseconds; "},
		{"microseconds", change(func(f *fake) { f.cpu.SampleType[1].Unit = "microseconds" }), "microseconds instead of nanoseconds"},
		{"difference", change(func(f *fake) { f.cpu.Sample[0].Value[1] = -1 }), "a difference of two CPU profiles"},
		{"another language", change(func(f *fake) {
			for _, fn := range f.cpu.Function {
				fn.Filename = "app.py"
			}
		}), "another language"},
		{"stripped", change(func(f *fake) {
			for i, loc := range f.cpu.Location {
				loc.Line, loc.Address = nil, uint64(0x400000+i)
			}
		}), "without function names"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var e Evidence
			err := e.Read("FILE", bytes.NewReader(c.data))
			switch {
			case err == nil:
				t.Fatal("read without an error")
			case !errors.Is(err, ErrInput):
				t.Error("the error is not ErrInput")
			case !strings.HasPrefix(err.Error(), "FILE: ") || !strings.Contains(err.Error(), c.want):
				t.Errorf("%q, want FILE: and %q", err, c.want)
			case strings.Contains(err.Error(), "\n"):
				t.Errorf("more than one line: %q", err)
			}
		})
	}
}

func TestReadHeapDifference(t *testing.T) {
	f := program()
	f.heap.Sample[0].Value[3] = -64
	err := new(Evidence).Read("FILE", bytes.NewReader(written(t, f.heap, true)))
	if err == nil || !strings.Contains(err.Error(), "give both profiles") {
		t.Errorf("%v", err)
	}
}

func TestReadMetrics(t *testing.T) {
	var e Evidence
	for _, text := range []string{
		`{"/gc/heap/allocs:bytes": 3000, "/gc/heap/live:bytes": 77, "/freehold/uptime:seconds": 30, "main": "example.com/shop", "go": "go1.26.1",
		  "/sched/pauses/total/gc:seconds": {"counts": [0, 3], "buckets": [0, 1e-6, 1.7e308]}}`,
		`{"cmdline": ["x"], "memstats": {"TotalAlloc": 3100, "NextGC": 4096, "NumGC": 12, "GCCPUFraction": 0.25}}`,
		`{"/gc/heap/allocs:bytes": 1000, "/gc/heap/live:bytes": 55, "/freehold/uptime:seconds": 10}`,
		"heap profile: 1: 2 [3: 4] @ heap/1048576\n1: 2 [3: 4] @ 0x1 0x2\n# runtime.MemStats\n# Stack = 65536 / 98304\n# NextGC = 9999\n# NumForcedGC = 5\n",
	} {
		if err := e.Read("file", strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	if e.Main != "example.com/shop" || e.Go != "go1.26.1" {
		t.Errorf("main %q, Go %q", e.Main, e.Go)
	}
	a := newAccount(&e)
	for name, want := range map[string]float64{
		MetricLiveHeap: 77, MetricHeapGoal: 4096, MetricCyclesTotal: 12, MetricGCFraction: 0.25, MetricStackBytes: 65536, MetricCyclesForced: 5, MetricMemProfileRate: 524288,
	} {
		if got, ok := a.metric(name); !ok || got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if got, _ := a.counter(MetricAllocBytes); got != 2000 {
		t.Errorf("allocated %v in the window, want 2000", got)
	}
	if h := e.Metrics[1].Histograms[MetricPauses]; len(h.Counts) != 2 || h.Counts[1] != 3 {
		t.Errorf("pauses %+v", h)
	}
}

// The text form has what was sampled; the figures are scaled as pprof scales them.
func TestReadHeapText(t *testing.T) {
	text := "heap profile: 1: 1048576 [3: 3145728] @ heap/1048576\n1: 1048576 [3: 3145728] @ 0x1 0x2 0x3\n" +
		"#\t0x1\tbytes.makeSlice+0x3f\t/usr/lib/go/src/bytes/buffer.go:243\n#\t0x2\tmain.(*page[...]).read+0x1b\t\t/src/app/page.go:10\n" +
		"1: 8 [1: 8] @ 0x9\n\n# runtime.MemStats\n# NextGC = 9999\n"
	var e Evidence
	if err := e.Read("heap", strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	a := newAccount(&e)
	if len(a.sites) != 1 {
		t.Fatalf("%d sites, want 1", len(a.sites))
	}
	s := a.sites[0]
	if s.at.fn != "bytes.makeSlice" || s.owner.fn != "main.(*page[...]).read" || s.owner.line != 10 {
		t.Errorf("site %+v, owner %+v", s.at.site(), s.owner.site())
	}
	// 1 MiB at one sample in 512 KiB: of such blocks 1-exp(-2) are sampled.
	if want := 3 * float64(1<<20) / (1 - math.Exp(-2)); math.Abs(s.allocBytes-want) > 2 || s.sizes[1<<20] != 3 {
		t.Errorf("%.0f bytes allocated, want %.0f; sizes %v", s.allocBytes, want, s.sizes)
	}
	if rate, _ := a.metric(MetricMemProfileRate); rate != 512<<10 {
		t.Errorf("rate %v", rate)
	}
}

const traceText = `2026/11/21 starting
gc 1 @0.010s 2% (checking for goroutine leaks): 0.018+1.2+0.003 ms clock, 0.036+0.5/1.0/0.25+0.006 ms cpu, 4->4->1 MB, 4 MB goal, 1 MB stacks, 2 MB globals, 2 P
noise gc 2 @1.500s 7%: 0.020+10+0.003 ms clock, 0.040+5.0/10/2.0+0.006 ms cpu, 40->44->31 MB, 42 MB goal, 0 MB stacks, 0 MB globals, 8 P (forced)
gc 3 @2.000s 8%: 0.020+10+0.003 ms clock, 0.040+5.0/10/2.0+0.006 ms cpu, 40->44->31 MB, 62 MB goal, 8 P
`

// Lines of a log in JSON are no document, but the trace between them is one; a document that is damaged is still called so.
func TestReadTraceBetweenJSON(t *testing.T) {
	const line = `{"time":"2026-01-02T03:04:05Z","level":"INFO","msg":"listening"}` + "\n"
	for _, log := range []string{line + traceText, line + line + traceText + line} {
		var e Evidence
		if err := e.Read("log", strings.NewReader(log)); err != nil {
			t.Error(err)
		} else if n := len(e.Trace.Cycles); n != 3 {
			t.Errorf("%d cycles, want 3", n)
		}
	}
	var e Evidence
	if err := e.Read("log", strings.NewReader(line+line)); err == nil || !strings.Contains(err.Error(), "JSON that is damaged") {
		t.Errorf("the error is %v", err)
	}
}

func TestReadTrace(t *testing.T) {
	var e Evidence
	if err := e.Read("log", strings.NewReader(traceText)); err != nil {
		t.Fatal(err)
	}
	if n := len(e.Trace.Cycles); n != 3 {
		t.Fatalf("%d cycles, want 3", n)
	}
	want := GCCycle{
		Number: 2, At: 1500 * time.Millisecond, Percent: 7,
		SweepTermination: 20 * time.Microsecond, Mark: 10 * time.Millisecond, MarkTermination: 3 * time.Microsecond,
		CPUSweepTermination: 40 * time.Microsecond, CPUAssist: 5 * time.Millisecond, CPUBackground: 10 * time.Millisecond, CPUIdle: 2 * time.Millisecond, CPUMarkTermination: 6 * time.Microsecond,
		HeapStart: 40 << 20, HeapEnd: 44 << 20, Live: 31 << 20, Goal: 42 << 20, Procs: 8, Forced: true,
	}
	if got := e.Trace.Cycles[1]; got != want {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	r := Diagnose(&e)
	if r.Confidence != None || !strings.Contains(r.Verdict, "8.0 %") {
		t.Errorf("confidence %s, verdict %q; want none, and the trace's 8.0 %%", r.Confidence, r.Verdict)
	}
	// With the time of the process the times of the trace have something to be a share of: 31.6 ms of 316 ms.
	e.Metrics[1].Set(MetricProcessCPU, 0.31586)
	if r := Diagnose(&e); r.GCShare < 0.0995 || r.GCShare > 0.1005 {
		t.Errorf("the collector's share is %.4f, want 0.100", r.GCShare)
	}
}

// Whatever is read, nothing panics, and the attributed profile keeps its total.
func FuzzRead(f *testing.F) {
	small := program()
	for _, p := range []*profile.Profile{small.cpu, small.heap} {
		var b bytes.Buffer
		if err := p.WriteUncompressed(&b); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes(), []byte(traceText))
	}
	var cpu bytes.Buffer
	small.collector(500, 100)
	if err := small.cpu.WriteUncompressed(&cpu); err != nil {
		f.Fatal(err)
	}
	for _, values := range []string{
		`{"/gc/heap/live:bytes": 1e19, "/gc/heap/goal:bytes": 1.7e19, "/gc/gogc:percent": 1e-300, "/gc/scan/stack:bytes": 1e19, "/gc/scan/globals:bytes": 1e19}`,
		`{"/gc/heap/live:bytes": 0, "/gc/heap/goal:bytes": 0, "/gc/gogc:percent": 0, "/gc/gomemlimit:bytes": 1, "/gc/scan/heap:bytes": 1, "/freehold/uptime:seconds": 1e19}`,
		`{"/gc/heap/live:bytes": 4e6, "/gc/heap/goal:bytes": 4.1e6, "/gc/gogc:percent": 5, "/gc/gomemlimit:bytes": 5e6, "/gc/cycles/total:gc-cycles": 1e9, "/freehold/memprofilerate:bytes": 0}`,
		`{"/cpu/classes/user:cpu-seconds": 0, "/cpu/classes/gc/total:cpu-seconds": 7, "/cpu/classes/gc/mark/idle:cpu-seconds": 9}`,
	} {
		f.Add(cpu.Bytes(), []byte(values))
		f.Add([]byte(values), []byte(traceText))
	}
	f.Add([]byte(`{"memstats": {"NumGC": 3}}`), []byte(`{"/gc/heap/live:bytes": 1e300, "/gc/gogc:percent": -5}`))
	f.Add([]byte("heap profile: 1: 2 [3: 4] @ heap/1048576\n# runtime.MemStats\n# NextGC = 1\n"), []byte{0x1f, 0x8b, 8})
	f.Fuzz(func(t *testing.T, one, two []byte) {
		var e Evidence
		for _, data := range [][]byte{one, two} {
			if err := e.Read("file", bytes.NewReader(data)); err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("an error of several lines: %q", err)
			}
		}
		r := Diagnose(&e)
		if r.Verdict == "" {
			t.Error("no verdict")
		}
		if _, err := json.Marshal(r); err != nil {
			t.Errorf("the report is no JSON: %v", err)
		}
		for _, share := range []float64{r.GCShare, r.AllocShare, r.WinnableShare} {
			if !(share >= 0 && share <= 1+1e-9) {
				t.Errorf("shares %v, %v, %v", r.GCShare, r.AllocShare, r.WinnableShare)
			}
		}
		if e.CPU == nil {
			return
		}
		want, got := sums(e.CPU), sums(Attributed(&e))
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("totals %v, want %v", got, want)
			}
		}
	})
}
