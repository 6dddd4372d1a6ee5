// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/freehold-go/freehold/offheap"
)

// sameMap says where m differs from a Go map whose keys are equal to themselves.
func sameMap[K comparable, V comparable](m *Map[K, V], want map[K]V) error {
	if m.Len() != len(want) {
		return mismatch("Len", m.Len(), len(want))
	}
	for k, v := range want {
		if got, ok := m.Get(k); !ok || got != v {
			return fmt.Errorf("key %v: %v, %v, want %v", k, got, ok, v)
		}
	}
	seen := map[K]V{}
	for k, v := range m.All() {
		if _, twice := seen[k]; twice {
			return fmt.Errorf("key %v comes twice", k)
		}
		seen[k] = v
	}
	if !maps.Equal(seen, want) {
		return mismatch("All", seen, want)
	}
	if n := len(slices.Collect(m.Keys())); n != len(want) {
		return mismatch("the number of Keys", n, len(want))
	}
	if n := len(slices.Collect(m.Values())); n != len(want) {
		return mismatch("the number of Values", n, len(want))
	}
	return nil
}

// playMap does to a Map and to a Go map what bytes say, and compares. Each operation is two bytes.
func playMap[K comparable, V comparable](a *Arena, ops []byte, key func(byte) K, value func(byte) V) error {
	m, want := NewMap[K, V](a, 0), map[K]V{}
	for len(ops) >= 2 {
		op, x := ops[0], ops[1]
		ops = ops[2:]
		k, v := key(x), value(op^x)
		switch op % 8 {
		case 0, 1, 2:
			m.Set(k, v)
			want[k] = v
		case 3, 4:
			_, there := want[k]
			if m.Delete(k) != there {
				return fmt.Errorf("Delete(%v) says %v", k, !there)
			}
			delete(want, k)
		case 5:
			got, ok := m.Get(k)
			if v, there := want[k]; ok != there || got != v {
				return fmt.Errorf("Get(%v) is %v, %v, want %v, %v", k, got, ok, v, there)
			}
		case 6:
			if err := playLoop(m, want, x, key, value); err != nil {
				return err
			}
		case 7:
			if x < 16 {
				m.Clear()
				clear(want)
			} else if x < 32 {
				m, want = NewMap[K, V](a, int(x)), map[K]V{}
			} else if x == 48 {
				runtime.GC()
			}
		}
	}
	return sameMap(m, want)
}

// playLoop changes both maps in a loop over the one, and checks what the loop promises.
func playLoop[K comparable, V comparable](m *Map[K, V], want map[K]V, x byte, key func(byte) K, value func(byte) V) error {
	before, removed, seen := maps.Clone(want), map[K]bool{}, map[K]bool{}
	steps := 0
	for k, v := range m.All() {
		if w, ok := want[k]; !ok || w != v {
			return fmt.Errorf("a loop gives %v: %v, want %v, %v", k, v, w, ok)
		}
		if seen[k] && !removed[k] {
			return fmt.Errorf("a loop gives %v twice", k)
		}
		seen[k] = true
		if steps++; steps > int(x) && x < 128 {
			return nil
		}
		y := x*31 + byte(steps)*17
		switch other := key(y); y % 4 {
		case 0, 1: // Grows it, or changes an entry.
			m.Set(other, value(y))
			want[other] = value(y)
		case 2:
			m.Delete(other)
			delete(want, other)
			removed[other] = true
		case 3:
			if y > 250 {
				m.Clear()
				clear(want)
				for k := range before {
					removed[k] = true
				}
			}
		}
	}
	for k := range before {
		if !seen[k] && !removed[k] {
			return fmt.Errorf("a loop over %d entries left out %v", len(before), k)
		}
	}
	return nil
}

type pair struct {
	name string
	n    int16
	also [2]string
}

type padded struct {
	a byte
	b int32
	_ int16
	c byte
}

