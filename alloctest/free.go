// SPDX-License-Identifier: Apache-2.0

package alloctest

import (
	"runtime"
	"testing"
)

// checkFree covers what Free must accept: the block, a block cut short at any length, and slices
// that have no memory.
func checkFree(t testing.TB, cfg *Config) {
	a := start(t, cfg)
	a.Free(nil)
	a.Free([]byte{})
	a.Free(make([]byte, 0))
	for _, n := range someSizes(cfg) {
		for _, k := range []int{0, 1, n / 2, n - 1, n} {
			b := mustAlloc(t, cfg, a, n)
			fill(b, k)
			before := settledInUse(a)
			a.Free(b[:min(k, n)])
			if after := settledInUse(a); after > before-int64(n) {
				t.Fatalf("alloctest: Free(b[:%d]) of a block of %d bytes lowered InUse from %d to %d only",
					k, n, before, after)
			}
		}
	}
}

// misuseSizes are lengths of blocks to misuse: each kind of memory that an allocator is likely to
// have should be among them.
func misuseSizes(cfg *Config) []int {
	return append(someSizes(cfg), min(20<<20, cfg.MaxSize))
}

// afterMisuse shows that an allocator is whole after a misuse: a witness has kept its bytes, and
// fresh blocks are zero, keep their contents and do not overlap.
func afterMisuse(t testing.TB, cfg *Config, a Allocator, witness []byte) {
	t.Helper()
	checkPattern(t, "another block after a misuse", witness, 9)
	var live intervals
	live.add(t, witness)
	var blocks [][]byte
	for i := range 20 {
		b := mustAlloc(t, cfg, a, 1+len(witness)*(i%3+1)/2)
		live.add(t, b)
		fill(b, i)
		blocks = append(blocks, b)
		if len(b) > 1<<20 && i > 3 {
			break // Large blocks share nothing that more of them would show.
		}
	}
	for i, b := range blocks {
		checkPattern(t, "block allocated after a misuse", b, i)
		a.Free(b)
	}
	checkPattern(t, "another block after a misuse", witness, 9)
}

// newWitness returns a block that must not change.
func newWitness(t testing.TB, cfg *Config, a Allocator, n int) []byte {
	t.Helper()
	w := mustAlloc(t, cfg, a, n)
	fill(w, 9)
	return w
}

// checkMisuseDouble frees blocks twice: at once, after other frees of the same kind, after a
// collection, and in several orders.
func checkMisuseDouble(t testing.TB, cfg *Config) {
	a := start(t, cfg)
	for _, n := range misuseSizes(cfg) {
		w := newWitness(t, cfg, a, n)
		b := mustAlloc(t, cfg, a, n)
		a.Free(b)
		mustRefuse(t, "second Free", func() { a.Free(b) }, double)
		mustRefuse(t, "third Free", func() { a.Free(b[:n/2]) }, double)
		afterMisuse(t, cfg, a, w)

		first, second := mustAlloc(t, cfg, a, n), mustAlloc(t, cfg, a, n)
		a.Free(first)
		a.Free(second)
		runtime.GC()
		mustRefuse(t, "second Free, another between", func() { a.Free(first) }, double)
		mustRefuse(t, "second Free in order", func() { a.Free(second) }, double)
		afterMisuse(t, cfg, a, w)
		a.Free(w)
		mustRefuse(t, "second Free of the last block", func() { a.Free(w) }, double)
	}
}

// checkMisuseInterior frees addresses inside live blocks. The block must stay whole and live.
func checkMisuseInterior(t testing.TB, cfg *Config) {
	a := start(t, cfg)
	for _, n := range misuseSizes(cfg) {
		w := newWitness(t, cfg, a, n)
		for _, k := range []int{1, 7, 8, 16, 64, n / 2, 4096, n - 16, n - 1} {
			if k <= 0 || k >= n {
				continue
			}
			mustRefuse(t, "Free(b[k:])", func() { a.Free(w[k:]) }, interior)
			mustRefuse(t, "Free(b[k:k])", func() { a.Free(w[k:k]) }, interior)
		}
		afterMisuse(t, cfg, a, w)
		a.Free(w)
	}
}

// staticData is memory of the program's data segment: its initial value is not zero.
var staticData = [64]byte{1, 2, 3}

