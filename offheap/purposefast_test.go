// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"reflect"
	"sync"
	"testing"

	"github.com/freehold-go/freehold/internal/typeinfo"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// countServed counts the allocations of f that the fast paths leave to the slow one.
func countServed(f func()) int64 {
	sum := func() (n int64) {
		for _, c := range *std.active.Load() {
			n += int64(c.slow)
		}
		return n
	}
	before := sum()
	f()
	return sum() - before
}

// TestPurposeTakesFastPath: an allocation in the account of a Purpose takes a block of the P's slot
// as one without an account does.
func TestPurposeTakesFastPath(t *testing.T) {
	needSlabs(t)
	const pairs, few = 10_000, 1000
	p, w := NewPurpose("fast"), NewPurposeWith("fast wipe", PurposeOptions{Wipe: true})
	value, typed := For[[8]uint64](p), For[flags](p)
	for _, way := range []struct {
		name string
		pair func()
	}{
		{"New of one Typed", func() { Delete(value.New()) }},
		{"New of one Typed with bools", func() { Delete(typed.New()) }},
		{"Alloc", func() { Free(p.Alloc(64)) }},
		{"AllocUninit", func() { Free(p.AllocUninit(4096)) }},
		{"TryAlloc", func() { b, _ := p.TryAlloc(100); Free(b) }},
		{"New", func() { Delete(For[[8]uint64](p).New()) }},
		{"TryNew", func() { v, _ := For[[8]uint64](p).TryNew(); Delete(v) }},
		{"New of a type with bools", func() { Delete(For[flags](p).New()) }},
		{"Alloc with Wipe", func() { Free(w.Alloc(64)) }},
	} {
		n := countServed(func() {
			for range pairs {
				way.pair()
			}
		})
		if n > few {
			t.Errorf("%s: the server served %d of %d allocations", way.name, n, pairs)
		}
	}
}

// TestForKeepsToItsPurpose: the values of one Typed lie in the slabs of its Purpose, and of its type if
// it has bools. Aligned values are aligned.
func TestForKeepsToItsPurpose(t *testing.T) {
	needSlabs(t)
	p := NewPurpose("one Typed")
	check := func(name string, addr, align uintptr, bools bool) {
		k := std.binByID(std.spanOf(addr).bin).kind.self()
		if k.purpose != p.state("test") || k.typed() != bools || addr%align != 0 {
			t.Fatalf("%s: the value at %#x is of the account %q, and %v is said of its bools", name, addr, k.account(), k.typed())
		}
	}
	value, typed, aligned := For[[8]uint64](p), For[flags](p), For[[8]uint64](p).Aligned(512)
	for range 100 {
		a, b, c := value.New(), typed.New(), aligned.New()
		check("value", unsafex.Addr(a), 8, false)
		check("typed", unsafex.Addr(b), 1, true)
		check("aligned", unsafex.Addr(c), 512, false)
		defer Delete(a)
		defer Delete(b)
		defer Delete(c)
	}
}

// TestPurposeZeroes: blocks and values are zero although the fast path gives memory that was written.
func TestPurposeZeroes(t *testing.T) {
	p := NewPurpose("zeroes")
	for range 100 {
		b := p.Alloc(100)
		v, _ := For[[12]uint64](p).TryNew()
		u := For[[12]uint64](p).New()
		f := For[flags](p).New()
		g, _ := For[flags](p).TryNew()
		if !allZero(b) || *v != ([12]uint64{}) || *u != *v || *f != (flags{}) || *g != (flags{}) {
			t.Fatalf("not zero: % x, %v, %v, %v, %v", b, *v, *u, *f, *g)
		}
		fill(b, 7)
		v[0], v[11], u[0], u[11] = 1, 2, 3, 4
		f.N, g.N = 5, 6
		Free(b)
		Delete(v)
		Delete(u)
		Delete(f)
		Delete(g)
	}
}

// TestPurposeHasOneKindForAType: goroutines that allocate values of new types at once agree on where
// these lie. There are more types than hashes.
func TestPurposeHasOneKindForAType(t *testing.T) {
	s := NewPurpose("one kind for a type").state("test")
	const types, goroutines = 100, 4
	var kinds [goroutines][types]*kind
	var workers sync.WaitGroup
	for g := range goroutines {
		workers.Go(func() {
			for i := range types {
				kinds[g][i] = s.kindFor(describeArray(i + 1))
			}
		})
	}
	workers.Wait()
	seen := map[*kind]bool{}
	for i := range types {
		k := kinds[0][i]
		if seen[k] || k.purpose != s || k.typ != describeArray(i+1).typ {
			t.Fatalf("type %d has the kind of %v", i, k.typ)
		}
		seen[k] = true
		for g := range goroutines {
			if kinds[g][i] != k {
				t.Errorf("type %d has two kinds", i)
			}
		}
	}
}

// describeArray is the description of an array of n bools.
func describeArray(n int) *typeDesc {
	a := reflect.ArrayOf(n, reflect.TypeFor[bool]())
	return types.Find(typeinfo.KeyOf(a), a)
}

// BenchmarkPurposeNew is New and Delete, and AllocUninit and Free, without an account and in that of
// a Purpose. The typed values have bools, and so a kind of their own.
func BenchmarkPurposeNew(b *testing.B) {
	p := NewPurpose("benchmark of New")
	b.Run("value/none", func(b *testing.B) {
		for b.Loop() {
			Delete(New[[8]uint64]())
		}
	})
	b.Run("value/purpose", func(b *testing.B) {
		for b.Loop() {
			Delete(For[[8]uint64](p).New())
		}
	})
	b.Run("value/purpose, one Typed", func(b *testing.B) {
		from := For[[8]uint64](p)
		for b.Loop() {
			Delete(from.New())
		}
	})
	b.Run("typed/none", func(b *testing.B) {
		for b.Loop() {
			Delete(New[flags]())
		}
	})
	b.Run("typed/purpose", func(b *testing.B) {
		for b.Loop() {
			Delete(For[flags](p).New())
		}
	})
	b.Run("typed/purpose, one Typed", func(b *testing.B) {
		from := For[flags](p)
		for b.Loop() {
			Delete(from.New())
		}
	})
	b.Run("bytes/none", func(b *testing.B) {
		for b.Loop() {
			Free(AllocUninit(64))
		}
	})
	b.Run("bytes/purpose", func(b *testing.B) {
		for b.Loop() {
			Free(p.AllocUninit(64))
		}
	})
}