// playAll plays with keys and values of many types.
func playAll(a *Arena, ops []byte, pointers bool) error {
	number := func(b byte) int64 { return int64(b) * 1e15 }
	errs := []error{
		playMap(a, ops, number, number),
		playMap(a, ops, func(b byte) byte { return b }, func(b byte) struct{} { return struct{}{} }),
		playMap(a, ops, func(b byte) [3]int16 { return [3]int16{int16(b)} }, func(b byte) odd { return odd{b, b, b} }),
		playMap(a, ops, func(b byte) float64 { return float64(b%16) / 4 * float64(int(b%2)*2-1) }, func(b byte) int { return int(b) }),
		playMap(a, ops, func(b byte) struct{} { return struct{}{} }, func(b byte) [0]int { return [0]int{} }),
		playMap(a, ops, func(b byte) padded { return padded{a: b, b: 1, c: b} }, func(b byte) [40]int { return [40]int{int(b)} }),
	}
	if pointers {
		targets := make([]node, 256)
		errs = append(errs,
			playMap(a, ops, func(b byte) string { return strings.Repeat("x", int(b%50)) + string(rune(b)) }, number),
			playMap(a, ops, func(b byte) pair {
				return pair{fmt.Sprint(b), int16(b), [2]string{"", fmt.Sprint(b, b)}}
			}, func(b byte) *string { return &targets[b].name }),
			playMap(a, ops, func(b byte) *node { return &targets[b] }, func(b byte) bool { return b%2 == 0 }),
			playMap(a, ops, func(b byte) any {
				return [...]any{int(b), fmt.Sprint(b), float64(b), pair{n: int16(b)}, nil}[b%5]
			}, func(b byte) any { return b }),
			playMap(a, ops, func(b byte) int { return int(b % 2) }, func(b byte) bool { return b > 7 }),
		)
	}
	return errors.Join(errs...)
}

func TestMapModel(t *testing.T) {
	rounds := 6
	if testing.Short() {
		rounds = 2
	}
	for _, k := range append(kinds[:len(kinds):len(kinds)], struct {
		name     string
		make     func() *Arena
		pointers bool
	}{"nil", func() *Arena { return nil }, true}) {
		rng := rand.New(rand.NewPCG(1, 2))
		a := k.make()
		for range rounds {
			ops := make([]byte, 2*rng.IntN(1500))
			for i := range ops {
				ops[i] = byte(rng.Uint32())
				if i%2 == 1 && len(ops)%3 == 0 {
					ops[i] %= 80 // Few keys: much is removed and set again.
				}
			}
			if err := playAll(a, ops, k.pointers); err != nil {
				t.Fatalf("%s, %d operations: %v", k.name, len(ops)/2, err)
			}
			a.Reset(Keep)
		}
		a.Free()
	}
}

func FuzzMap(f *testing.F) {
	f.Add([]byte("0a1b2c6d0e1f2g3a3b3c6z7!"))
	f.Add([]byte{0, 1, 0, 2, 6, 200, 3, 1, 7, 1, 6, 255})
	f.Fuzz(func(t *testing.T, ops []byte) {
		if len(ops) > 4000 {
			return
		}
		a := NewArena()
		defer a.Free()
		if err := playAll(a, ops, true); err != nil {
			t.Fatal(err)
		}
	})
}

func TestMapLarge(t *testing.T) {
	a := NewArena()
	defer a.Free()
	const n = 200_000
	for _, stride := range []int64{1, 8, 1 << 12, 1 << 20, 1 << 40} {
		m := NewMap[int64, int64](a, 0)
		for i := range int64(n) {
			m.Set(i*stride, i)
		}
		probes := 0
		for i := range int64(n) {
			if v, ok := m.Get(i * stride); !ok || v != i {
				t.Fatalf("stride %d: entry %d is %d, %v", stride, i, v, ok)
			}
			h := m.hash(i * stride)
			at := m.t.home(h)
			for ; m.t.ctrl[at]&fullBits == fullBits && probes < 10*n; at = (at + 1) & (len(m.t.ctrl) - 1) {
				probes++
			}
		}
		if probes > 2*n { // Of 200 Maps each needed 1.1 to 1.3.
			t.Errorf("stride %d: a search for a key goes through %.1f full groups or more", stride, float64(probes)/n)
		}
		a.Reset(Keep)
	}
}

// TestMapSpread: whatever numbers a Map drew for its hashes, keys in a row collide no more than others do. It
// fills a table to three quarters, one slot at a time, for which theory expects 1.5 occupied slots before each key's.
func TestMapSpread(t *testing.T) {
	const n, slots = 3 << 13, 4 << 13
	for _, stride := range []uint64{1, 8, 4096, 1 << 32} {
		for range 50 {
			var h hasher
			h.init()
			used, probes := make([]bool, slots), 0
			for i := range uint64(n) {
				at := h.word(i*stride) / (1 << 64 / slots)
				for used[at] && probes < 10*n {
					at = (at + 1) % slots
					probes++
				}
				used[at] = true
			}
			if probes > 3*n {
				t.Errorf("stride %d: a key passes %.1f occupied slots or more", stride, float64(probes)/n)
			}
		}
	}
}

