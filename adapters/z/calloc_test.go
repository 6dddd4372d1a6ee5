// SPDX-License-Identifier: Apache-2.0

package z

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/freehold-go/freehold/offheap"
)

func TestCalloc(t *testing.T) {
	before := NumAllocBytes()
	for _, n := range []int{0, 1, 100, 4096, 1 << 20} {
		b := Calloc(n, "test")
		if len(b) != n || cap(b) != n || slices.ContainsFunc(b, func(c byte) bool { return c != 0 }) {
			t.Errorf("Calloc(%d): %d bytes of capacity %d, or not zero", n, len(b), cap(b))
		}
		if got := NumAllocBytes() - before; got != int64(n) {
			t.Errorf("%d bytes by NumAllocBytes, want %d", got, n)
		}
		for i := range b {
			b[i] = 0xAB
		}
		Free(b[:n/2])
		if n > 1 && NumAllocBytes() != before {
			t.Errorf("%d bytes after Free", NumAllocBytes()-before)
		}
	}
	b := CallocNoRef(100, "test")
	Free(b)
	Free(nil)
	if got := NumAllocBytes(); got != before {
		t.Errorf("%d bytes remain", got-before)
	}
}

func TestMisuse(t *testing.T) {
	before := NumAllocBytes()
	b := Calloc(100, "test")
	Free(b)
	for what, bad := range map[string][]byte{"a second Free": b, "memory of the Go heap": make([]byte, 10)} {
		func() {
			defer func() {
				err, _ := recover().(error)
				if m := new(offheap.MisuseError); !errors.As(err, &m) {
					t.Errorf("%s: %v", what, err)
				}
			}()
			Free(bad)
		}()
	}
	if NumAllocBytes() != before {
		t.Error("a Free that panicked was counted")
	}
}

// TestTags: bytes are on the account of their tag, and many tags make few accounts.
func TestTags(t *testing.T) {
	inUse := func(name string) int64 {
		list := offheap.ReadStats().Purposes
		if i := slices.IndexFunc(list, func(p offheap.PurposeStats) bool { return p.Name == name }); i >= 0 {
			return list[i].InUse
		}
		return -1
	}
	b := Calloc(1<<20, "Buffer")
	if n := inUse("z: Buffer"); n < 1<<20 {
		t.Errorf("%d bytes for the tag", n)
	}
	if !strings.Contains(Leaks(), "bytes for Buffer\n") {
		t.Errorf("Leaks: %s", Leaks())
	}
	var m MemStats
	ReadMemStats(&m)
	ReadMemStats(nil)
	if m.Active < m.Allocated && m.Allocated > 0 {
		t.Errorf("%+v", m)
	}
	Free(b)
	if inUse("z: Buffer") != 0 || strings.Contains(Leaks(), "Buffer") {
		t.Errorf("after Free: %s", Leaks())
	}
	var workers sync.WaitGroup
	for g := range 4 {
		workers.Go(func() {
			for i := range 200 {
				Free(Calloc(10, fmt.Sprint("tag ", g, " ", i)))
			}
		})
	}
	workers.Wait()
	n := 0
	for _, p := range offheap.ReadStats().Purposes {
		if strings.HasPrefix(p.Name, "z: ") {
			n++
		}
	}
	if n < maxTags || n > maxTags+5 { // Each worker may add one beyond, and others share one.
		t.Errorf("%d accounts for 800 tags", n)
	}
	if inUse("z: other tags") != 0 {
		t.Error("tags beyond the hundredth have no account")
	}
}
