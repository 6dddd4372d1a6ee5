// SPDX-License-Identifier: Apache-2.0

package alloctest

import (
	"math"
	"runtime"
	"strconv"
	"testing"

	"github.com/freehold-go/freehold/internal/checks/trial"
)

// checkSizes allocates and frees a block of each length, one at a time, in each of the ways.
func checkSizes(t testing.TB, cfg *Config) {
	a := start(t, cfg)
	for i, n := range sizes(cfg) {
		b := mustAlloc(t, cfg, a, n)
		fill(b[:cap(b)], i)
		checkPattern(t, "TryAlloc", b[:cap(b)], i)
		a.Free(b)

		u, err := a.TryAllocUninit(n)
		if err != nil {
			t.Fatalf("alloctest: TryAllocUninit(%d): %v", n, err)
		}
		checkShape(t, cfg, "TryAllocUninit", u, n)
		fill(u[:cap(u)], i)
		checkPattern(t, "TryAllocUninit", u[:cap(u)], i)
		a.Free(u)
	}
}

// checkZeroing makes memory dirty in every way that it can become so, and checks whether blocks are
// zero all the same.
func checkZeroing(t testing.TB, cfg *Config) {
	a := start(t, cfg)
	for _, n := range someSizes(cfg) {
		count := min(200, 1+cfg.MaxSize/4/n)
		blocks := make([][]byte, count)
		for round := range 3 {
			for i := range blocks {
				blocks[i] = mustAlloc(t, cfg, a, n)
				fill(blocks[i][:cap(blocks[i])], i+1)
			}
			// Each round frees in another order, because a free list may differ from a queue.
			for i := range blocks {
				k := i
				if round == 1 {
					k = count - 1 - i
				}
				a.Free(blocks[k])
			}
		}
	}
}

// checkAlignment asks for every alignment promised, at lengths below, at and above it, with several
// blocks live at once: one alone is often aligned by chance.
func checkAlignment(t testing.TB, cfg *Config) {
	a := start(t, cfg)
	for align := 1; align <= cfg.MaxAlign; align *= 2 {
		var live [][]byte
		for _, n := range []int{1, align - 1, align, align + 1, 3 * align, 24, 1000, 40_000} {
			for range 3 {
				b, err := a.TryAllocAligned(n, align)
				if err != nil {
					t.Fatalf("alloctest: TryAllocAligned(%d, %d): %v", n, align, err)
				}
				checkShape(t, cfg, "TryAllocAligned", b, n)
				checkZero(t, "TryAllocAligned", b)
				if p := addr(b); p%uintptr(align) != 0 {
					t.Fatalf("alloctest: TryAllocAligned(%d, %d): block at %#x, want a multiple of %d",
						n, align, p, align)
				}
				fill(b[:cap(b)], len(live))
				live = append(live, b)
			}
		}
		for i, b := range live {
			checkPattern(t, "aligned block", b[:cap(b)], i)
			a.Free(b)
		}
	}
}

// checkBadAlignment asks for alignments that are none.
func checkBadAlignment(t testing.TB, cfg *Config) {
	a := start(t, cfg)
	for _, align := range []int{0, -1, -8, 3, 24, 4095, math.MaxInt, math.MinInt} {
		var b []byte
		err, panicked := trial.Try(func() (err error) {
			b, err = a.TryAllocAligned(64, align)
			return err
		})
		if err == nil {
			t.Errorf("alloctest: TryAllocAligned(64, %d) gave a block at %#x, want an error or a panic: not a power of two",
				align, addr(b))
			a.Free(b)
			continue
		}
		if panicked {
			checkBugPanic(t, "TryAllocAligned(64, "+strconv.Itoa(align)+")", err, align)
		}
	}
	a.Free(mustAlloc(t, cfg, a, 64))
}

// checkBadLength asks each function for lengths that cannot be had.
func checkBadLength(t testing.TB, cfg *Config) {
	a := start(t, cfg)
	held := mustAlloc(t, cfg, a, 100)
	fill(held, 7)
	calls := []struct {
		name string
		call func(n int) ([]byte, error)
	}{
		{"TryAlloc", a.TryAlloc},
		{"TryAllocUninit", a.TryAllocUninit},
		{"TryAllocAligned", func(n int) ([]byte, error) { return a.TryAllocAligned(n, 64) }},
		{"TryRealloc", func(n int) ([]byte, error) { return a.TryRealloc(held, n) }},
	}
	for _, c := range calls {
		for _, n := range []int{-1, -4096, math.MinInt, math.MinInt + 1} {
			checkNegative(t, c.name, n, c.call)
		}
		for _, n := range hugeLengths() {
			checkHuge(t, cfg, c.name, n, c.call)
		}
		checkPattern(t, c.name+" that failed", held, 7)
	}
	a.Free(held)
	a.Free(mustAlloc(t, cfg, a, 100))
}

// hugeLengths returns lengths that no machine has, and those at which rounding up to a page or a
// power of two overflows an int.
func hugeLengths() []int {
	lengths := []int{math.MaxInt, math.MaxInt - 1, math.MaxInt - 15, math.MaxInt - 4095, math.MaxInt - 4096,
		math.MaxInt - 1<<16, math.MaxInt - 1<<21, math.MaxInt/2 + 1}
	if math.MaxInt > math.MaxInt32 {
		one := 1 // A variable, so that the shifts compile where int has 32 bits.
		lengths = append(lengths, one<<62, one<<56, one<<48, one<<48-1)
	}
	return lengths
}

