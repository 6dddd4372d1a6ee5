// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/cmd/doctor"
	"github.com/freehold-go/freehold/cmd/evidence"
)

// benched is the report on the output of a benchmark in six runs of so many nanoseconds and more.
func benched(t *testing.T, ns int, more string) *doctor.Report {
	t.Helper()
	var e evidence.Evidence
	var text strings.Builder
	for i := range 6 {
		fmt.Fprintf(&text, "BenchmarkDecode-8 1000 %d ns/op 4096 B/op 20 allocs/op\n", ns+i)
	}
	if err := e.ReadBytes("bench.txt", []byte(text.String()+more)); err != nil {
		t.Fatal(err)
	}
	return doctor.Diagnose(t.Context(), &e)
}

func TestBenchmarks(t *testing.T) {
	more := ""
	for i := range 6 {
		more += fmt.Sprintf("Benchmark%d-8 10 5 ns/op\n", i)
	}
	text := strings.Join(strings.Fields(textOf(t, benched(t, 1000, more))), " ")
	for _, want := range []string{
		"BenchmarkDecode 1003 ns 1000 ns to 1005 ns 6 4.00 KiB 20 3.81 GiB 974 ", "Benchmark0 5.00 ns 5.00 ns to 5.00 ns 1 ? ? ? ?", "has 2 benchmarks more", "at least, while less than 4 MiB lives",
		"freehold doctor -bench '^BenchmarkDecode$' PACKAGE, or go test -run '^$'",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("got\n%s\nwant %q in it", text, want)
		}
	}
}

func TestBenchmarksCompared(t *testing.T) {
	var b bytes.Buffer
	if err := Text(&b, benched(t, 800, ""), benched(t, 1000, ""), Style{Width: 120}); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(b.String()), " ")
	for _, want := range []string{"BenchmarkDecode sec/op 1003 ns 802 ns (0.80 ×, p=0.002)", "BenchmarkDecode B/op 4.00 KiB 4.00 KiB (equal)"} {
		if !strings.Contains(text, want) {
			t.Errorf("got\n%s\nwant %q in it", text, want)
		}
	}
	if strings.Contains(text, "collector, of the CPU") || strings.Contains(text, "differ in load") {
		t.Errorf("shares of unknown CPU are compared:\n%s", text)
	}
}
