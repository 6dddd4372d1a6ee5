// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/freehold-go/freehold/offheap"
)

func TestRun(t *testing.T) {
	offheap.CheckLeaks(t)
	for _, plain := range []bool{false, true} {
		var out strings.Builder
		run(&out, plain, 1000)
		if !strings.HasPrefix(out.String(), "1000 of 1000 entries found, checksum ") || !strings.Contains(out.String(), "balance=6993\n") {
			t.Errorf("plain %v:\n%s", plain, out.String())
		}
	}
}
