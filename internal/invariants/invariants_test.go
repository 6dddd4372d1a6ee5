// SPDX-License-Identifier: Apache-2.0

package invariants

import "testing"

func TestBroken(t *testing.T) {
	defer func() {
		err, ok := recover().(error)
		if want := "freehold: internal error: broken invariant: 3 blocks, want 4"; !ok || err.Error() != want {
			t.Errorf("Broken panics with %v, want %s", err, want)
		}
	}()
	Broken("%d blocks, want %d", 3, 4)
}
