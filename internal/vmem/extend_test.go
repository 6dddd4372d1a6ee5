// SPDX-License-Identifier: Apache-2.0

package vmem

import (
	"os"
	"testing"
)

// TestPreallocateLeavesTheStart: Preallocate reads and writes nothing before the offset, which another
// goroutine may be writing through a map.
func TestPreallocateLeavesTheStart(t *testing.T) {
	const from, size = 1<<20 + 300, 3<<20 + 5
	for name, extend := range map[string]func(f *os.File) error{
		"fallocate": func(f *os.File) error { return Preallocate(f, from, size) },
		"writing":   func(f *os.File) error { return writeThrough(f, from, from, size) },
	} {
		f := newFile(t, from)
		w, err := os.OpenFile(f.Name(), os.O_WRONLY, 0) // It cannot be read.
		must(t, err)
		_, err = w.WriteAt([]byte("data"), from-4)
		must(t, err)
		must(t, extend(w))
		must(t, w.Close())
		got, err := os.ReadFile(f.Name())
		must(t, err)
		if len(got) != size || string(got[from-4:from]) != "data" || !allZero(got[:from-4]) || !allZero(got[from:]) {
			t.Errorf("%s: %d bytes, and the contents changed or do not end in zeros", name, len(got))
		}
	}
	f := newFile(t, 5000)
	for _, size := range []int64{0, 100, 4999, 5000} {
		must(t, Preallocate(f, 5000, size))
	}
	if info, err := f.Stat(); err != nil || info.Size() != 5000 {
		t.Errorf("%d bytes, %v", info.Size(), err)
	}
	wantRefused(t, OpPreallocate, Preallocate(f, -1, 10_000))
}
