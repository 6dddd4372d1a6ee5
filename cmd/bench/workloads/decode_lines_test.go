// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"bytes"
	"io"
	"testing"

	"github.com/freehold-go/freehold/cmd/bench"
)

// TestLines wants the same lines of all contestants, in each round, and as many as n says.
func TestLines(t *testing.T) {
	block := lineBlock()
	if n := bytes.Count(block, []byte("\n")); n != differentLines || len(block) < 200*n || len(block) > 280*n || !bytes.Equal(block, lineBlock()) {
		t.Errorf("%d lines with %d bytes", n, len(block))
	}
	all, err := io.ReadAll(&lineStream{block: block, n: 3})
	if err != nil || !bytes.Equal(all, bytes.Repeat(block, 3)) {
		t.Errorf("the stream has %d bytes, want three times %d; %v", len(all), len(block), err)
	}
	sameSums(t, "decode/lines", 3*differentLines, 2)
}

// sameSums wants the same sum of all contestants of a workload with n values, in each round.
func sameSums(t *testing.T, name string, n, rounds int) {
	t.Helper()
	var want uint64
	for _, c := range workload(t, name).Contestants {
		r := &bench.Run{Spec: bench.Spec{N: n}}
		round := c.Prepare(r)
		for range rounds {
			sum := round()
			if want == 0 {
				want = sum
			}
			if sum != want || sum == 0 || r.Err() != nil {
				t.Errorf("%s: sum %d, want %d; %v", c.Name, sum, want, r.Err())
			}
		}
	}
}
