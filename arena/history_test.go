// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"reflect"
	"strings"
	"sync"
	"testing"
)

// TestBuilderAfterRewind: a Builder that got memory behind a checkpoint panics after the Rewind,
// and changes no string that the arena has made since. One that got its memory before goes on.
func TestBuilderAfterRewind(t *testing.T) {
	for _, k := range kinds {
		a := k.make()
		before := NewBuilder(a)
		_, _ = before.WriteString("before")
		c := a.Checkpoint()
		_, _ = before.WriteString("!") // It has room for one more byte.
		b, fresh := NewBuilder(a), NewBuilder(a)
		_, _ = b.WriteString("hello")
		for range 2 {
			a.Rewind(c)
			s := String(a, "ABCDEFGHIJ")
			for name, f := range map[string]func(){
				"Builder.String":      func() { _ = b.String() },
				"Builder.WriteString": func() { _, _ = b.WriteString("xyz") },
				"Builder.ReadFrom":    func() { _, _ = b.ReadFrom(strings.NewReader("xyz")) },
				"Builder.Grow":        func() { b.Grow(1) },
			} {
				wantPanic(t, k.name+" "+name, f, name+" on a Builder that was written to before arena", "was rewound", "_test.go:")
			}
			if s != "ABCDEFGHIJ" {
				t.Errorf("%s: a string became %q", k.name, s)
			}
			if before.String() != "before!" {
				t.Errorf("%s: an older Builder has %q", k.name, before.String())
			}
		}
		_, _ = fresh.WriteString("fresh")
		b.Reset()
		_, _ = b.WriteString("again")
		a.Checkpoint()
		if fresh.String() != "fresh" || b.String() != "again" {
			t.Errorf("%s: %q and %q", k.name, fresh.String(), b.String())
		}
		a.Reset(Keep)
		wantPanic(t, k.name, func() { _ = fresh.String() }, "was reset")
		a.Free()
	}
}

// TestReaderRewinds: a reader that rewinds the arena it is read into gets a panic.
func TestReaderRewinds(t *testing.T) {
	a := NewArena()
	defer a.Free()
	c := a.Checkpoint()
	b := NewBuilder(a)
	_, _ = b.WriteString("hello")
	var s string
	wantPanic(t, "ReadFrom", func() {
		_, _ = b.ReadFrom(readerFunc(func(p []byte) (int, error) {
			a.Rewind(c)
			s = String(a, "ABCDEFGHIJ")
			return copy(p, "xyz"), nil
		}))
	}, "Builder.ReadFrom", "was rewound")
	if s != "ABCDEFGHIJ" {
		t.Errorf("a string became %q", s)
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// TestMapAfterRewind: a Map that was made, has grown or copied a key behind a checkpoint panics
// after the Rewind, and neither shows nor changes what the arena has made since. One of older
// memory goes on.
func TestMapAfterRewind(t *testing.T) {
	for _, k := range kinds {
		a := k.make()
		older, grows := NewMap[int, int](a, 8), NewMap[int, int](a, 8)
		keys := NewMap[[3]int16, odd](a, 8)
		c := a.Checkpoint()
		made := NewMap[int, int](a, 8)
		older.Set(1, 2)
		keys.Set([3]int16{1}, odd{a: 1})
		for i := range 100 {
			grows.Set(i, i)
		}
		a.Rewind(c)
		list := MakeSlice[int](a, 100, 100)
		for _, m := range []*Map[int, int]{made, grows} {
			for name, f := range mapUses(m) {
				wantPanic(t, k.name, f, name+" on a Map of arena", "was rewound", "_test.go:")
			}
		}
		for _, x := range list {
			if x != 0 {
				t.Fatalf("%s: a stale Map has written %d", k.name, x)
			}
		}
		if v, ok := older.Get(1); v != 2 || !ok || keys.Len() != 1 {
			t.Errorf("%s: an older Map has %d, %v", k.name, v, ok)
		}
		a.Free()
	}
}

// TestMapKeysAfterRewind: a string key that a Map copied behind a checkpoint makes it stale by the
// Rewind.
func TestMapKeysAfterRewind(t *testing.T) {
	for _, a := range []*Arena{NewArena(), NewShared()} {
		m := NewMap[string, int](a, 8)
		m.Set("early", 1)
		c := a.Checkpoint()
		m.Set("early", 2)
		a.Rewind(c)
		if v, _ := m.Get("early"); v != 2 {
			t.Errorf("%d of a key from before the checkpoint", v)
		}
		m.Set("a late key", 3)
		a.Rewind(c)
		String(a, "ABCDEFGHIJ")
		wantPanic(t, "Keys", func() {
			for s := range m.Keys() {
				t.Errorf("key %q", s)
			}
		}, "Map.Keys on a Map of arena", "was rewound")
		a.Free()
	}
}

// TestMapReadersAndCheckpoints: many goroutines may look up in a Map while its arena notes
// checkpoints and is rewound to them.
func TestMapReadersAndCheckpoints(t *testing.T) {
	a := NewArena()
	defer a.Free()
	m := NewMap[int, int](a, 8)
	m.Set(1, 2)
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for range 1000 {
				if v, _ := m.Get(1); v != 2 {
					t.Errorf("found %d", v)
				}
			}
		})
	}
	for range 300 {
		c := a.Checkpoint()
		String(a, "a string")
		a.Rewind(c)
	}
	readers.Wait()
}

// TestOverwrittenHistory: an arena over which an older copy of it was written knows which Maps and
// Builders are stale all the same. A shared arena, all of whose parts lie elsewhere, works on.
func TestOverwrittenHistory(t *testing.T) {
	for name, make := range map[string]func() *Arena{"own": NewArena, "shared": NewShared, "no reuse": func() *Arena { return NewWith(Options{NoReuse: true}) }} {
		t.Run(name, func(t *testing.T) {
			for what, give := range map[string]func(a *Arena) (end func(), live *Map[int, string]){
				"reset": func(a *Arena) (func(), *Map[int, string]) {
					return func() { a.Reset(Keep) }, nil
				},
				"rewound": func(a *Arena) (func(), *Map[int, string]) {
					live := NewMap[int, string](a, 4)
					live.Set(1, "live")
					c := a.Checkpoint()
					return func() { a.Rewind(c) }, live
				},
			} {
				a := make()
				end, live := give(a)
				m := NewMap[int, string](a, 4)
				m.Set(1, "stale")
				b := NewBuilder(a)
				b.WriteString("ABCDEFGHIJ")
				old := copyOf(a)
				end()
				reflect.ValueOf(a).Elem().Set(reflect.ValueOf(old).Elem())
				wantPanic(t, what, func() { m.Get(1) }, "arena: Map.Get on ")
				wantPanic(t, what, func() { _ = b.String() }, "arena: Builder.String on ")
				if live != nil {
					if s, ok := live.Get(1); !ok || s != "live" {
						t.Errorf("%s: an older Map has %q", what, s)
					}
				}
				if name != "shared" {
					continue
				}
				c := a.Checkpoint()
				s := String(a, "ABCDEFGHIJ")
				reflect.ValueOf(a).Elem().Set(reflect.ValueOf(old).Elem())
				a.Rewind(c)
				if u := NewBuilder(a); s == "" || u.String() != "" {
					t.Error("a new Builder is not empty")
				}
				end = func() { a.Rewind(c) }
				a.Reset(Keep)
				wantPanic(t, what, end, "stale checkpoint")
				a.Free()
				reflect.ValueOf(a).Elem().Set(reflect.ValueOf(old).Elem())
				wantPanic(t, what, a.Free, "arena: Free on ", "was freed")
			}
		})
	}
}
