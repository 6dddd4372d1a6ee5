package arena

import (
	"math/rand/v2"
	"testing"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// TestLedgerClaims holds claims against a model that has a bool for each byte.
func TestLedgerClaims(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 1))
		const from, size = 5 << lineBits, 6 << lineBits
		var taken [size]bool
		var l ledger
		for round := range 2 {
			l.open()
			clear(taken[:])
			for range 300 {
				at, n := rng.IntN(size-1), 1+rng.IntN(1<<rng.IntN(11))
				if rng.IntN(2) == 0 {
					at, n = at&^7, (n+7)&^7
				}
				n = min(n, size-at)
				free := true
				for _, b := range taken[at : at+n] {
					free = free && !b
				}
				if got := l.claim(from+uintptr(at), uintptr(n)); got != free {
					t.Fatalf("seed %d, round %d: claim of %d bytes at %d says %v", seed, round, n, at, got)
				}
				if !free {
					break // The pass ends at the first of these.
				}
				for i := range n {
					taken[at+i] = true
				}
			}
			l.close()
		}
	}
}

// TestLedgerTwins finds twins in thousands of lines, among others that begin in the same word.
func TestLedgerTwins(t *testing.T) {
	var l ledger
	l.open()
	ints, bytes := describe[int](), describe[byte]()
	values := make([]int, 1000)
	for i := range uintptr(1000) {
		addr := (8 + i*i) << 7
		dst := unsafex.PtrOf(&values[i])
		l.add(l.first(addr), addr, ints, isMemory, 1, 1, dst)
		l.add(l.first(addr+1), addr+1, bytes, isMemory, uint32(i), 0, dst)
	}
	for i := range uintptr(1000) {
		addr := (8 + i*i) << 7
		if tw, dst := l.find(l.first(addr), addr, ints, isMemory); tw == nil || dst != unsafex.PtrOf(&values[i]) {
			t.Fatalf("the twin of %#x is lost", addr)
		}
		if tw, _ := l.find(l.first(addr+1), addr+1, bytes, isMemory); tw == nil || tw.room != uint32(i) {
			t.Fatalf("the twin of %#x is lost", addr+1)
		}
		if tw, _ := l.find(l.first(addr), addr, bytes, isMemory); tw != nil {
			t.Fatalf("%#x has a twin of another type", addr)
		}
		if tw, _ := l.find(l.first(addr), addr, ints, isBox); tw != nil {
			t.Fatalf("%#x has a twin of another kind", addr)
		}
	}
	l.close()
	l.open()
	if tw, _ := l.find(l.first(8<<7), 8<<7, ints, isMemory); tw != nil {
		t.Error("a twin outlives its clone")
	}
}
