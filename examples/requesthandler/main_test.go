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
		if err := run(&out, service(plain), 30); err != nil {
			t.Fatal(err)
		}
		line, _, _ := strings.Cut(out.String(), "\n")
		results = append(results, line)
	}
	if results[0] != results[1] || !strings.HasPrefix(results[0], "30 requests of 200 orders; ") {
		t.Errorf("the results differ:\n%s", strings.Join(results, "\n"))
	}
}
