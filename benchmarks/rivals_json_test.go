package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/cmd/bench"
)

// decodeAll calls check with each contestant that decodes the document, and with what it computed.
func decodeAll(t *testing.T, text string, check func(workload, contestant string, sum uint64, err error)) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "doc.json")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, w := range set.Workloads() {
		if w.Name != "decode" && w.Name != "decode/struct" {
			continue
		}
		for _, c := range w.Contestants {
			r := &bench.Run{Spec: bench.Spec{Input: bench.Input{Name: "doc", File: file}}}
			sum := c.Prepare(r)()
			check(w.Name, c.Name, sum, r.Err())
		}
	}
}

// TestJSONSums wants the same checksum of every contestant's result, rivals included, on documents that are unlike those of the benchmark.
func TestJSONSums(t *testing.T) {
	for _, text := range []string{
		`{"a":1,"b":[{"c":"x","d":null},{"c":"","e":[1.5,2]},{}],"f":{"g":true},"h":null,"i":[],"j":{}}`,
		`[1,2.5,-0.0,1e3,123456789012345678901234567890]`,
		`{"mixed":[1,"a",{"b":[true]},[null]],"A":1,"a":2}`,
		`{"":1,"a,b":2,"c\"d":3,"-":{"x":"y"}}`,
		`"text"`, `7`, `{"A":{"B":{"C":{"D":[[[["deep"]]]]}}}}`,
	} {
		var want uint64
		decodeAll(t, text, func(workload, contestant string, sum uint64, err error) {
			if want == 0 {
				want = sum
			}
			if err != nil || sum == 0 || sum != want {
				t.Errorf("%s: %s, %s: %x, want %x; %v", text, workload, contestant, sum, want, err)
			}
		})
	}
}

// TestJSONRefused wants an error of every contestant for half a document.
func TestJSONRefused(t *testing.T) {
	decodeAll(t, `{"a":`, func(workload, contestant string, _ uint64, err error) {
		if err == nil || !strings.HasPrefix(err.Error(), "bench: decode: ") {
			t.Errorf("%s, %s: %v", workload, contestant, err)
		}
	})
}
