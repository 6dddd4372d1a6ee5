// SPDX-License-Identifier: Apache-2.0

package alloctest

import "testing"

// limitRoom is what a limit leaves above the bytes in use. It is large beside what an allocator may
// take ahead in one piece, because a limit may count that too.
const limitRoom = 16 << 20

// limited is the bytes that a limit bounds; see [Limiter].
func limited(a Allocator) int64 {
	n := settledInUse(a)
	if h, ok := a.(interface{ Held() int64 }); ok {
		return h.Held()
	}
	return n
}

// checkLimits runs into a limit in the middle of a batch, with small blocks, large ones, aligned
// ones and a block that grows, and works on below the limit and above the old one.
func checkLimits(t testing.TB, cfg *Config) {
	a := start(t, cfg)
	l, ok := a.(Limiter)
	if !ok {
		t.Fatal("alloctest: Config.Limits is set, but the allocator has no SetLimit(int64) int64")
	}
	for _, n := range []int{16, 1000, 4096, 40_000, 1 << 20} {
		// Few blocks of 16 bytes would fill much room only with much time.
		room := int64(limitRoom)
		if n < 1000 {
			room = 2 << 20
		}
		if n < 1000 && testing.Short() {
			room = 512 << 10
		}
		limit := limited(a) + room
		free := limited(a) - settledInUse(a) // What the allocator holds may serve, too.
		old := l.SetLimit(limit)
		t.Cleanup(func() { l.SetLimit(old) }) // A failure must not fail the checks after this one.
		blocks := fillToLimit(t, cfg, a, n, room+free)
		checkAtLimit(t, cfg, a, blocks)
		if again := l.SetLimit(old); again != limit {
			t.Errorf("alloctest: SetLimit returned %d, want the limit before, %d", again, limit)
		}
		more := mustAlloc(t, cfg, a, 2*n)
		fill(more, 1)
		checkPattern(t, "block above the old limit", more, 1)
		a.Free(more)
		for i, b := range blocks {
			checkPattern(t, "block allocated below a limit", b, i)
			a.Free(b)
		}
	}
	checkLimitLarge(t, cfg, a, l)
}

// fillToLimit allocates blocks of n bytes until the limit stops it, which must be before the blocks
// hold more than room bytes.
func fillToLimit(t testing.TB, cfg *Config, a Allocator, n int, room int64) [][]byte {
	t.Helper()
	var blocks [][]byte
	for held := int64(0); ; held += int64(n) {
		b, err := a.TryAlloc(n)
		if err != nil {
			if !cfg.isLimit(err) {
				t.Fatalf("alloctest: TryAlloc(%d) at the limit: got error %q, want one that errors.Is %q", n, err, cfg.ErrLimit)
			}
			break
		}
		if held+int64(n) > room {
			t.Fatalf("alloctest: blocks of %d bytes hold %d bytes in all, want at most the limit of %d", n, held+int64(n), room)
		}
		checkZero(t, "TryAlloc below a limit", b)
		fill(b, len(blocks))
		blocks = append(blocks, b)
	}
	if len(blocks) == 0 {
		t.Fatalf("alloctest: not one block of %d bytes fits in a limit that leaves %d at most", n, room)
	}
	return blocks
}

// checkAtLimit shows, with blocks that fill a limit, that every way to allocate is refused, that
// nothing changed by that, and that a block freed makes room for another.
func checkAtLimit(t testing.TB, cfg *Config, a Allocator, blocks [][]byte) {
	t.Helper()
	n, last := len(blocks[0]), len(blocks)-1
	for name, call := range map[string]func() ([]byte, error){
		"TryAlloc":        func() ([]byte, error) { return a.TryAlloc(limitRoom + n) },
		"TryAllocUninit":  func() ([]byte, error) { return a.TryAllocUninit(limitRoom + n) },
		"TryAllocAligned": func() ([]byte, error) { return a.TryAllocAligned(limitRoom+n, 64) },
		"TryRealloc":      func() ([]byte, error) { return a.TryRealloc(blocks[last], limitRoom+2*n) },
	} {
		before := settledInUse(a)
		if b, err := call(); !cfg.isLimit(err) {
			t.Fatalf("alloctest: %s above the limit: got %d bytes and error %v, want one that errors.Is %v",
				name, len(b), err, cfg.ErrLimit)
		}
		if after := settledInUse(a); after != before {
			t.Errorf("alloctest: %s above the limit changed InUse from %d to %d", name, before, after)
		}
	}
	for i := 0; i < len(blocks); i += 2 {
		checkPattern(t, "block allocated below a limit", blocks[i], i)
		a.Free(blocks[i])
		b, err := a.TryAlloc(n)
		if err != nil {
			t.Fatalf("alloctest: TryAlloc(%d) at the limit after a Free of as much: %v", n, err)
		}
		checkZero(t, "TryAlloc at the limit", b)
		fill(b, i)
		blocks[i] = b
	}
}

// checkLimitLarge puts the limit below the bytes in use: nothing is lost, frees work, and allocation
// works again once there is room.
func checkLimitLarge(t testing.TB, cfg *Config, a Allocator, l Limiter) {
	t.Helper()
	base := limited(a)
	b := mustAlloc(t, cfg, a, 3<<20)
	c := mustAlloc(t, cfg, a, 1000)
	fill(b, 1)
	fill(c, 2)
	old := l.SetLimit(base + 2<<20)
	if _, err := a.TryAlloc(1 << 20); !cfg.isLimit(err) {
		t.Errorf("alloctest: TryAlloc above a limit lowered below InUse: got error %v, want one that errors.Is %v",
			err, cfg.ErrLimit)
	}
	checkPattern(t, "block in use when the limit fell below it", b, 1)
	checkPattern(t, "block in use when the limit fell below it", c, 2)
	a.Free(b)
	d, err := a.TryAlloc(1000)
	if err != nil {
		t.Fatalf("alloctest: TryAlloc(1000) after frees made room: %v", err)
	}
	a.Free(c)
	a.Free(d)
	l.SetLimit(old)
}
