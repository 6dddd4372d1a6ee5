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
		if err := run(&out, plain, 30); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(out.String(), "\n")
		results = append(results, lines[1])
	}
	if results[0] != results[1] || !strings.HasPrefix(results[0], "30 files with ") {
		t.Errorf("the results differ:\n%s", strings.Join(results, "\n"))
	}
}
