// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	stdjson "encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/cmd/bench"
)

// decodeTexts are documents with all that types are made of.
var decodeTexts = []string{
	string(sampleDocument),
	`{"a":1,"b":[{"c":"x","d":null},{"c":"","e":[1.5,2]},{}],"f":{"g":true},"h":null,"i":[],"j":{}}`,
	`[1,2.5,-0.0,1e3,123456789012345678901234567890]`,
	`{"mixed":[1,"a",{"b":[true]},[null]],"A":1,"a":2}`,
	`{"":1,"a,b":2,"c\"d":3,"-":{"x":"y"}}`,
	`"text"`, `7`, `null`, `[]`, `{"A":{"B":{"C":{"D":[[[["deep"]]]]}}}}`,
}

// TestDecodeSums wants the same checksum of every contestant's result, into interfaces and into types, as the tokens have.
func TestDecodeSums(t *testing.T) {
	dir := t.TempDir()
	for i, text := range decodeTexts {
		file := filepath.Join(dir, "doc.json")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		sum := func(prepare func(*bench.Run) func() uint64) uint64 {
			r := &bench.Run{Spec: bench.Spec{Input: bench.Input{Name: "doc", File: file}}}
			got := prepare(r)()
			if r.Err() != nil {
				t.Errorf("document %d: %v", i, r.Err())
			}
			return got
		}
		want := sum(decodeTokens)
		if (want == 0) != (text == "null" || text == "[]") {
			t.Errorf("document %d has the sum %x", i, want)
		}
		for _, name := range []string{"decode", "decode/struct"} {
			for _, c := range workload(t, name).Contestants {
				if got := sum(c.Prepare); got != want {
					t.Errorf("document %d, %s: %s has %x, the tokens %x", i, name, c.Name, got, want)
				}
			}
		}
	}
}

// TestDecodeSumsDiffer changes one thing after the other, and wants another sum each time.
func TestDecodeSumsDiffer(t *testing.T) {
	seen := map[uint64]string{}
	for _, text := range []string{
		`{"a":1,"b":"x"}`, `{"a":2,"b":"x"}`, `{"a":1,"b":"y"}`, `{"b":1,"a":"x"}`, `{"a":1}`, `[1,2]`, `[2,1]`, `[true]`, `[[1],2]`, `["1"]`,
	} {
		var v any
		if err := stdjson.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		sum := decodedSum(&v)
		if other, ok := seen[sum]; ok {
			t.Errorf("%s and %s have the same sum", text, other)
		}
		seen[sum] = text
	}
}

func TestDocumentType(t *testing.T) {
	for text, want := range map[string]string{
		`7`:                        "int64",
		`[1,2.5]`:                  "[]float64",
		`[1,null]`:                 "[]int64",
		`[1,"a"]`:                  "[]interface {}",
		`[]`:                       "[]interface {}",
		`{}`:                       "map[string]interface {}",
		`{"a":"x","b":[{"c":1}]}`:  `struct { F0 string "json:\"a\""; F1 []struct { F0 int64 "json:\"c\"" } "json:\"b\"" }`,
		`[{"a":1},{"b":true}]`:     `[]struct { F0 int64 "json:\"a\""; F1 bool "json:\"b\"" }`,
		`{"a":1,"A":2}`:            "map[string]int64",
		`{"a,b":[1],"c":[2]}`:      "map[string][]int64",
		`{"":{"x":1},"y":{"z":2}}`: `map[string]struct { F0 int64 "json:\"x\""; F1 int64 "json:\"z\"" }`,
	} {
		got, err := documentType([]byte(text))
		if err != nil || got.String() != want {
			t.Errorf("%s: %v, %v; want %s", text, got, err, want)
		}
	}
	if _, err := documentType([]byte(`{"a":`)); err == nil || !strings.HasPrefix(err.Error(), "make a type for the document: ") {
		t.Errorf("half a document: %v", err)
	}
}

// TestDecodeRefuses wants an error of every contestant where the document is none.
func TestDecodeRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bad.json")
	if err := os.WriteFile(file, []byte(`{"a":`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"decode", "decode/struct"} {
		for _, c := range workload(t, name).Contestants {
			r := &bench.Run{Spec: bench.Spec{Input: bench.Input{Name: "bad", File: file}}}
			c.Prepare(r)()
			if r.Err() == nil || !strings.HasPrefix(r.Err().Error(), "bench: decode: ") {
				t.Errorf("%s, %s: %v", name, c.Name, r.Err())
			}
		}
	}
}
