// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"testing"

	"github.com/freehold-go/freehold"
)

// TestWarmTypes: the twelve types of the benchmark are of twelve sizes, each with chunks of its own.
func TestWarmTypes(t *testing.T) {
	a := Cleanup(t, NewArena())
	twelve(a)
	if n := a.Stats().Types; n != 12 && !freehold.HeapMode() {
		t.Errorf("%d types, want 12", n)
	}
}

// TestResetWarm: after Reset and Rewind the first value of each type takes the fast path.
func TestResetWarm(t *testing.T) {
	chunked(t)
	reusing(t)
	a := Cleanup(t, NewArena())
	if a.debug != nil {
		t.Skip("values are sampled")
	}
	warm := func(after string) {
		t.Helper()
		for _, b := range a.typed {
			if c := a.probe(b.desc.key); c != &b.chunk.cursor || c.limit < c.used+b.desc.size {
				t.Errorf("after %s the slot of %s leads to %+v", after, b.desc.typ, *c)
			}
		}
		if s := a.Stats(); s.Types != 12 {
			t.Errorf("after %s: %+v", after, s)
		}
	}
	c := a.Checkpoint()
	for range 3 {
		twelve(a)
		a.Rewind(c) // The types came after the checkpoint.
		warm("Rewind")
	}
	for i := range 3 {
		for range 1 + i*400 { // The first rounds have one chunk a type, the last ones several.
			twelve(a)
		}
		a.Reset(Keep)
		if s := a.Stats(); s.InUse != 0 {
			t.Errorf("after Reset: %+v", s)
		}
		warm("Reset")
	}
	a.Reset(GiveBack)
	if s := a.Stats(); s.Held != 0 || s.Chunks != 0 {
		t.Errorf("after Reset(GiveBack): %+v", s)
	}
	twelve(a)
	a.Reset(KeepUpTo(1)) // No chunk is so small.
	if s := a.Stats(); s.Held != 0 {
		t.Errorf("after Reset(KeepUpTo(1)): %+v", s)
	}
}

// TestResetWarmZero: values of the chunk that stays open are zero, and hold nothing alive.
func TestResetWarmZero(t *testing.T) {
	for _, k := range kinds {
		a := k.make()
		for range 4 {
			for range 3 {
				w, b, o := New[point](a), MakeSlice[byte](a, 5, 9), New[[3]uint16](a)
				if *w != (point{}) || string(b[:9]) != string(make([]byte, 9)) || *o != ([3]uint16{}) {
					t.Fatalf("%s: %v %v %v", k.name, *w, b[:9], *o)
				}
				*w, *o = point{1, 2}, [3]uint16{1, 2, 3}
				copy(b[:9], "123456789")
			}
			a.Reset(Keep)
		}
		a.Free()
	}
}

// TestRewindOpenChunk: an empty chunk that Reset left open, and that a checkpoint names, goes before the
// limit refuses a value, and the checkpoint stays valid.
func TestRewindOpenChunk(t *testing.T) {
	chunked(t)
	reusing(t)
	a := Cleanup(t, NewArena())
	for range 2000 {
		New[node](a)
	}
	a.Reset(Keep)
	c := a.Checkpoint()
	held := a.Stats().Held
	a.SetLimit(held)
	if _, err := TryMakeSlice[*int](a, int(held/16), int(held/16)); err != nil {
		t.Errorf("the limit counts chunks that nothing uses: %v", err)
	}
	a.SetLimit(0)
	for range 5 {
		for range 2000 {
			if n := New[node](a); n.next != nil || n.name != "" {
				t.Fatalf("a new node holds %+v", *n)
			} else {
				n.next, n.name = n, "x"
			}
		}
		a.Rewind(c)
	}
	if s := a.Stats(); s.InUse != 0 {
		t.Errorf("after Rewind: %+v", s)
	}
}
