// SPDX-License-Identifier: Apache-2.0

package alloctest

import (
	"bytes"
	"reflect"
	"slices"
	"testing"
)

// addr returns the address of a slice's first byte, 0 for a slice of capacity 0. Package reflect
// gives it without unsafe.
func addr(b []byte) uintptr {
	if cap(b) == 0 {
		return 0
	}
	return reflect.ValueOf(b[:1]).Pointer()
}

// period is the length after which a pattern repeats. It is a prime, so that a copy that was moved
// by a power of two is noticed.
const period = 251

// zeros is what blocks are compared with.
var zeros [4096]byte

// pattern returns one period of the bytes that belong to seed. Neighbouring seeds and neighbouring
// places differ. Blocks are filled and compared by periods, not by bytes, because the suite writes
// and reads gigabytes.
func pattern(seed int) (p [period]byte) {
	patternInto(p[:], seed)
	return p
}

// patternInto writes the start of a pattern, at most one period of it.
func patternInto(b []byte, seed int) {
	for i := range b[:min(len(b), period)] {
		b[i] = byte(seed*131+i) ^ byte(seed>>8)
	}
}

// fill writes the pattern of seed over all of b.
func fill(b []byte, seed int) {
	patternInto(b, seed)
	for at := period; at < len(b); at *= 2 {
		copy(b[at:], b[:at]) // The bytes so far are whole periods.
	}
}

// firstDiff returns the first index at which b is not the pattern of seed, -1 if there is none.
func firstDiff(b []byte, seed int) int {
	var p [period]byte
	patternInto(p[:min(len(b), period)], seed)
	for at := 0; at < len(b); at += period {
		if i := mismatch(b[at:min(len(b), at+period)], p[:]); i >= 0 {
			return at + i
		}
	}
	return -1
}

// firstNonZero returns the index of the first byte that is not zero, -1 if there is none.
func firstNonZero(b []byte) int {
	for at := 0; at < len(b); at += len(zeros) {
		if i := mismatch(b[at:min(len(b), at+len(zeros))], zeros[:]); i >= 0 {
			return at + i
		}
	}
	return -1
}

// mismatch returns the first index at which b differs from the start of want, -1 if there is none.
func mismatch(b, want []byte) int {
	if bytes.Equal(b, want[:len(b)]) {
		return -1
	}
	for i := range b {
		if b[i] != want[i] {
			return i
		}
	}
	return -1
}

// checkPattern fails the test if b no longer holds the pattern of seed.
func checkPattern(t testing.TB, what string, b []byte, seed int) {
	t.Helper()
	if i := firstDiff(b, seed); i >= 0 {
		t.Fatalf("alloctest: %s: byte %d of a block of %d bytes at %#x changed: got %#x, want %#x",
			what, i, len(b), addr(b), b[i], pattern(seed)[i%period])
	}
}

// checkZero fails the test if b holds a byte that is not zero, up to its capacity: a holder may
// reslice a block that far.
func checkZero(t testing.TB, what string, b []byte) {
	t.Helper()
	if i := firstNonZero(b[:cap(b)]); i >= 0 {
		t.Fatalf("alloctest: %s: byte %d of a block of %d bytes at %#x is %#x, want 0",
			what, i, len(b), addr(b), b[:cap(b)][i])
	}
}

// checkShape fails the test if a block does not have the length that was asked for, or not the
// capacity that the configuration promises.
func checkShape(t testing.TB, cfg *Config, what string, b []byte, n int) {
	t.Helper()
	if len(b) != n {
		t.Fatalf("alloctest: %s: got a block of %d bytes, want %d", what, len(b), n)
	}
	if cfg.ExactCap && cap(b) != n {
		t.Fatalf("alloctest: %s: got capacity %d for %d bytes, want the same", what, cap(b), n)
	}
}

// mustAlloc returns a zeroed block of n bytes, and fails the test if there is none.
func mustAlloc(t testing.TB, cfg *Config, a Allocator, n int) []byte {
	t.Helper()
	b, err := a.TryAlloc(n)
	if err != nil {
		t.Fatalf("alloctest: TryAlloc(%d): %v", n, err)
	}
	checkShape(t, cfg, "TryAlloc", b, n)
	checkZero(t, "TryAlloc", b)
	return b
}

// sizes returns the lengths that allocators get wrong: every small one, and the neighbours of
// powers of two, of three quarters of them and of multiples of the page, up to cfg.MaxSize.
func sizes(cfg *Config) []int {
	var all []int
	for n := 0; n <= 130; n++ {
		all = append(all, n)
	}
	for p := 256; p <= 64<<10; p *= 2 {
		all = append(all, p-1, p, p+1, p+p/8, p+p/4, p+p/2-1, p+p/2, p+p/2+1, p+p/4*3)
	}
	for p := 128 << 10; p <= cfg.MaxSize; p *= 4 {
		all = append(all, p-1, p, p+1, p+4097)
	}
	all = append(all, cfg.MaxSize)
	all = slices.DeleteFunc(all, func(n int) bool { return n > cfg.MaxSize })
	slices.Sort(all)
	return slices.Compact(all)
}

// someSizes returns a few lengths, small, of slab size, of page size and large, for checks whose
// cost grows with their number.
func someSizes(cfg *Config) []int {
	all := []int{1, 8, 16, 24, 100, 512, 2000, 4096, 9000, 40_000, 300_000, 1 << 20, 5<<20 + 3}
	return slices.DeleteFunc(all, func(n int) bool { return n > cfg.MaxSize })
}

// start returns the allocator for one check, with the leak check in place.
func start(t testing.TB, cfg *Config) Allocator {
	t.Helper()
	a := cfg.New(t)
	CheckLeaks(t, a)
	return a
}
