// SPDX-License-Identifier: Apache-2.0

package alloctest

import "testing"

// mustRealloc changes b, which holds the pattern of seed, to n bytes, checks both parts of the
// result, and fills it with the pattern again.
func mustRealloc(t testing.TB, cfg *Config, a Allocator, b []byte, n, seed int) []byte {
	t.Helper()
	old := len(b)
	r, err := a.TryRealloc(b, n)
	if err != nil {
		t.Fatalf("alloctest: TryRealloc of %d bytes to %d: %v", old, n, err)
	}
	checkShape(t, cfg, "TryRealloc", r, n)
	checkPattern(t, "kept by TryRealloc", r[:min(old, n)], seed)
	if n > old {
		checkZero(t, "new after TryRealloc", r[old:])
	}
	fill(r, seed)
	return r
}

// checkRealloc goes from each of some lengths to each other, with neighbours on both sides that a
// growth in place would run into.
func checkRealloc(t testing.TB, cfg *Config) {
	a := start(t, cfg)
	lengths := append(someSizes(cfg), 15, 17, 33, 64, 65, 1000, 4095, 4097, 65536)
	for _, from := range lengths {
		for _, to := range lengths {
			left := mustAlloc(t, cfg, a, from)
			b := mustAlloc(t, cfg, a, from)
			right := mustAlloc(t, cfg, a, from)
			fill(left, 1)
			fill(b, 2)
			fill(right, 3)
			b = mustRealloc(t, cfg, a, b, to, 2)
			checkPattern(t, "left of a TryRealloc", left, 1)
			checkPattern(t, "right of a TryRealloc", right, 3)
			a.Free(left)
			checkPattern(t, "block after TryRealloc", b, 2)
			a.Free(b)
			a.Free(right)
		}
	}
}

// checkReallocEdges covers growth by single bytes, a length of zero, nil, a block cut short, and
// memory that was dirty before it was grown into.
func checkReallocEdges(t testing.TB, cfg *Config) {
	a := start(t, cfg)

	b := mustRealloc(t, cfg, a, nil, 1, 5)
	for n := 2; n <= 300; n++ {
		b = mustRealloc(t, cfg, a, b, n, 5)
	}
	for n := 299; n > 0; n-- {
		b = mustRealloc(t, cfg, a, b, n, 5)
	}

	// Shrink and grow again: the bytes cut off must not come back.
	for _, n := range someSizes(cfg) {
		b = mustRealloc(t, cfg, a, b, n, 5)
		b = mustRealloc(t, cfg, a, b, (n+1)/2, 5)
		b = mustRealloc(t, cfg, a, b, n, 5)
	}

	// A block cut short keeps what the slice still shows. What lies between its length and its old
	// capacity may be either kept or zeroed, and new bytes are zero.
	for _, n := range someSizes(cfg) {
		b = mustRealloc(t, cfg, a, b, n, 5)
		short, end := b[:n/2], cap(b)
		r, err := a.TryRealloc(short, end+n)
		if err != nil {
			t.Fatalf("alloctest: TryRealloc of b[:%d] to %d: %v", n/2, end+n, err)
		}
		checkPattern(t, "kept by TryRealloc of b[:k]", r[:n/2], 5)
		checkZero(t, "new after TryRealloc of b[:k]", r[end:])
		fill(r, 5)
		b = r
	}

	b = mustRealloc(t, cfg, a, b, 0, 5)
	b = mustRealloc(t, cfg, a, b, 0, 5)
	b = mustRealloc(t, cfg, a, b, 100, 5)
	a.Free(b)
	a.Free(mustRealloc(t, cfg, a, nil, 0, 5))
}
