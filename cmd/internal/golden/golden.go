// SPDX-License-Identifier: Apache-2.0

// Package golden compares what tests of the command make with files in their folder testdata, and
// with the flag -update writes these anew.
package golden

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

// Check makes a test fail if got is not what the file name in testdata holds.
func Check(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; write it with go test -update", err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; write it with go test -update if that is meant:\n%s", file, got)
	}
}
