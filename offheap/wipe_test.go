// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"fmt"
	"testing"

	"github.com/freehold-go/freehold/internal/debugmode"
	"github.com/freehold-go/freehold/internal/sanitize"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// secretByte fills blocks that must be wiped. No pattern of a debug mode has it.
const secretByte = 0xA7

// needStaleReads skips a test that reads freed blocks where the read faults or is reported.
func needStaleReads(t testing.TB) {
	t.Helper()
	needNoSamples(t)
	if debugmode.Current().Guard || sanitize.Enabled {
		t.Skip("freed blocks cannot be read")
	}
}

// fillSecret writes the secret over all bytes of a block.
func fillSecret(b []byte) []byte {
	for i := range b[:cap(b)] {
		b[:cap(b)][i] = secretByte
	}
	return b
}

// leftOver is how many of n bytes at addr are the secret's.
//
//go:norace
func leftOver(addr, n uintptr) (left int) {
	for _, c := range unsafex.Bytes(addr, n) {
		if c == secretByte {
			left++
		}
	}
	return left
}

// wipeSizes are small blocks, blocks of one a group, and large ones.
var wipeSizes = []int{1, 24, 1000, 20_000, 60_000, 70_000, 300_000}

// freeWays are the ways in which a block of bytes comes free. Each returns a block that is to be
// freed in the end, or nil.
var freeWays = []struct {
	name string
	free func(b []byte) []byte
}{
	{"Free", func(b []byte) []byte { Free(b); return nil }},
	{"FreeSlice", func(b []byte) []byte { FreeSlice(b); return nil }},
	{"Local.Free", func(b []byte) []byte {
		l := NewLocal()
		defer l.Close()
		l.Free(b)
		return nil
	}},
	{"another goroutine's Free", func(b []byte) []byte {
		done := make(chan bool)
		go func() { defer close(done); Free(b) }()
		<-done
		return nil
	}},
	{"Free after Purge", func(b []byte) []byte { Purge(); Free(b); return nil }},
	{"Realloc to 0", func(b []byte) []byte { return Realloc(b, 0) }},
	{"Realloc to another block", func(b []byte) []byte { return Realloc(b, 1<<20) }},
	{"Append", func(b []byte) []byte { return Append(b, make([]byte, 1<<20)...) }},
}

// TestWipe: no byte of a freed block of a Purpose that wipes can be read, in whatever way it was
// freed.
func TestWipe(t *testing.T) {
	needStaleReads(t)
	quiet(t)
	p := NewPurposeWith("wiped when freed", PurposeOptions{Wipe: true})
	for _, n := range wipeSizes {
		for _, way := range freeWays {
			b, other := fillSecret(p.Alloc(n)), p.Alloc(n) // The other keeps the slab.
			addr := addrOf(b)
			rest := way.free(b)
			if left := leftOver(addr, uintptr(n)); left != 0 && (cap(rest) == 0 || addrOf(rest) != addr) {
				t.Errorf("%d bytes, %s: %d bytes can be read after the free", n, way.name, left)
			}
			if way.name == "Append" && leftOver(addrOf(rest), uintptr(n)) != n {
				t.Errorf("%d bytes, %s: the new block lost what the old one held", n, way.name)
			}
			Free(rest)
			Free(other)
		}
	}
}

// TestWipeShrink: Realloc wipes what it cuts off, whether the block moves or not.
func TestWipeShrink(t *testing.T) {
	needStaleReads(t)
	quiet(t)
	p := NewPurposeWith("wiped when freed", PurposeOptions{Wipe: true})
	for _, n := range wipeSizes[1:] {
		for _, to := range []int{n - 1, n * 3 / 4, n / 4, 1} {
			b := fillSecret(p.Alloc(n))
			addr := addrOf(b)
			rest := Realloc(b, to)
			kept := 0
			if addrOf(rest) == addr {
				kept = to
			}
			if left := leftOver(addr, uintptr(n)); left != kept {
				t.Errorf("%d bytes cut to %d: %d of the old bytes can be read, want %d", n, to, left, kept)
			}
			if leftOver(addrOf(rest), uintptr(to)) != to {
				t.Errorf("%d bytes cut to %d: what stays is damaged", n, to)
			}
			Free(rest)
		}
	}
}

