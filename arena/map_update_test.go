// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/offheap"
)

func plusOne(n int, _ bool) int { return n + 1 }

// TestMapUpdate does the same to a Map and to a Go map, by each of the ways.
func TestMapUpdate(t *testing.T) {
	for name, a := range withNil() {
		rng := rand.New(rand.NewPCG(3, 4))
		m, want := NewMap[int, int](a, 0), map[int]int{}
		for i := range 5000 {
			k := rng.IntN(1000)
			old, there := want[k]
			f := func(n int, ok bool) int {
				if n != old || ok != there {
					t.Fatalf("%s: Update of %d shows %d, %v, want %d, %v", name, k, n, ok, old, there)
				}
				return n + i
			}
			switch rng.IntN(5) {
			case 0, 1:
				m.Update(k, f)
				want[k] += i
			case 2, 3:
				if !there {
					want[k] = i
				}
				if v, ok := m.GetOrSet(k, i); v != want[k] || ok != there {
					t.Fatalf("%s: GetOrSet of %d is %d, %v, want %d, %v", name, k, v, ok, want[k], there)
				}
			case 4:
				m.Delete(k)
				delete(want, k)
			}
		}
		if err := sameMap(m, want); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		a.Free()
	}
}

// TestMapUpdateTouches: whatever the function does to the Map, its result is the value afterwards,
// and no other entry suffers.
func TestMapUpdateTouches(t *testing.T) {
	for name, touch := range map[string]func(m *Map[int, int], want map[int]int){
		"grows": func(m *Map[int, int], want map[int]int) {
			for i := range 2000 {
				m.Set(1000+i, i)
				want[1000+i] = i
			}
		},
		"deletes": func(m *Map[int, int], want map[int]int) { m.Delete(5) },
		"deletes and sets another": func(m *Map[int, int], want map[int]int) {
			m.Delete(5)
			for i := range 3 { // One of them gets the slot.
				m.Set(-1-i, i)
				want[-1-i] = i
			}
		},
		"clears": func(m *Map[int, int], want map[int]int) {
			m.Clear()
			clear(want)
		},
		"clears and fills": func(m *Map[int, int], want map[int]int) {
			m.Clear()
			clear(want)
			for i := range 8 {
				m.Set(500+i, i)
				want[500+i] = i
			}
		},
		"sweeps": func(m *Map[int, int], want map[int]int) { // Tables of one size take turns.
			for i := range 5000 {
				m.Set(10_000+i, i)
				m.Delete(10_000 + i)
			}
		},
		"sets":    func(m *Map[int, int], want map[int]int) { m.Set(5, -7) },
		"updates": func(m *Map[int, int], want map[int]int) { m.Update(5, plusOne); m.Update(6, plusOne); want[6]++ },
		"looks": func(m *Map[int, int], want map[int]int) {
			for k, v := range m.All() {
				if want[k] != v {
					panic(fmt.Sprint(k, v))
				}
			}
		},
	} {
		for kind, a := range withNil() {
			for _, n := range []int{5, 6, 8, 9, 100} { // With and without an entry, and with a full table.
				m, want := NewMap[int, int](a, n), map[int]int{}
				for i := range n {
					m.Set(i, i)
					want[i] = i
				}
				m.Update(5, func(old int, ok bool) int {
					if ok != (n > 5) || ok && old != 5 {
						t.Errorf("%s, %s: %d, %v", kind, name, old, ok)
					}
					touch(m, want)
					return 77
				})
				want[5] = 77
				if err := sameMap(m, want); err != nil {
					t.Errorf("%s: a function that %s, %d entries: %v", kind, name, n, err)
				}
			}
			a.Free()
		}
	}
}