// checkNegative calls with a negative length: an error or a panic, never a block.
func checkNegative(t testing.TB, name string, n int, call func(int) ([]byte, error)) {
	t.Helper()
	var b []byte
	err, panicked := trial.Try(func() (err error) {
		b, err = call(n)
		return err
	})
	switch {
	case err == nil:
		t.Errorf("alloctest: %s(%d) gave a block of %d bytes, want a panic or an error", name, n, len(b))
	case panicked:
		checkBugPanic(t, name+"("+strconv.Itoa(n)+")", err, n)
	}
}

// checkHuge calls with a length that cannot be had: the error promised, never a panic. Where an int
// has 32 bits, half of the address space may well be there.
func checkHuge(t testing.TB, cfg *Config, name string, n int, call func(int) ([]byte, error)) {
	t.Helper()
	if name == "TryRealloc" && math.MaxInt == math.MaxInt32 {
		return // Success would move the block that the caller of this function still holds.
	}
	var b []byte
	err, panicked := trial.Try(func() (err error) {
		b, err = call(n)
		return err
	})
	switch {
	case panicked:
		t.Errorf("alloctest: %s(%d) panicked, want an error: %v", name, n, err)
	case err == nil && (math.MaxInt > math.MaxInt32 || len(b) != n):
		t.Errorf("alloctest: %s(%d) gave a block of %d bytes, want an error", name, n, len(b))
	case err != nil && !cfg.isOOM(err) && !(cfg.Limits && cfg.isLimit(err)):
		t.Errorf("alloctest: %s(%d): got error %q, want one that errors.Is %q", name, n, err, cfg.ErrOutOfMemory)
	}
}

// checkOverlap holds many blocks of mixed lengths at once, frees every third and refills, and looks
// at each step whether any shares a byte with another or was written to by another's holder.
func checkOverlap(t testing.TB, cfg *Config) {
	a := start(t, cfg)
	lengths := sizes(cfg)
	var live intervals
	blocks := make([][]byte, 600)
	place := func(i, n int) {
		blocks[i] = mustAlloc(t, cfg, a, n)
		live.add(t, blocks[i])
		fill(blocks[i][:cap(blocks[i])], i)
	}
	for i := range blocks {
		place(i, min(lengths[i*7%len(lengths)], 32<<10))
	}
	for round := range 3 {
		for i := round; i < len(blocks); i += 3 {
			checkPattern(t, "live block", blocks[i][:cap(blocks[i])], i)
			live.remove(blocks[i])
			a.Free(blocks[i])
			place(i, min(lengths[(i*5+round)%len(lengths)], 32<<10))
		}
		runtime.GC() // If the collector took the memory for its own, it would be allocated twice now.
	}
	for i, b := range blocks {
		checkPattern(t, "live block", b[:cap(b)], i)
		a.Free(b)
	}
}

// checkInUse compares InUse with the lengths of the blocks, for one block and for many.
func checkInUse(t testing.TB, cfg *Config) {
	a := start(t, cfg)
	base := settledInUse(a)
	for _, n := range sizes(cfg) {
		b, err := a.TryAllocUninit(n)
		if err != nil {
			t.Fatalf("alloctest: TryAllocUninit(%d): %v", n, err)
		}
		rise := settledInUse(a) - base
		if rise < int64(n) {
			t.Errorf("alloctest: InUse rose by %d for a block of %d bytes, want at least that", rise, n)
		}
		if most := float64(n) * (1 + cfg.MaxWaste); cfg.MaxWaste != 0 && n > 64 && float64(rise) > most {
			t.Errorf("alloctest: InUse rose by %d for a block of %d bytes, want at most %.0f", rise, n, most)
		}
		a.Free(b)
		if left := settledInUse(a) - base; left != 0 {
			t.Fatalf("alloctest: InUse is %+d after a block of %d bytes was freed, want 0", left, n)
		}
	}
}

// checkPurge calls Purge around blocks in use, which must not change, and checks whether memory is
// zero when it comes back from the operating system.
func checkPurge(t testing.TB, cfg *Config) {
	a := start(t, cfg)
	p, ok := a.(Purger)
	if !ok {
		return
	}
	p.Purge()
	for _, n := range someSizes(cfg) {
		blocks := make([][]byte, min(40, 1+cfg.MaxSize/4/n))
		for i := range blocks {
			blocks[i] = mustAlloc(t, cfg, a, n)
			fill(blocks[i], i)
		}
		for i := 0; i < len(blocks); i += 2 {
			a.Free(blocks[i])
		}
		p.Purge()
		for i := range blocks {
			if i%2 == 0 {
				blocks[i] = mustAlloc(t, cfg, a, n)
				fill(blocks[i], i)
			}
		}
		for i, b := range blocks {
			checkPattern(t, "block in use during Purge", b, i)
			a.Free(b)
		}
		p.Purge()
		p.Purge()
	}
}
