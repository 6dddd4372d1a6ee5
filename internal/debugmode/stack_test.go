// SPDX-License-Identifier: Apache-2.0

package debugmode

import "testing"

func TestIsOwn(t *testing.T) {
	const lib = "github.com/freehold-go/freehold/"
	for _, c := range []struct {
		function, file string
		own            bool
	}{
		{lib + "offheap.New[...]", "typed.go", true},
		{lib + "arena.(*Arena).Reset", "arena.go", true},
		{lib + "internal/debugmode.Callers", "stack.go", true},
		{lib + "offheap.TestX", "x_test.go", false},
		{lib + "offheapuser.F", "f.go", false},
		{lib + "adapters/grpc.F", "f.go", false},
		{"main.main", "main.go", false},
		{"example.com/" + lib + "offheap.F", "f.go", false},
	} {
		if got := isOwn(c.function, c.file); got != c.own {
			t.Errorf("isOwn(%q, %q) = %v", c.function, c.file, got)
		}
	}
}
