// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"iter"
	"reflect"
	"slices"
	"testing"
)

// squares yields n squares, after making a value in a before each.
func squares(a *Arena, n int) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for i := range int64(n) {
			if i%3 == 0 {
				New[point](a).x = -1
			}
			if !yield(i * i) {
				return
			}
		}
	}
}

// TestCollect: the slice has the values of the sequence, also where the sequence uses the arena.
func TestCollect(t *testing.T) {
	for name, a := range withNil() {
		for _, n := range []int{0, 1, 2, 10, 3000} {
			want := slices.Collect(squares(nil, n))
			for _, seq := range []iter.Seq[int64]{squares(a, n), squares(nil, n)} {
				s := Collect(a, seq)
				if !slices.Equal(s, want) || (s == nil) != (n == 0) {
					t.Fatalf("%s: Collect of %d: %d values", name, n, len(s))
				}
				if a != nil && !chunkless() && n > 0 && !a.Owns(s) {
					t.Errorf("%s: Collect of %d is not in the arena", name, n)
				}
			}
		}
		if s := Collect(a, func(yield func(int64) bool) {
			c := a.Checkpoint()
			New[point](a)
			a.Rewind(c)
			for i := range int64(5) {
				c := a.Checkpoint()
				New[point](a)
				a.Rewind(c)
				if !yield(i) {
					return
				}
			}
		}); !slices.Equal(s, []int64{0, 1, 2, 3, 4}) {
			t.Errorf("%s: Collect of a sequence that rewinds its own values: %v", name, s)
		}

		a.Free()
	}
}

// TestCollectFreed: a sequence that frees the elements is found out, and what the arena makes
// afterwards is left alone.
func TestCollectFreed(t *testing.T) {
	for _, k := range kinds {
		probe := k.make()
		shared := probe.shared != nil
		if probe.Free(); shared { // The elements are on the Go heap until the sequence has ended.
			continue
		}
		for _, n := range []int{1, 5} {
			for what, end := range map[string]func(a *Arena, c Checkpoint){
				"reset":   func(a *Arena, _ Checkpoint) { a.Reset(Keep) },
				"rewound": func(a *Arena, c Checkpoint) { a.Rewind(c) },
				"freed":   func(a *Arena, _ Checkpoint) { a.Free() },
			} {
				a := k.make()
				c := a.Checkpoint()
				var later []int64
				seq := func(yield func(int64) bool) {
					for i := range int64(n) {
						if !yield(-1 - i) {
							return
						}
					}
					if end(a, c); what != "freed" {
						later = MakeSlice[int64](a, 100, 100)
					}
					yield(-1)
				}
				wantPanic(t, k.name, func() { Collect(a, seq) }, "arena: Collect on arena", what, "_test.go:")
				for _, x := range later {
					if x != 0 {
						t.Fatalf("%s: a later value is %d", k.name, x)
					}
				}
				if what != "freed" {
					silent := func(yield func(int64) bool) { // No element comes after the end.
						c = a.Checkpoint()
						yield(1)
						end(a, c)
					}
					wantPanic(t, k.name, func() { Collect(a, silent) }, "arena: Collect on arena", what)
					a.Free()
				}
			}
		}
	}
}

// TestCollectOverwritten: the sequence frees the elements and writes a copy of another arena over theirs, whose
// round is that of the elements.
func TestCollectOverwritten(t *testing.T) {
	for _, k := range kinds {
		for _, n := range []int{1, 2} {
			x, y := k.make(), k.make()
			if x.shared != nil { // The elements are on the Go heap until the sequence has ended.
				x.Free()
				y.Free()
				continue
			}
			seq := func(yield func(int64) bool) {
				yield(1)
				x.Free()
				reflect.ValueOf(x).Elem().Set(reflect.ValueOf(y).Elem())
				if n == 2 {
					yield(2)
				}
			}
			wantPanic(t, k.name, func() { Collect(x, seq) }, "arena: Collect on a copy of arena", "never copy")
			y.Free()
		}
	}
}

// TestCollectShared: a sequence may reset the shared arena that it is collected in.
func TestCollectShared(t *testing.T) {
	a := NewShared()
	defer a.Free()
	s := Collect(a, func(yield func(string) bool) {
		if yield("one") {
			a.Reset(GiveBack)
			yield("two")
		}
	})
	if !slices.Equal(s, []string{"one", "two"}) {
		t.Errorf("%q", s)
	}
}

// TestCollectLimit: where the arena has no memory, the sequence is stopped.
func TestCollectLimit(t *testing.T) {
	a := NewWith(Options{Limit: 64 << 10})
	defer a.Free()
	yielded, stopped := 0, false
	endless := func(yield func(int64) bool) {
		defer func() { stopped = true }()
		for yield(5) {
			yielded++
		}
	}
	if v := panicOf(func() { Collect(a, endless) }); !isLimit(v) || !stopped || yielded < 1000 {
		t.Errorf("%d values, panic %v, stopped: %v", yielded, v, stopped)
	}
	a.Reset(Keep)
	if s := Collect(a, squares(a, 3)); !slices.Equal(s, []int64{0, 1, 4}) {
		t.Errorf("%v after a refusal", s)
	}
}

// TestCollectNil: a nil sequence is named as the mistake, in each kind of arena.
func TestCollectNil(t *testing.T) {
	a, shared := NewArena(), NewShared()
	defer a.Free()
	defer shared.Free()
	for _, a := range []*Arena{nil, a, shared} {
		if v := fmt.Sprint(caught(func() { Collect[int](a, nil) })); v != "arena: Collect of a nil sequence" {
			t.Errorf("Collect of nil in %s: panic %s", a.name(), v)
		}
	}
}
