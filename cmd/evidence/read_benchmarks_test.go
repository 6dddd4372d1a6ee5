// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

const benchOutput = `goos: linux
goarch: amd64
pkg: example.com/shop/cart
cpu: Some CPU @ 2.00GHz
BenchmarkDecode/size-16-8         	  100000	     12000 ns/op	    4096 B/op	      20 allocs/op
BenchmarkDecode/size-16-8         	  120000	     12500 ns/op	    4098 B/op	      20 allocs/op
a line of the program's
BenchmarkSum-8                    	1000000	      2 ns/op
PASS
ok  	example.com/shop/cart	4.2s
pkg: example.com/shop/list
BenchmarkSum-8 500 3000 ns/op 16 B/op 1 allocs/op 7 rows/op
`

func TestReadBenchmarks(t *testing.T) {
	var e Evidence
	for _, text := range []string{benchOutput, "pkg: example.com/shop/cart\nBenchmarkDecode/size-16-8 110000 11500 ns/op 4100 B/op 20 allocs/op\n" + strings.Repeat("noise\n", 2)} {
		if err := e.ReadBytes("FILE", []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	want := "[{BenchmarkDecode/size-16 example.com/shop/cart [{100000 1.2e-05 4096 20 true} {120000 1.25e-05 4098 20 true} {110000 1.15e-05 4100 20 true}]} " +
		"{BenchmarkSum example.com/shop/cart [{1000000 2e-09 0 0 false}]} {BenchmarkSum example.com/shop/list [{500 3e-06 16 1 true}]}]"
	if got := fmt.Sprint(e.Benchmarks); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A number at the end of some names only, as of sub-benchmarks with one P, belongs to the name.
func TestReadBenchmarksNames(t *testing.T) {
	list := benchmarksIn([]byte("BenchmarkA/n-16 10 5 ns/op\nBenchmarkA/n-32 10 5 ns/op\nBenchmarkB 10 5 ns/op\n"))
	if len(list) != 3 || list[0].Name != "BenchmarkA/n-16" || list[2].Name != "BenchmarkB" {
		t.Errorf("%v", list)
	}
}

// Values that no benchmark has are unknown.
func TestReadBenchmarksImplausible(t *testing.T) {
	for line, want := range map[string]string{
		"NaN ns/op 8 B/op 1 allocs/op": "{5 0 8 1 true}", "1e-300 ns/op 8 B/op 1 allocs/op": "{5 0 8 1 true}", "1e9 ns/op NaN B/op 1 allocs/op": "{5 1 0 0 false}",
		"1e9 ns/op 8 B/op +Inf allocs/op": "{5 1 0 0 false}", "1e9 ns/op -8 B/op 1 allocs/op": "{5 1 0 0 false}",
	} {
		if list := benchmarksIn([]byte("BenchmarkX 5 " + line + "\n")); len(list) != 1 || fmt.Sprint(list[0].Runs[0]) != want {
			t.Errorf("%s: %v, want %s", line, list, want)
		}
	}
}

// The events of go test -json, and a trace between the lines, are read as well.
func TestReadBenchmarksOtherwise(t *testing.T) {
	var e Evidence
	events := `{"Action":"start","Package":"example.com/a"}
{"Action":"output","Package":"example.com/a","Output":"pkg: example.com/a\n"}
{"Action":"output","Package":"example.com/a","Output":"BenchmarkX-2  \t"}
{"Action":"output","Package":"example.com/a","Output":"     10\t  5 ns/op\t 3 B/op\t 1 allocs/op\n"}
{"Action":"output","Package":"example.com/a","Output":"--- FAIL: BenchmarkY\n"}
`
	if err := e.ReadBytes("FILE", []byte(events)); err != nil || fmt.Sprint(e.Benchmarks) != "[{BenchmarkX example.com/a [{10 5e-09 3 1 true}]}]" {
		t.Errorf("%v, %v", e.Benchmarks, err)
	}
	if text := fmt.Sprint(e.Problems()); !strings.Contains(text, "FILE: BenchmarkY failed") {
		t.Errorf("the failure is not noted: %s", text)
	}
	e = Evidence{}
	log := "gc 1 @0.010s 2%: 0.018+1.2+0.003 ms clock, 0.036+0.5/1.0/0.25+0.006 ms cpu, 4->4->1 MB, 4 MB goal, 1 MB stacks, 2 MB globals, 2 P\nBenchmarkX-2 10 5 ns/op\n"
	if err := e.ReadBytes("FILE", []byte(log)); err != nil || len(e.Benchmarks) != 1 || e.Trace == nil {
		t.Errorf("%+v, %v", e, err)
	}
	if err := e.ReadBytes("FILE", []byte("BenchmarkX starts\n")); err == nil || !regexp.MustCompile("without results of benchmarks .* go test -bench . -benchmem").MatchString(err.Error()) {
		t.Errorf("%v", err)
	}
}
