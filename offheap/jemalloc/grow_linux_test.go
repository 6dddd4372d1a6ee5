// SPDX-License-Identifier: Apache-2.0

//go:build jemalloc && cgo

package jemalloc

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/freehold-go/freehold/internal/checks/testenv"
)

// TestAppendNearTheLimit: the address space has room for what Append is asked for, and not for as much as it takes if there is
// room.
func TestAppendNearTheLimit(t *testing.T) {
	if !testenv.InChild(t) {
		return
	}
	const size = 256 << 20
	s := MakeSliceUninit[byte](size, size)
	s[size-1] = 7
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip(err)
	}
	pages, err := strconv.ParseUint(strings.Fields(string(statm))[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_AS, &old); err != nil {
		t.Fatal(err)
	}
	// A block of one byte more takes 320 MiB, one half as large again 384 MiB.
	now := syscall.Rlimit{Cur: pages*uint64(os.Getpagesize()) + 352<<20, Max: old.Max}
	if err := syscall.Setrlimit(syscall.RLIMIT_AS, &now); err != nil {
		t.Fatal(err)
	}
	g, err := TryAppend(s, 1)
	if err := syscall.Setrlimit(syscall.RLIMIT_AS, &old); err != nil {
		t.Fatal(err)
	}
	if err != nil || len(g) != size+1 || g[size-1] != 7 || g[size] != 1 {
		t.Errorf("Append of one byte: %d bytes, %v", len(g), err)
	}
}
