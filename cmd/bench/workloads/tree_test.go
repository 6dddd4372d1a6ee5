// SPDX-License-Identifier: Apache-2.0

package workloads

import "testing"

func TestTreeShares(t *testing.T) {
	for n := 2; n < 200; n++ {
		sum := 0
		for i := range Children(n) {
			if Share(n, i) < 1 {
				t.Fatalf("child %d of %d nodes has none", i, n)
			}
			sum += Share(n, i)
		}
		if sum != n-1 {
			t.Fatalf("the children of %d nodes have %d together", n, sum)
		}
	}
}

// TestTreeNames holds the room that the slab makes for names against the names.
func TestTreeNames(t *testing.T) {
	names := newTreeNames()
	names.next = 12345
	want := names.bytes(5000)
	got := 0
	for range 5000 {
		name := names.Next()
		if len(name) < treeShortest || len(name) >= treeLongest {
			t.Fatalf("a name of %d bytes", len(name))
		}
		got += len(name)
	}
	if got != want {
		t.Errorf("5000 names have %d bytes, not %d", got, want)
	}
}
