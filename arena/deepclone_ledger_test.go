// SPDX-License-Identifier: Apache-2.0

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
		const from = 5 << lineBits
		size, most := 6<<lineBits, 11
		if seed%2 == 1 {
			size, most = 8*wideBytes, 17
		}
		taken := make([]bool, size)
		var l ledger
		for round := range 2 {
			l.open()
			clear(taken[:])
			for range 300 {
				at, n := rng.IntN(size-1), 1+rng.IntN(1<<rng.IntN(most))
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

// TestLedgerWide holds that a large variable takes no more of the ledger than a small one.
func TestLedgerWide(t *testing.T) {
	var l ledger
	l.open()
	if !l.claim(1000, 1<<20-7) || !l.claim(8<<20+512, 1<<20) || !l.claim(1<<20+993, 1<<20) || !l.claim(4<<20, 8) {
		t.Error("a claim of what is free failed")
	}
	for _, addr := range []uintptr{1000, 1<<20 + 992, 1<<20 + 993, 8<<20 + 512, 9<<20 + 511} {
		if l.claim(addr, 1) {
			t.Errorf("%#x has two owners", addr)
		}
	}
	if l.claim(4<<20-512, wideBytes) {
		t.Error("a large variable may overlap a small one")
	}
	if l.lines > 12 {
		t.Errorf("four variables took %d lines", l.lines)
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

// TestLedgerRests holds that the claimed rest of a chunk takes its words and no others, in lines that exist
// already, too.
func TestLedgerRests(t *testing.T) {
	const from, end = 5*lineBytes + 40, 9*lineBytes + 104
	for _, lines := range []uintptr{0, 100} { // With 100 the ledger goes through the chunk's lines, not its own.
		var l ledger
		l.open()
		for i := range lines {
			l.claim(1<<20+i*lineBytes, 8)
		}
		if !l.claim(from-8, 4) || !l.claimRest(from, end-from) || !l.claimRest(end+16, 64) {
			t.Fatal("a claim of what is free failed")
		}
		if l.claimRest(end-8, 24) || l.claimRest(from-8, 16) {
			t.Error("a rest may overlap another one or a variable")
		}
		for addr := uintptr(lineBytes); addr < 12*lineBytes; addr += 8 {
			taken := addr >= from && addr < end || addr >= end+16 && addr < end+80 || addr == from-8
			if l.claimBox(addr, 8) == taken {
				t.Errorf("word %#x is taken by a box: %v", addr, !taken)
			}
			if l.claim(addr, 8) == taken {
				t.Errorf("word %#x is taken by a variable: %v", addr, !taken)
			}
		}
		if l.claim(from+lineBytes-100, 3*wideBytes) {
			t.Error("a large variable may overlap a rest")
		}
		l.close()
		l.open()
		if !l.claim(from, end-from) {
			t.Error("a claimed rest outlives its clone")
		}
	}
}

// TestLedgerBoxes holds that values in interfaces may overlap each other, but neither variables nor memory for
// copies.
func TestLedgerBoxes(t *testing.T) {
	var l ledger
	l.open()
	const at = 3 * lineBytes
	if !l.claimBox(at, 24) || !l.claimBox(at+8, 8) || !l.claimBox(at+lineBytes-16, 2*lineBytes) {
		t.Error("values in interfaces may not overlap each other")
	}
	for _, where := range []span{{at - 8, at + 8}, {at + 16, at + 24}, {at + 2*lineBytes + 496 - 8, at + 3*lineBytes}} {
		if l.claimRest(where.from, where.end-where.from) {
			t.Errorf("the rest at %#x has a value in an interface", where.from)
		}
	}
	if !l.claimRest(at+3*lineBytes, 8) {
		t.Error("the word behind a value in an interface is not free")
	}
	const odd = 9*lineBytes - 4
	if !l.claim(odd, 12) {
		t.Fatal("a claim of what is free failed")
	}
	if l.claimBox(odd-4, 12) || l.claimBox(odd+8, 4) || !l.claimBox(odd-4, 4) || !l.claimBox(odd+12, 8) {
		t.Error("a value in an interface is not compared with the bytes of a variable")
	}
	l.close()
	l.open()
	if !l.claimBox(1<<20, 1<<30) || l.claim(1<<20+1<<29, 8) || l.claimRest(1<<20+1<<29, 64) || l.lines > 4 {
		t.Errorf("a value of 1 GiB in an interface took %d lines, or does not count", l.lines)
	}
}

// TestLedgerHalves holds that the half words at the ends of a rest belong to it where a pointer has 4 bytes.
func TestLedgerHalves(t *testing.T) {
	for _, where := range []span{{4, 8}, {40, 44}, {4, 44}} {
		var l ledger
		l.open()
		const at = 3 * lineBytes
		if !l.claim(at, 4) || !l.claim(at+44, 4) {
			t.Fatal("a claim of what is free failed")
		}
		if !l.claimHalves(at+where.from, at+where.end) {
			t.Errorf("the half words of %v are not free", where)
		}
		if where.from == 4 && (l.claim(at+4, 4) || l.claimHalves(at+4, at+8)) || where.end == 44 && l.claim(at+40, 4) {
			t.Errorf("a half word of %v has two owners", where)
		}
	}
}

// TestLedgerLowest: C's addresses below 512, which say something and lead nowhere, have a line of the ledger's own.
func TestLedgerLowest(t *testing.T) {
	var l ledger
	for range 2 {
		l.open()
		first := l.first(8)
		if noLine.starts != nil {
			t.Fatal("a ledger wrote to the line of all ledgers")
		}
		if *first != 0 {
			t.Errorf("a new ledger has a twin: %d", *first)
		}
		l.add(first, 8, describe[int64](), isShared, 1, 1, nil)
		for addr := uintptr(1 << 20); addr < 1<<21; addr += lineBytes {
			l.first(addr)
		}
		if again := l.first(8); again != first || *again != 1 || l.lines != 1<<20/lineBytes {
			t.Errorf("%d lines, the twin %d", l.lines, *again)
		}
		l.close()
	}
}
