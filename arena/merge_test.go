// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"reflect"
	"testing"
)

// someValues makes values that take several of the first chunks of each flow.
func someValues(tb testing.TB, a *Arena) {
	for i := range 40 {
		p, err := TryNew[node](a)
		if err != nil || p.name != "" || p.next != nil || p.kids != nil {
			tb.Fatalf("value %d: %v, %v", i, p, err)
		}
		p.name, p.next = "node", p
		q := NewOf(a, reflect.TypeFor[[3]int64]()).(*[3]int64)
		if *q != [3]int64{} {
			tb.Fatalf("value %d: %v", i, *q)
		}
		q[2] = 7
		if s := String(a, "some bytes of text"); s != "some bytes of text" {
			tb.Fatal(s)
		}
	}
	for range 2 {
		MakeSlice[node](a, 40, 40)[39].next = New[node](a)
		b, err := a.UnsafeBytes(600)
		if err != nil {
			tb.Fatal(err)
		}
		b[599] = 1
	}
}

// TestMerge: after Reset, small chunks of a type are one, so that rounds like the last one take no
// slow path.
func TestMerge(t *testing.T) {
	chunked(t)
	reusing(t)
	a := Cleanup(t, NewArena())
	if a.debug != nil {
		t.Skip("values are sampled")
	}
	someValues(t, a)
	if a.typed[0].full == nil {
		t.Fatal("the first round fills one chunk alone")
	}
	a.Reset(Keep)
	held := a.Stats().Held
	for range 3 {
		a.each(func(b *bump) {
			if b.chunk == &noChunk || b.spare != nil || b.spareLarge != nil || b.full != nil || b.large != nil {
				t.Errorf("%s has other chunks than the current one", b.name())
			}
		})
		someValues(t, a)
		if a.typed[0].full != nil || a.Stats().Held != held {
			t.Errorf("a round like the last one needs another chunk: %d bytes, %d before", a.Stats().Held, held)
		}
		a.Reset(Keep)
	}
	p := new(Pool)
	for range 3 {
		a := p.Get()
		someValues(t, a)
		p.Put(a)
	}
	a = p.Get()
	someValues(t, a)
	if a.typed[0].full != nil {
		t.Error("a warm request with values of more than one first chunk needs a second one")
	}
	p.Put(a)
}

// TestMergeLimits: chunks stay as they are if a limit of the arena or the mode forbids one for all, or if they are large.
func TestMergeLimits(t *testing.T) {
	chunked(t)
	reusing(t)
	a := Cleanup(t, NewArena())
	if a.debug != nil {
		t.Skip("values are sampled")
	}
	someValues(t, a)
	held := a.Stats()
	a.SetLimit(held.Held)
	for range 3 {
		a.Reset(Keep)
		if s := a.Stats(); s.Held > held.Held || s.Held < held.Held/2 {
			t.Errorf("after Reset with a limit of what is there: %+v, before %+v", s, held)
		}
		someValues(t, a)
	}
	a.SetLimit(0)
	a.Reset(KeepUpTo(1000))
	if s := a.Stats(); s.Held > 1000 {
		t.Errorf("KeepUpTo(1000) keeps %d bytes", s.Held)
	}
	for range 20 {
		MakeSlice[*node](a, 1000, 1000)
	}
	large := a.Stats()
	a.Reset(Keep)
	if s := a.Stats(); s.Held != large.Held || s.Chunks != large.Chunks {
		t.Errorf("large chunks: %+v, before %+v", s, large)
	}
}

// TestMergeKeepsUpTo: a merged chunk is as large as its class, which may be more than the chunks that it replaces. KeepUpTo keeps
// all chunks nevertheless, if their bytes allow it.
func TestMergeKeepsUpTo(t *testing.T) {
	chunked(t)
	reusing(t)
	for n := range 60 {
		for _, more := range []int64{0, 1, 300} {
			a := NewArena()
			if a.debug != nil {
				t.Skip("values are sampled")
			}
			for range n {
				New[node](a)
				New[[3]int64](a)
				String(a, "some bytes of text")
				MakeSlice[bool](a, 7*n, 7*n)
			}
			before := a.Stats()
			a.Reset(KeepUpTo(before.Held + more))
			if s := a.Stats(); s.Held < before.Held || s.Held > before.Held+more {
				t.Errorf("%d values: KeepUpTo(%d) keeps %d of %d bytes", n, before.Held+more, s.Held, before.Held)
			}
			a.Free()
		}
	}
}

// TestMergeLeavesRoom: a type's merged chunk does not take what other types need within a limit.
func TestMergeLeavesRoom(t *testing.T) {
	chunked(t)
	reusing(t)
	a := Cleanup(t, NewWith(Options{Limit: 64 << 10}))
	if a.debug != nil {
		t.Skip("values are sampled")
	}
	for a.Stats().Held < 28<<10 {
		New[node](a)
	}
	a.Reset(Keep)
	New[node](a)
	for range 80 {
		if _, err := TryMakeSlice[int64](a, 64, 64); err != nil {
			t.Fatalf("%+v: %v", a.Stats(), err)
		}
	}
}