// TestMapBigValues: the first table is small, and the map is not much larger than what it holds.
func TestMapBigValues(t *testing.T) {
	type big = [4096]byte
	for _, k := range kinds[:3] {
		a := k.make()
		m := NewMap[uint64, big](a, 0)
		v := new(big)
		for i := range 5 {
			v[i*800] = byte(i + 1)
			m.Set(uint64(i), *v)
		}
		if !chunkless() && a.Stats().InUse > 20*int64(len(v)) {
			t.Errorf("%s: five values of %d bytes take %d", k.name, len(v), a.Stats().InUse)
		}
		for i := range 5 {
			got, ok := m.Get(uint64(i))
			if !ok || got[i*800] != byte(i+1) || got[i*800+1] != 0 {
				t.Errorf("%s: value %d is wrong", k.name, i)
			}
		}
		a.Free()
	}
}

// TestMapChurn: a map that loses as much as it gains takes no more memory.
func TestMapChurn(t *testing.T) {
	for _, loops := range []bool{false, true} {
		a := NewArena()
		m := NewMap[int, *int](a, 0)
		v := new(int)
		next, stop := iter.Pull2(m.All())
		if loops { // One that is never finished.
			m.Set(-1, v)
			next, stop = iter.Pull2(m.All())
			next()
		}
		var after int64
		for i := range 50_000 {
			m.Set(i, v)
			m.Delete(i - 1000)
			if i == 10_000 {
				after = a.Stats().InUse
			}
		}
		if got := a.Stats().InUse; got > after+after/2+40<<10 && !chunkless() {
			t.Errorf("loops %v: %d bytes after 50,000 entries in turn, %d after 10,000", loops, got, after)
		}
		stop()
		a.Free()
	}
}

func TestMapHint(t *testing.T) {
	a := NewArena()
	defer a.Free()
	for _, n := range []int{1, 3, 8, 9, 14, 15, 1000, 1792, 1793} {
		m := NewMap[int64, int64](a, n)
		held := a.Stats().InUse
		for i := range n {
			m.Set(int64(i), 1)
		}
		if got := a.Stats().InUse; got != held {
			t.Errorf("%d entries after a hint of as many: %d bytes more", n, got-held)
		}
	}
	if err, ok := caught(func() { NewMap[int, int](a, -5) }).(error); !ok || !strings.Contains(err.Error(), "-5") {
		t.Errorf("a negative hint: %v", err)
	}
	if _, err := tryNewMap[int, int](a, math.MaxInt); !errors.Is(err, offheap.ErrOutOfMemory) {
		t.Errorf("a hint of MaxInt: %v", err)
	}
	if _, err := tryNewMap[struct{}, [0]int](a, math.MaxInt); !errors.Is(err, offheap.ErrOutOfMemory) {
		t.Errorf("a hint of MaxInt of nothing: %v", err)
	}
}

// TestMapReaders: many goroutines may iterate at once, as over a Go map. The race detector watches.
func TestMapReaders(t *testing.T) {
	a := NewArena()
	defer a.Free()
	m := NewMap[int, int](a, 0)
	for i := range 100 {
		m.Set(i, i)
	}
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for range 20 {
				n := 0
				for k := range m.Keys() {
					if _, ok := m.Get(k); ok {
						n++
					}
				}
				if n != 100 {
					t.Errorf("%d of 100 keys", n)
				}
			}
		})
	}
	readers.Wait()
	if n := m.loops.state.Load(); n != 0 {
		t.Errorf("after all iterations the state is %#x", n)
	}
}

// TestMapNoSize: keys and values without a size make at most one entry, whatever the hint.
func TestMapNoSize(t *testing.T) {
	for hint := range 70 {
		m := NewMap[struct{}, [0]int](NewArena(), hint)
		for range 3 {
			m.Set(struct{}{}, [0]int{})
			if _, ok := m.Get(struct{}{}); !ok || m.Len() != 1 || !m.Delete(struct{}{}) {
				t.Fatalf("hint %d: the entry is not there", hint)
			}
			if _, ok := m.Get(struct{}{}); ok || m.Len() != 0 || m.Delete(struct{}{}) {
				t.Fatalf("hint %d: the entry is still there", hint)
			}
			for range m.All() {
				t.Fatalf("hint %d: an empty Map has an entry", hint)
			}
		}
	}
}
