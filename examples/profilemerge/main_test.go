// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/freehold-go/freehold/examples/profilemerge/merge"
)

// TestRun merges two files both ways.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	var files []string
	for i, name := range []string{"a.pb", "b.pb"} {
		var b strings.Builder
		if err := merge.Input(uint64(i), 50).Write(&b); err != nil {
			t.Fatal(err)
		}
		files = append(files, filepath.Join(dir, name))
		if err := os.WriteFile(files[i], []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	var results []string
	for _, plain := range []bool{false, true} {
		var out strings.Builder
		output := filepath.Join(dir, "merged.pb")
		if err := run(&out, plain, 2, output, files); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(out.String(), "2 merges of 2 profiles; each result has ") {
			t.Errorf("plain %v: %s", plain, out.String())
		}
		b, err := os.ReadFile(output)
		if err != nil {
			t.Fatal(err)
		}
		if p, err := profile.ParseData(b); err != nil || len(p.Sample) < 50 {
			t.Errorf("plain %v: the merged profile is %v, %v", plain, p, err)
		}
		results = append(results, string(b))
	}
	if results[0] != results[1] {
		t.Error("the results differ")
	}
	if err := run(&strings.Builder{}, false, 1, "", []string{filepath.Join(dir, "missing.pb")}); !os.IsNotExist(err) {
		t.Errorf("a missing file: %v", err)
	}
}