// TestWipeShrinkPrefix: Realloc of a prefix wipes what lies behind the prefix, too.
func TestWipeShrinkPrefix(t *testing.T) {
	needStaleReads(t)
	quiet(t)
	p := NewPurposeWith("wiped when freed", PurposeOptions{Wipe: true})
	for _, n := range wipeSizes[1:] {
		for _, c := range []struct{ prefix, to int }{{n * 3 / 4, n * 3 / 4}, {1, n * 3 / 4}, {n / 2, n * 3 / 4}, {n - 1, n}, {n - 1, n - 1}, {n * 3 / 4, n / 2}} {
			b := fillSecret(p.Alloc(n))
			addr := addrOf(b)
			rest := Realloc(b[:c.prefix], c.to)
			kept := min(c.prefix, c.to)
			if left := leftOver(addrOf(rest), uintptr(kept)); left != kept {
				t.Errorf("%d of %d bytes to %d: %d of %d bytes stay", c.prefix, n, c.to, left, kept)
			}
			if addrOf(rest) != addr {
				kept = 0
			}
			if left := leftOver(addr, uintptr(n)); left != kept {
				t.Errorf("%d of %d bytes to %d: %d of the old bytes can be read, want %d", c.prefix, n, c.to, left, kept)
			}
			Free(rest)
		}
	}
}

// TestWipeValues: values are wiped as bytes are, for types that share slabs and for those that do
// not.
func TestWipeValues(t *testing.T) {
	needStaleReads(t)
	quiet(t)
	p := NewPurposeWith("wiped when freed", PurposeOptions{Wipe: true})
	type plain [40]byte
	type flagged struct {
		data [40]byte
		flag bool
	}
	check := func(how string, addr, n uintptr) {
		t.Helper()
		if left := leftOver(addr, n); left != 0 {
			t.Errorf("%s: %d bytes can be read after the free", how, left)
		}
	}
	for _, l := range []*Local{nil, NewLocal()} {
		how := func(what string) string { return fmt.Sprintf("%s, local %v", what, l != nil) }
		v, w, other := For[plain](p).New(), For[flagged](p).New(), For[flagged](p).New()
		fillSecret(v[:])
		fillSecret(w.data[:])
		w.flag = true
		if l == nil {
			Delete(v)
			DeleteRef(RefOf(w))
		} else {
			deleteIn(l, v)
			deleteIn(l, w)
			defer l.Close()
		}
		check(how("a plain value"), unsafex.Addr(v), 40)
		check(how("a value with a bool"), unsafex.Addr(w), 40)
		Delete(other)
	}
	s := For[flagged](p).MakeSlice(5000, 5000)
	for i := range s {
		fillSecret(s[i].data[:])
	}
	addr := unsafex.SliceAddr(s)
	FreeSlice(s)
	check("a large slice of values with bools", addr, 5000*unsafex.Size[flagged]())
}

// TestWipeOptions: the options of a Purpose cannot differ between two calls.
func TestWipeOptions(t *testing.T) {
	p := NewPurposeWith("options of a purpose", PurposeOptions{Wipe: true})
	if NewPurposeWith("options of a purpose", PurposeOptions{Wipe: true}) != p || NewPurpose("options of a purpose") != p {
		t.Error("the same name and options make another Purpose")
	}
	defer func() {
		if e, ok := recover().(error); !ok || e == nil {
			t.Error("other options under the same name: no panic")
		}
	}()
	NewPurposeWith("options of a purpose", PurposeOptions{})
}