// TestMapUpdateEnds: if the function frees the Map's memory, Update panics and writes nothing.
func TestMapUpdateEnds(t *testing.T) {
	for _, k := range kinds {
		for what, end := range map[string]func(a *Arena, c Checkpoint){
			"reset":   func(a *Arena, _ Checkpoint) { a.Reset(Keep) },
			"rewound": func(a *Arena, c Checkpoint) { a.Rewind(c) },
			"freed":   func(a *Arena, _ Checkpoint) { a.Free() },
		} {
			for _, key := range []int{1, 2} { // An entry that exists, and a new one.
				a := k.make()
				c := a.Checkpoint()
				m := NewMap[int, int](a, 0)
				m.Set(1, 1)
				var later []uint64
				wantPanic(t, k.name, func() {
					m.Update(key, func(int, bool) int {
						if end(a, c); what != "freed" {
							later = MakeSlice[uint64](a, 100, 100)
						}
						return -1
					})
				}, "arena: Map.Update on", what, "_test.go:")
				for _, x := range later {
					if x != 0 {
						t.Fatalf("%s: a later value is %d", k.name, x)
					}
				}
				if what != "freed" {
					a.Free()
				}
			}
		}
	}
	m := NewMap[int, int](nil, 0)
	m.Set(1, 1)
	wantPanic(t, "a panic of the function", func() { m.Update(1, func(int, bool) int { panic("mine") }) }, "mine")
	if v, _ := m.Get(1); v != 1 || m.Len() != 1 {
		t.Errorf("after a panic: %d, %d entries", v, m.Len())
	}
}

// TestMapUpdateKeys: keys are copied, and replaced where they are equal with other bits, as Set does.
func TestMapUpdateKeys(t *testing.T) {
	a := NewArena()
	defer a.Free()
	m := NewMap[string, int](a, 0)
	buf := []byte("one")
	m.Update(bufferKey[string](buf), plusOne)
	copy(buf, "two")
	m.GetOrSet(bufferKey[string](buf), 7)
	copy(buf, "xyz")
	if err := sameMap(m, map[string]int{"one": 1, "two": 7}); err != nil {
		t.Error(err)
	}
	f := NewMap[float64, int](a, 0)
	minus := math.Copysign(0, -1)
	f.Set(0, 1)
	f.Update(minus, plusOne)
	for k, v := range f.All() {
		if v != 2 || !math.Signbit(k) {
			t.Errorf("%v: %d, want -0: 2", k, v)
		}
	}
	for range 3 {
		f.Update(math.NaN(), plusOne)
		if v, ok := f.GetOrSet(math.NaN(), 5); ok || v != 5 {
			t.Errorf("NaN: %d, %v", v, ok)
		}
	}
	if f.Len() != 7 {
		t.Errorf("%d entries, want 7", f.Len())
	}
	d := NewMap[[2]string, []string](a, 0)
	d.Update([2]string{"a", "b"}, func(list []string, _ bool) []string { return Append(a, list, "x") })
	d.Update([2]string{"a", "b"}, func(list []string, _ bool) []string { return Append(a, list, "y") })
	if v, _ := d.Get([2]string{"a", "b"}); strings.Join(v, "") != "xy" {
		t.Errorf("%q", v)
	}
}

// TestMapUpdateLimit: without memory for a new entry the Map is as the function left it.
func TestMapUpdateLimit(t *testing.T) {
	a := NewWith(Options{Limit: 64 << 10})
	defer a.Free()
	m := NewMap[string, int](a, 0)
	m.Set("x", 1)
	long := strings.Repeat("x", 1<<20)
	calls := 0
	if err := Try(func() { m.Update(long, func(n int, ok bool) int { calls++; return 5 }) }); !errors.Is(err, offheap.ErrLimit) || calls != 1 {
		t.Errorf("Update: %v after %d calls", err, calls)
	}
	if err := Try(func() { m.GetOrSet(long, 5) }); !errors.Is(err, offheap.ErrLimit) {
		t.Errorf("GetOrSet: %v", err)
	}
	if v := panicOf(func() { m.GetOrSet(long, 5) }); !isLimit(v) {
		t.Errorf("GetOrSet: %v", v)
	}
	if err := sameMap(m, map[string]int{"x": 1}); err != nil {
		t.Error(err)
	}
}
