// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"math"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/cmd/evidence"
)

// benchOutput is the output of runs of a benchmark that take so many nanoseconds, and of one that
// allocates nothing.
func benchOutput(t *testing.T, e *evidence.Evidence, text ...string) *evidence.Evidence {
	t.Helper()
	if err := e.ReadBytes("bench.txt", []byte("pkg: example.com/shop\n"+strings.Join(text, "\n")+"\n")); err != nil {
		t.Fatal(err)
	}
	return e
}

func TestBenchmarks(t *testing.T) {
	r := Diagnose(t.Context(), benchOutput(t, &evidence.Evidence{},
		"BenchmarkSum-8 1000 10 ns/op 0 B/op 0 allocs/op",
		"BenchmarkDecode/all-8 1000 10000 ns/op 8192 B/op 20 allocs/op", "BenchmarkDecode/all-8 1000 8000 ns/op 8192 B/op 20 allocs/op", "BenchmarkDecode/all-8 1000 16000 ns/op 8192 B/op 20 allocs/op"))
	if len(r.Benchmarks) != 2 || r.Benchmarks[0].Name != "BenchmarkDecode/all" || r.Confidence != None || len(r.Findings) != 0 {
		t.Fatalf("%+v", r)
	}
	b := r.Benchmarks[0]
	if b.Runs != 3 || math.Abs(b.Seconds-1e-5) > 1e-12 || math.Abs(b.Fastest-8e-6) > 1e-12 || math.Abs(b.Slowest-16e-6) > 1e-12 || b.AllocBytes != 8192 || b.AllocObjects != 20 ||
		math.Abs(b.CyclesPerSecond-8192/1e-5/(4<<20)) > 1e-6 {
		t.Errorf("%+v", b)
	}
	if want := "The cost of collection is unknown: there is no CPU profile. BenchmarkDecode/all allocates 8.00 KiB in 20 objects an operation, 781 MiB/s."; r.Verdict != want {
		t.Errorf("verdict %q, want %q", r.Verdict, want)
	}
	want := "freehold doctor -bench '^BenchmarkDecode$/^all$' example.com/shop, or go test -run '^$' -bench '^BenchmarkDecode$/^all$' -benchmem -cpuprofile cpu.pb.gz -memprofile heap.pb.gz example.com/shop >bench.txt, "
	if how := r.Missing[0].How; !strings.HasPrefix(how, want) {
		t.Errorf("to get a CPU profile: %q, want %q", how, want)
	}
	for want, line := range map[string]string{"without -benchmem": "BenchmarkSum-8 1000 10 ns/op", "none of them allocates": "BenchmarkSum-8 1000 10 ns/op 0 B/op 0 allocs/op"} {
		if r := Diagnose(t.Context(), benchOutput(t, &evidence.Evidence{}, line)); !strings.Contains(r.Verdict, want) {
			t.Errorf("%s: %q, want %q", line, r.Verdict, want)
		}
	}
}

// With the profile of the same run, the elapsed time becomes CPU time: the profile has 10 s of CPU in
// 10 s. Of several benchmarks the profile shows none alone.
func TestBenchmarkProfiled(t *testing.T) {
	e := benchOutput(t, shop(), "BenchmarkDecode-8 1000 10000 ns/op 8192 B/op 20 allocs/op", "BenchmarkDecode-8 500 10000 ns/op 8192 B/op 20 allocs/op")
	e.CPU.DurationNanos = 5e9
	r := Diagnose(t.Context(), e)
	p := r.PerOperation
	if p == nil || p.Name != "BenchmarkDecode" || p.Operations != 1500 || math.Abs(p.CPUSeconds-2e-5) > 1e-12 || p.AllocBytes != 8192 || p.CPUFrom != FromBenchmark || p.AllocFrom != FromBenchmark ||
		math.Abs(p.GCSeconds-r.GCShare*2e-5) > 1e-12 {
		t.Errorf("%+v", p)
	}
	r = Diagnose(t.Context(), benchOutput(t, e, "BenchmarkSum-8 1000 10 ns/op 0 B/op 0 allocs/op"))
	if m := r.Missing[len(r.Missing)-1]; r.PerOperation != nil || m.What != "profile of a single benchmark" {
		t.Errorf("of two benchmarks: %+v, missing %+v", r.PerOperation, m)
	}
}

func TestCompareBenchmarks(t *testing.T) {
	runs := func(times ...string) *Report {
		var lines []string
		for _, ns := range times {
			lines = append(lines, "BenchmarkDecode-8 1000 "+ns+" ns/op 8192 B/op 20 allocs/op")
		}
		return Diagnose(t.Context(), benchOutput(t, &evidence.Evidence{}, lines...))
	}
	before := runs("100", "101", "102", "103", "104", "105")
	for name, c := range map[string]struct {
		after     *Report
		sure, few bool
	}{
		"faster": {runs("80", "81", "82", "83", "84", "85"), true, false}, "equal": {runs("100", "101", "102", "103", "104", "106"), false, false}, "few": {runs("80", "81"), false, true},
	} {
		list := CompareBenchmarks(before, c.after)
		if len(list) != 3 || list[0].Unit != "sec/op" || list[1].Unit != "B/op" || list[2].Before != 20 {
			t.Fatalf("%s: %+v", name, list)
		}
		if list[0].Sure != c.sure || list[0].Few != c.few || list[1].Sure || list[2].Sure {
			t.Errorf("%s: %+v", name, list)
		}
	}
	if list := CompareBenchmarks(Diagnose(t.Context(), shop()), before); list != nil {
		t.Errorf("without benchmarks before: %+v", list)
	}
}
