// SPDX-License-Identifier: Apache-2.0

package bound

import "testing"

func TestClasses(t *testing.T) {
	previous := 0
	for n := 1; n <= 1<<20; n++ {
		class, size := classOf(n)
		if size < n || class < previous || class > previous+1 || class >= classCount {
			t.Fatalf("%d bytes: class %d of %d bytes, after class %d", n, class, size, previous)
		}
		if n > 64 && float64(size) > 1.25*float64(n) {
			t.Fatalf("%d bytes: a block of %d", n, size)
		}
		previous = class
	}
}
