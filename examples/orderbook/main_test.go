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
		run(&out, plain, 20_000)
		line, _, _ := strings.Cut(out.String(), "\n")
		results = append(results, line)
	}
	if results[0] != results[1] || !strings.Contains(results[0], "orders in the book") {
		t.Errorf("the results differ:\n%s", strings.Join(results, "\n"))
	}
}
