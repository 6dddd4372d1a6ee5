// SPDX-License-Identifier: Apache-2.0

package memprof

import (
	"bufio"
	"fmt"
	"io"

	"github.com/freehold-go/freehold/offheap"
)

// writeText writes estimates for people: the sums, and then each site with its stack.
func writeText(w io.Writer, list []estimate) error {
	out := bufio.NewWriter(w)
	var sum [4]int64
	for _, e := range list {
		for i, v := range e.values {
			sum[i] += v
		}
	}
	fmt.Fprintf(out, "offheap profile, one sample in %d bytes: in use %s, allocated %s\n", offheap.SetSamplePeriod(-1), figures(sum[2:]), figures(sum[:2]))
	for _, e := range list {
		fmt.Fprintf(out, "\nin use %s, allocated %s, %d bytes each", figures(e.values[2:]), figures(e.values[:2]), e.size)
		if e.purpose != "" {
			fmt.Fprintf(out, ", purpose %q", e.purpose)
		}
		fmt.Fprintln(out)
		for _, f := range e.stack {
			fmt.Fprintf(out, "    %s\n        %s:%d\n", f.Function, f.File, f.Line)
		}
	}
	return out.Flush()
}

// figures is a number of blocks and of bytes.
func figures(v []int64) string {
	noun := "blocks"
	if v[0] == 1 {
		noun = "block"
	}
	return fmt.Sprintf("%d bytes in %d %s", v[1], v[0], noun)
}
