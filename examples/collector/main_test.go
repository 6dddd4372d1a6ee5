// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	var results []string
	for _, plain := range []bool{false, true} {
		var out strings.Builder
		if err := run(&out, plain, 4, 100, 1<<20); err != nil {
			t.Fatal(err)
		}
		line, _, _ := strings.Cut(out.String(), "\n")
		results = append(results, line)
	}
	if results[0] != results[1] || !strings.Contains(results[0], "4 collectors") {
		t.Errorf("the results differ:\n%s", strings.Join(results, "\n"))
	}
}