// checkMisuseForeign frees memory that never came from the allocator: large and small blocks of the
// Go heap, static data and a goroutine's stack.
func checkMisuseForeign(t testing.TB, cfg *Config) {
	a := start(t, cfg)
	w := newWitness(t, cfg, a, 200)
	for _, n := range []int{1, 16, 4096, 64 << 10, 1 << 20, 16 << 20} {
		heap := make([]byte, n)
		mustRefuse(t, "Free of memory of the Go heap", func() { a.Free(heap) }, foreign)
		mustRefuse(t, "Free inside memory of the Go heap", func() { a.Free(heap[n/2:]) }, foreign)
	}
	mustRefuse(t, "Free of static data", func() { a.Free(staticData[:]) }, foreign)
	mustRefuse(t, "Free of a string's bytes", func() { a.Free([]byte("bytes of a string")) }, foreign)
	onStack(func(b []byte) {
		mustRefuse(t, "Free of a stack", func() { a.Free(b) }, foreign)
	})
	afterMisuse(t, cfg, a, w)
	a.Free(w)
}

// checkMisuseNeighbours frees a block twice after all blocks around it were freed too, so that the
// memory may have been joined to a larger free piece or given back. The allocator cannot always
// know by then that a block began there, so either word is right; that it is foreign is wrong.
func checkMisuseNeighbours(t testing.TB, cfg *Config) {
	a := start(t, cfg)
	for _, n := range misuseSizes(cfg) {
		w := newWitness(t, cfg, a, n)
		blocks := make([][]byte, min(100, 3+cfg.MaxSize/4/n))
		for i := range blocks {
			blocks[i] = mustAlloc(t, cfg, a, n)
		}
		for _, from := range []int{1, 0} { // Every second one, then those between.
			for i := from; i < len(blocks); i += 2 {
				a.Free(blocks[i])
			}
		}
		for _, i := range []int{0, len(blocks) / 2, len(blocks) - 1} {
			mustRefuse(t, "second Free after the neighbours'", func() { a.Free(blocks[i]) }, double, interior)
		}
		if p, ok := a.(Purger); ok {
			p.Purge()
			mustRefuse(t, "second Free after Purge", func() { a.Free(blocks[1]) }, double, interior)
		}
		afterMisuse(t, cfg, a, w)
		a.Free(w)
	}
}

// checkMisuseRealloc gives TryRealloc what it must refuse as Free does.
func checkMisuseRealloc(t testing.TB, cfg *Config) {
	a := start(t, cfg)
	realloc := func(b []byte, n int) func() {
		return func() {
			r, err := a.TryRealloc(b, n)
			t.Logf("alloctest: TryRealloc returned %d bytes and error %v", len(r), err)
		}
	}
	for _, n := range misuseSizes(cfg) {
		w := newWitness(t, cfg, a, n)
		b := mustAlloc(t, cfg, a, n)
		if n > 1 {
			mustRefuse(t, "TryRealloc(b[1:])", realloc(b[1:], 2*n), interior)
			mustRefuse(t, "TryRealloc(b[1:]) to less", realloc(b[1:], 1), interior)
		}
		a.Free(b)
		mustRefuse(t, "TryRealloc of a free block", realloc(b, 2*n), double)
		mustRefuse(t, "TryRealloc of a free block to less", realloc(b, (n+1)/2), double)
		mustRefuse(t, "TryRealloc of a free block to as much", realloc(b, n), double)
		mustRefuse(t, "TryRealloc of the Go heap", realloc(make([]byte, n), 2*n), foreign)
		afterMisuse(t, cfg, a, w)
		a.Free(w)
	}
}

// checkMisuseGoroutine frees in one goroutine and once more in another.
func checkMisuseGoroutine(t testing.TB, cfg *Config) {
	a := start(t, cfg)
	for _, n := range misuseSizes(cfg) {
		w := newWitness(t, cfg, a, n)
		b, c := mustAlloc(t, cfg, a, n), mustAlloc(t, cfg, a, n)
		elsewhere(func() { a.Free(b) })
		mustRefuse(t, "second Free, the first elsewhere", func() { a.Free(b) }, double)
		a.Free(c)
		elsewhere(func() {
			mustRefuse(t, "second Free elsewhere", func() { a.Free(c) }, double)
			mustRefuse(t, "third Free elsewhere", func() { a.Free(b) }, double)
			if n > 1 {
				mustRefuse(t, "Free(w[1:]) elsewhere", func() { a.Free(w[1:]) }, interior)
			}
		})
		afterMisuse(t, cfg, a, w)
		a.Free(w)
	}
}

// elsewhere runs f in another goroutine and waits for it. The goroutine holds a thread, so that it
// does not simply take over the processor of this one each time.
func elsewhere(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		f()
	}()
	<-done
}
