// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/freehold-go/freehold/offheap"
)

func newMap[K comparable, V any](t *testing.T, o MapOptions) *Map[K, V] {
	t.Helper()
	m, err := NewMap[K, V](o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// TestMapModel compares a Map with Go's while both grow, shrink and grow again.
func TestMapModel(t *testing.T) {
	m := newMap[string, uint64](t, MapOptions{Limit: 8 << 20})
	want := map[string]uint64{}
	r := rand.New(rand.NewPCG(1, 5))
	step := func(k string) {
		v, had := want[k]
		switch r.IntN(4) {
		case 0:
			if got, ok := m.Get(k); ok != had || got != v {
				t.Fatalf("Get(%s) is %d, %v, not %d, %v", k, got, ok, v, had)
			}
		case 1:
			n := r.Uint64()
			if err := m.Set(k, n); err != nil {
				t.Fatal(err)
			}
			want[k] = n
		case 2:
			err := m.Update(k, func(old uint64, ok bool) (uint64, Op) {
				if ok != had || old != v {
					t.Fatalf("Update(%s) got %d, %v, not %d, %v", k, old, ok, v, had)
				}
				switch old % 3 {
				case 0:
					want[k] = old + 1
					return old + 1, Store
				case 1:
					return 0, Keep
				}
				delete(want, k)
				return 0, Remove
			})
			if err != nil {
				t.Fatal(err)
			}
		default:
			if got := m.Delete(k); got != had {
				t.Fatalf("Delete(%s) is %v", k, got)
			}
			delete(want, k)
		}
	}
	same := func() {
		t.Helper()
		m.e.verify(t)
		got := map[string]uint64{}
		for k, v := range m.All() {
			if _, twice := got[k]; twice {
				t.Fatalf("All yields %s twice", k)
			}
			got[k] = v
		}
		if !maps.Equal(got, want) || m.Len() != len(want) {
			t.Fatalf("%d entries, Len is %d, the model has %d", len(got), m.Len(), len(want))
		}
	}
	rounds, each := 3, 50000
	if testing.Short() {
		rounds, each = 2, 8000
	}
	for round := range rounds {
		for i := range each {
			k := fmt.Sprint("key ", round, i)
			if err := m.Set(k, uint64(i)); err != nil {
				t.Fatal(err)
			}
			want[k] = uint64(i)
			step(fmt.Sprint("key ", round, r.IntN(each)))
		}
		same()
		full := m.Stats().BytesHeld
		for k := range want {
			if r.IntN(20) > 0 {
				if !m.Delete(k) {
					t.Fatalf("%s is not there", k)
				}
				delete(want, k)
			}
		}
		same()
		if s := m.Stats(); s.Evicted != 0 || s.BytesHeld > full/3+512<<10 {
			t.Fatalf("%d bytes are held of %d, with %d entries of %d: %+v", s.BytesHeld, full, len(want), each, s)
		}
	}
	m.Clear()
	clear(want)
	same()
	if n := m.Stats().BytesHeld; n > 1<<20 {
		t.Errorf("%d bytes are held after Clear", n)
	}
}

// TestMapChains: entries of one home go to a chain, and nothing is lost while the table grows and shrinks.
func TestMapChains(t *testing.T) {
	m := newMap[uint64, uint64](t, MapOptions{Limit: 4 << 20})
	n := uint64(0)
	grow := func(most uint64) {
		for ; n < most; n++ {
			if err := m.Set(n, n); err != nil {
				t.Fatal(err)
			}
		}
	}
	most := uint64(60000)
	if testing.Short() {
		most = 15000
	}
	grow(most)
	m.e.verify(t)
	used := 0
	for _, page := range m.e.chainPages {
		used += len(page) / bucketWords
	}
	if used -= len(m.e.chains.free); used == 0 {
		t.Error("no chain")
	}
	for i := range n {
		if v, ok := m.Get(i); !ok || v != i {
			t.Fatalf("%d: %d, %v", i, v, ok)
		}
	}
	for i := range n - 10 {
		if !m.Delete(i) {
			t.Fatalf("%d is not there", i)
		}
	}
	m.e.verify(t)
	for i := range n {
		if v, ok := m.Get(i); ok != (i >= n-10) || ok && v != i {
			t.Fatalf("%d: %d, %v", i, v, ok)
		}
	}
	// A table that cannot grow.
	m.e.mu.Lock()
	m.e.budget.Store(m.e.held)
	m.e.mu.Unlock()
	for i := range most {
		if err := m.Set(n+i, 1); err != nil {
			if !errors.Is(err, offheap.ErrLimit) {
				t.Fatal(err)
			}
			break
		}
	}
	m.e.verify(t)
}

// TestMapLimit: at the limit Set fails, and no entry changes. After deletions there is room again.
func TestMapLimit(t *testing.T) {
	m := newMap[uint64, [8]uint64](t, MapOptions{Limit: 1 << 20, Name: "limit"})
	fill := func() (n uint64) {
		for ; ; n++ {
			if err := m.Set(n, [8]uint64{n}); err != nil {
				if !errors.Is(err, offheap.ErrLimit) {
					t.Fatal(err)
				}
				return n
			}
		}
	}
	n := fill()
	if n < 6000 {
		t.Errorf("%d entries of 72 bytes in 1 MiB", n)
	}
	check := func(from, to uint64) {
		t.Helper()
		for i := from; i < to; i++ {
			if v, ok := m.Get(i); !ok || v[0]%n != i {
				t.Fatalf("%d: %v, %v", i, v[0], ok)
			}
		}
		m.e.verify(t)
	}
	check(0, n)
	if err := m.Set(5, [8]uint64{5 + n}); err != nil { // It lies where it lay.
		t.Error(err)
	}
	if err := m.Update(6, func(old [8]uint64, ok bool) ([8]uint64, Op) { return [8]uint64{6 + n}, Store }); err != nil {
		t.Error(err)
	}
	if err := m.Update(n, func(old [8]uint64, ok bool) ([8]uint64, Op) { return [8]uint64{}, Store }); !errors.Is(err, offheap.ErrLimit) {
		t.Error(err)
	}
	check(0, n)
	for i := uint64(0); i < n; i += 3 {
		m.Delete(i)
	}
	m.e.verify(t)
	again := uint64(0)
	for ; again < n && m.Set(again, [8]uint64{again}) == nil; again += 3 {
	}
	if again < n*19/20 {
		t.Errorf("room for %d entries of %d", again, n)
	}
	check(0, again)
	if h := m.Stats().BytesHeld; h > 1<<20 {
		t.Errorf("%d bytes held", h)
	}
}

// TestMapLarge: values that have memory of their own give it back.
func TestMapLarge(t *testing.T) {
	m := newMap[int, [10000]uint64](t, MapOptions{Limit: 4 << 20})
	for i := range 1000 {
		if err := m.Set(i, [10000]uint64{uint64(i)}); err != nil {
			t.Fatalf("%d: %v", i, err)
		}
		if i >= 20 && !m.Delete(i-20) {
			t.Fatal(i)
		}
	}
	m.e.verify(t)
	for i := 980; i < 1000; i++ {
		if v, ok := m.Get(i); !ok || v[0] != uint64(i) {
			t.Fatal(i, v[0], ok)
		}
	}
}

func TestMapRefuses(t *testing.T) {
	if _, err := NewMap[string, *int](MapOptions{}); err == nil {
		t.Error("values with pointers")
	}
	if _, err := NewMap[[2]byte, int](MapOptions{}); err != nil {
		t.Error(err)
	}
	for _, limit := range []int64{-1, 1000, mostBytes + 1} {
		if _, err := NewMap[string, int](MapOptions{Limit: limit}); err == nil {
			t.Errorf("limit %d", limit)
		}
	}
	m := newMap[float64, int](t, MapOptions{})
	if err := m.Set(math.NaN(), 1); !errors.Is(err, ErrNaN) {
		t.Error(err)
	}
	s := newMap[string, int](t, MapOptions{})
	if err := s.Set("", 1); !errors.Is(err, ErrSize) {
		t.Error(err)
	}
	s.Close()
	if err := s.Set("a", 1); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if _, ok := s.Get("a"); ok || s.Delete("a") || s.Len() != 0 {
		t.Error("closed: found")
	}
	s.Clear()
}

// TestMapParallel: goroutines each have keys of their own, and lose none of them.
func TestMapParallel(t *testing.T) {
	m := newMap[uint64, uint64](t, MapOptions{})
	rounds, each := 3, uint64(8000)
	if testing.Short() {
		rounds, each = 2, 2000
	}
	var wg sync.WaitGroup
	for g := range uint64(5) {
		wg.Go(func() {
			for range rounds {
				for i := range each {
					k := g<<32 | i
					if err := m.Set(k, k); err != nil {
						t.Error(err)
					}
					if err := m.Update(9<<32|i%7, func(old uint64, _ bool) (uint64, Op) { return old + 1, Store }); err != nil {
						t.Error(err)
					}
				}
				for i := range each {
					k := g<<32 | i
					if v, ok := m.Get(k); !ok || v != k {
						t.Errorf("%x: %x, %v", k, v, ok)
					}
					if i%10 > 0 && !m.Delete(k) {
						t.Errorf("%x is not there", k)
					}
				}
			}
		})
	}
	for range 10 {
		for k, v := range m.All() {
			if k>>32 < 9 && k != v {
				t.Errorf("%x: %x", k, v)
			}
		}
	}
	wg.Wait()
	m.e.verify(t)
	sum := uint64(0)
	for i := range uint64(7) {
		v, _ := m.Get(9<<32 | i)
		sum += v
	}
	if want := 5 * uint64(rounds) * each; sum != want || m.Len() != 7+5*int(each/10) {
		t.Errorf("%d updates, not %d; %d entries", sum, want, m.Len())
	}
}

// TestMapDropped: a map without Close returns its memory.
func TestMapDropped(t *testing.T) {
	func() {
		m, err := NewMap[string, int](MapOptions{Name: "dropped map"})
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Set("a", 1); err != nil || purposeBytes("cache dropped map") == 0 {
			t.Fatal("nothing is held", err)
		}
	}()
	waitFreed(t, "cache dropped map")
}

func purposeBytes(name string) (n int64) {
	for _, p := range offheap.ReadStats().Purposes {
		if p.Name == name {
			n += p.InUse
		}
	}
	return n
}

func waitFreed(t *testing.T, name string) {
	t.Helper()
	for i := 0; purposeBytes(name) != 0; i++ {
		if i == 1000 {
			t.Fatalf("%d bytes are held", purposeBytes(name))
		}
		runtime.GC()
	}
}
