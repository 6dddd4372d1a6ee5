// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"strings"
	"syscall"
	"testing"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// TestSharedCopiesFaultingMemory: a fault while a function of a shared arena reads its argument is a panic
// as in every other function. On a goroutine that is pinned to its P it would end the process.
func TestSharedCopiesFaultingMemory(t *testing.T) {
	page, err := syscall.Mmap(-1, 0, 4096, syscall.PROT_NONE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Munmap(page) }()
	a := NewShared()
	defer a.Free()
	String(a, "text")
	SliceFrom(a, []int64{1})
	for name, f := range map[string]func(n int){
		"String":    func(n int) { String(a, page[:n]) },
		"Bytes":     func(n int) { Bytes(a, page[:n]) },
		"Concat":    func(n int) { Concat(a, unsafex.StringOf(unsafex.DataOf(page), n)) },
		"Append":    func(n int) { Append(a, nil, page[:n]...) },
		"SliceFrom": func(n int) { SliceFrom(a, unsafex.SliceOf[int64](unsafex.DataOf(page), n, n)) },
	} {
		for _, n := range []int{1, 13, 64, 65, 300} {
			if faultOf(func() { f(n) }) == "" {
				t.Errorf("%s of %d bytes that cannot be read", name, n)
			}
		}
		for range 5 { // The lock is free.
			if s := String(a, strings.Repeat("s", 60)); s[59] != 's' || *NewFrom(a, 7) != 7 {
				t.Errorf("after the fault of %s: %q", name, s)
			}
		}
	}
}
