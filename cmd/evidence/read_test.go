// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/freehold-go/freehold/cmd/internal/profiletest"
)

func TestReadProfiles(t *testing.T) {
	f := profiletest.Program()
	for _, compressed := range []bool{true, false} {
		var e Evidence
		late, early := f.Heap.Copy(), f.Heap.Copy()
		late.TimeNanos, early.TimeNanos = 20e9, 5e9
		again := f.CPU.Copy()
		again.TimeNanos = 7e9
		for _, p := range []*profile.Profile{f.CPU, late, early, again} {
			if err := e.Read("file", bytes.NewReader(profiletest.Written(t, p, compressed))); err != nil {
				t.Fatal(err)
			}
		}
		if e.Heap[0].TimeNanos != 5e9 || e.Heap[1].TimeNanos != 20e9 {
			t.Errorf("heap profiles of %d and %d, want the earlier one first", e.Heap[0].TimeNanos, e.Heap[1].TimeNanos)
		}
		if got := profiletest.Sums(e.CPU); got[0] != 2000 {
			t.Errorf("two CPU profiles of 1000 samples came to %d", got[0])
		}
	}
}

// A process that hardly ran may have been seen in the runtime's assembly alone.
func TestReadAssemblyAlone(t *testing.T) {
	f := profiletest.NewFake()
	f.Ran("runtime.futex", 1)
	f.CPU.Function[0].Filename = "/usr/lib/go/src/runtime/sys_linux_amd64.s"
	var e Evidence
	if err := e.Read("file", bytes.NewReader(profiletest.Written(t, f.CPU, true))); err != nil || e.CPU == nil {
		t.Errorf("refused: %v", err)
	}
}

func TestReadRefuses(t *testing.T) {
	cpu := profiletest.Written(t, profiletest.Program().CPU, true)
	change := func(do func(f *profiletest.Fake)) []byte {
		f := profiletest.Program()
		do(f)
		return profiletest.Written(t, f.CPU, false)
	}
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "empty; "},
		{"blank", []byte("\n \n"), "empty; "},
		{"truncated, compressed", cpu[:len(cpu)-20], "truncated: "},
		{"truncated, plain", profiletest.Written(t, profiletest.Program().CPU, false)[:200], "truncated"},
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
		{"locks", change(func(f *profiletest.Fake) { f.CPU.SampleType[0].Type, f.CPU.SampleType[1].Type = "contentions", "delay" }), "a mutex or block profile"},
		{"goroutine profile", change(func(f *profiletest.Fake) { f.CPU.SampleType[0].Type, f.CPU.SampleType[1].Type = "goroutine", "x" }), "a goroutine profile"},
		{"wall clock", change(func(f *profiletest.Fake) { f.CPU.SampleType[1].Type = "wall" }), "a profile of samples/count wall/nanoseconds; "},
		{"microseconds", change(func(f *profiletest.Fake) { f.CPU.SampleType[1].Unit = "microseconds" }), "microseconds instead of nanoseconds"},
		{"difference", change(func(f *profiletest.Fake) { f.CPU.Sample[0].Value[1] = -1 }), "a difference of two CPU profiles"},
		{"another language", change(func(f *profiletest.Fake) {
			for _, fn := range f.CPU.Function {
				fn.Filename = "app.py"
			}
		}), "another language"},
		{"stripped", change(func(f *profiletest.Fake) {
			for i, loc := range f.CPU.Location {
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

func TestReadMetrics(t *testing.T) {
	var e Evidence
	for _, text := range profiletest.MetricsTexts {
		if err := e.Read("file", strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	if e.Main != "example.com/shop" || e.Go != "go1.26.1" {
		t.Errorf("main %q, Go %q", e.Main, e.Go)
	}
	for name, want := range map[string]float64{
		MetricLiveHeap: 77, MetricHeapGoal: 4096, MetricCyclesTotal: 12, MetricGCFraction: 0.25, MetricStackBytes: 65536, MetricCyclesForced: 5, MetricMemProfileRate: 524288,
	} {
		if got, ok := e.Metrics[1].Get(name); !ok || got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if first, last := e.Metrics[0].Values[MetricAllocBytes], e.Metrics[1].Values[MetricAllocBytes]; first != 1000 || last != 3000 {
		t.Errorf("allocated %v and %v at the ends of the window, want 1000 and 3000", first, last)
	}
	if h := e.Metrics[1].Histograms[MetricPauses]; len(h.Counts) != 2 || h.Counts[1] != 3 {
		t.Errorf("pauses %+v", h)
	}
}

// TestReadHeapText: the text form has the sampled blocks, and Read scales the figures as pprof
// does.
func TestReadHeapText(t *testing.T) {
	var e Evidence
	if err := e.Read("heap", strings.NewReader(profiletest.HeapText)); err != nil {
		t.Fatal(err)
	}
	if n := len(e.Heap[1].Sample); n != 1 {
		t.Fatalf("%d samples, want 1", n)
	}
	s := e.Heap[1].Sample[0]
	if leaf, root := s.Location[0].Line[0], s.Location[1].Line[0]; leaf.Function.Name != "bytes.makeSlice" || root.Function.Name != "main.(*page[...]).read" || root.Line != 10 {
		t.Errorf("leaf %+v, root %+v", leaf, root)
	}
	// 1 MiB at one sample in 512 KiB: of such blocks 1-exp(-2) are sampled.
	if want := 3 * float64(1<<20) / (1 - math.Exp(-2)); math.Abs(float64(s.Value[1])-want) > 2 || s.NumLabel["bytes"][0] != 1<<20 {
		t.Errorf("%d bytes allocated, want %.0f; sizes %v", s.Value[1], want, s.NumLabel)
	}
	if rate, _ := e.Metrics[1].Get(MetricMemProfileRate); rate != 512<<10 {
		t.Errorf("rate %v", rate)
	}
}

// Lines of a log in JSON are no document, but the trace between them is one; a document that is
// damaged is still called so.
func TestReadTraceBetweenJSON(t *testing.T) {
	const line = `{"time":"2026-01-02T03:04:05Z","level":"INFO","msg":"listening"}` + "\n"
	for _, log := range []string{line + profiletest.TraceText, line + line + profiletest.TraceText + line} {
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
	if err := e.Read("log", strings.NewReader(profiletest.TraceText)); err != nil {
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
}

// Whatever is read, nothing panics, and errors have one line.
func FuzzRead(f *testing.F) {
	for _, pair := range profiletest.Inputs(f) {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, one, two []byte) {
		var e Evidence
		for _, data := range [][]byte{one, two} {
			if err := e.Read("file", bytes.NewReader(data)); err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("an error of several lines: %q", err)
			}
		}
	})
}
