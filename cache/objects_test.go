// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

type thing struct {
	key  int
	text string
	more *thing
}

func newObjects[K comparable, V any](t *testing.T, o OptionsOf[K, *V]) *Objects[K, V] {
	t.Helper()
	if o.Bytes == 0 {
		o.Bytes = 1 << 20
	}
	c, err := NewObjects(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// count counts the pointers that are not nil.
func (p *pointers[V]) count() (n int) {
	for _, s := range *p.of.Load() {
		for _, v := range s {
			if v != nil {
				n++
			}
		}
	}
	return n
}

func TestObjects(t *testing.T) {
	var left []string
	c := newObjects(t, OptionsOf[string, *thing]{OnRemove: func(k string, v *thing, why Reason) {
		left = append(left, fmt.Sprint(k, v.key, why))
	}})
	one, two := &thing{key: 1}, &thing{key: 2}
	for _, v := range []*thing{one, two} {
		if err := c.Set("a", v); err != nil {
			t.Fatal(err)
		}
		if got, ok := c.Get("a"); !ok || got != v {
			t.Fatalf("%v, %v", got, ok)
		}
	}
	if err := c.Update("a", func(old *thing, ok bool) (*thing, Op) {
		if !ok || old != two {
			t.Errorf("Update got %v, %v", old, ok)
		}
		return &thing{key: 3, more: old}, Store
	}); err != nil {
		t.Fatal(err)
	}
	c.Set("b", one)
	for k, v := range c.All() {
		if k == "a" && v.more != two || k == "b" && v != one {
			t.Error(k, v)
		}
	}
	if !c.Delete("b") || c.Delete("b") {
		t.Error("Delete")
	}
	c.Update("a", func(*thing, bool) (*thing, Op) { return nil, Remove })
	if got := fmt.Sprint(left); got != "[a1 replaced a2 replaced b1 deleted a3 deleted]" {
		t.Error(got)
	}
	if _, ok := c.Get("a"); ok || c.Len() != 0 || c.pointers.count() != 0 || c.Stats().Weight != 0 {
		t.Errorf("%d pointers are left, %+v", c.pointers.count(), c.Stats())
	}
	v, err := c.GetOrLoad(t.Context(), "c", func(context.Context, string) (*thing, error) { return two, nil })
	if v != two || err != nil {
		t.Error(v, err)
	}
	if got, ok := c.Get("c"); !ok || got != two {
		t.Error(got, ok)
	}
	fail := errors.New("down")
	if v, err := c.GetOrLoad(t.Context(), "d", func(context.Context, string) (*thing, error) { return one, fail }); v != nil || err != fail {
		t.Error(v, err)
	}
	late := func(context.Context, string) (*thing, error) { return two, c.Set("e", one) } // The Set wins.
	if v, err := c.GetOrLoad(t.Context(), "e", late); v != two || err != nil {
		t.Error(v, err)
	}
	if v, _ := c.Get("e"); v != one || c.pointers.count() != c.Len() {
		t.Errorf("%v, %d pointers for %d entries", v, c.pointers.count(), c.Len())
	}
	if n := testing.AllocsPerRun(100, func() {
		c.Get("c")
		c.GetOrLoad(context.Background(), "c", nil)
	}); n != 0 {
		t.Errorf("hits allocate %v times", n)
	}
}

func TestObjectsExpire(t *testing.T) {
	var ms atomic.Int64
	began := time.Now()
	c := newObjects(t, OptionsOf[int, *thing]{Options: Options{
		TTL: time.Minute, NegativeTTL: time.Second, Stale: time.Hour,
		Clock: func() time.Time { return began.Add(time.Duration(ms.Load()) * time.Millisecond) },
	}})
	v := &thing{}
	c.Set(1, v)
	c.SetTTL(2, v, time.Second)
	calls := 0
	miss := func(context.Context, int) (*thing, error) { calls++; return nil, ErrNotFound }
	for range 3 {
		if got, err := c.GetOrLoad(t.Context(), 3, miss); got != nil || !errors.Is(err, ErrNotFound) {
			t.Error(got, err)
		}
	}
	if calls != 1 {
		t.Errorf("%d loads", calls)
	}
	ms.Add(2000)
	if _, ok := c.Get(2); ok {
		t.Error("expired")
	}
	ms.Add(60000)
	if _, ok := c.Get(1); ok {
		t.Error("expired")
	}
	fail := errors.New("down")
	if got, err := c.GetOrLoad(t.Context(), 1, func(context.Context, int) (*thing, error) { return nil, fail }); got != v || err != nil {
		t.Error("stale:", got, err)
	}
	ms.Add(1 << 30)
	c.e.lockAll() // It does not visit open segments.
	c.e.unlockAll()
	for !c.e.sweepPiece() {
	}
	c.e.verify(t)
	if c.Len() != 0 || c.pointers.count() != 0 || c.Stats().Weight != 0 {
		t.Errorf("%d pointers are left, %+v", c.pointers.count(), c.Stats())
	}
}

// TestObjectsWeight: Bytes bounds the weights, whatever they are.
func TestObjectsWeight(t *testing.T) {
	steps := 40000
	if testing.Short() {
		steps = 12000
	}
	for _, c := range []struct {
		weigh  func(r *rand.Rand) int
		evicts bool // Whatever the hash is: light values may all find room.
	}{
		{func(*rand.Rand) int { return 100 }, !testing.Short()},
		{func(*rand.Rand) int { return 1 << 17 }, true},
		{func(r *rand.Rand) int { return r.IntN(1 << 17) }, true},
		{func(r *rand.Rand) int { return r.IntN(500) - 100 }, !testing.Short()},
	} {
		weigh, evicts := c.weigh, c.evicts
		r := rand.New(rand.NewPCG(1, 9))
		c := newObjects(t, OptionsOf[string, *thing]{Weight: func(v *thing) int { return v.key }})
		for i := range steps {
			k := fmt.Sprint(int(r.ExpFloat64() * 4000))
			if i%500 == 0 {
				k += string(make([]byte, 3000)) // An entry of its own.
			}
			switch r.IntN(8) {
			case 0:
				c.Delete(k)
			case 1:
				c.Get(k)
			default:
				if err := c.Set(k, &thing{key: weigh(r), text: k}); err != nil {
					t.Fatal(err)
				}
				if v, ok := c.Get(k); !ok || v.text != k {
					t.Fatalf("%s: %v, %v", k, v, ok)
				}
			}
			if n := c.e.weight.Load(); n > 1<<20 {
				t.Fatalf("a weight of %d", n)
			}
		}
		c.e.verify(t)
		s := c.Stats()
		if c.pointers.count() != c.Len() || s.BytesHeld > 4<<20 || evicts && s.Evicted == 0 {
			t.Errorf("%d pointers, %+v", c.pointers.count(), s)
		}
		if !testing.Short() && weigh(r) == 100 && s.Weight < s.Bytes*8/10 {
			t.Errorf("%+v", s)
		}
		if err := c.Set("a", &thing{key: 1<<17 + 1}); !errors.Is(err, ErrSize) {
			t.Error(err)
		}
		c.Clear()
		c.e.verify(t)
		if c.pointers.count() != 0 || c.Stats().Weight != 0 {
			t.Errorf("%d pointers are left, %+v", c.pointers.count(), c.Stats())
		}
	}
}

// TestObjectsResize: the weights, and the memory off the heap, become less.
func TestObjectsResize(t *testing.T) {
	c := newObjects(t, OptionsOf[int, *int]{Options: Options{Bytes: 8 << 20}, Weight: func(*int) int { return 100 }})
	n := 100000
	if testing.Short() {
		n = 30000
	}
	for i := range n {
		if err := c.Set(i, &i); err != nil {
			t.Fatal(err)
		}
	}
	before := c.Stats()
	if err := c.Resize(1<<20 - 1); err == nil {
		t.Error("no error")
	}
	if err := c.Resize(1 << 20); err != nil {
		t.Fatal(err)
	}
	c.e.verify(t)
	if s := c.Stats(); s.Weight > 1<<20 || s.BytesHeld > before.BytesHeld*2/3 {
		t.Errorf("%+v after %+v", s, before)
	}
	if c.pointers.count() != c.Len() {
		t.Errorf("%d pointers for %d entries", c.pointers.count(), c.Len())
	}
	for k, v := range c.All() {
		if k != *v {
			t.Fatal(k, *v)
		}
	}
}

// TestObjectsParallel: no goroutine sees the object of another key.
func TestObjectsParallel(t *testing.T) {
	c := newObjects(t, OptionsOf[int, *thing]{Weight: func(*thing) int { return 1000 }})
	steps := 20000
	if testing.Short() {
		steps = 5000
	}
	var wg sync.WaitGroup
	for g := range uint64(6) {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(g, 4))
			for range steps {
				k := int(r.ExpFloat64() * 800)
				switch r.IntN(6) {
				case 0, 1:
					_ = c.Set(k, &thing{key: k})
				case 2:
					c.Delete(k)
				case 3:
					v, err := c.GetOrLoad(t.Context(), k, func(context.Context, int) (*thing, error) { return &thing{key: k}, nil })
					if err != nil || v.key != k {
						t.Error(k, v, err)
					}
				case 4:
					_ = c.Update(k, func(old *thing, ok bool) (*thing, Op) {
						if ok && old.key != k {
							t.Error(k, old)
						}
						return &thing{key: k}, Store
					})
				default:
					if v, ok := c.Get(k); ok && (v == nil || v.key != k) {
						t.Error(k, v)
					}
				}
			}
		})
	}
	for i := range int64(20) {
		if err := c.Resize((1 + i%3) << 20); err != nil {
			t.Error(err)
		}
		for k, v := range c.All() {
			if v == nil || v.key != k {
				t.Error(k, v)
			}
		}
	}
	wg.Wait()
	c.e.verify(t)
	if c.pointers.count() != c.Len() {
		t.Errorf("%d pointers for %d entries", c.pointers.count(), c.Len())
	}
	c.Close()
	if n := c.Stats().BytesHeld; n != 0 || c.pointers.count() != 0 {
		t.Errorf("%d bytes held, %d pointers after Close", n, c.pointers.count())
	}
}

// TestObjectsFreed: the collector frees objects that have left, and all of a cache that is dropped, also if they lead
// to it.
func TestObjectsFreed(t *testing.T) {
	type node struct{ c *Objects[int, node] }
	freed := new(atomic.Int64)
	wait := func(n int64) {
		t.Helper()
		for i := 0; freed.Load() != n; i++ {
			if i == 1000 {
				t.Fatalf("%d of %d objects are freed", freed.Load(), n)
			}
			runtime.GC()
		}
	}
	func() {
		c, err := NewObjects(OptionsOf[int, *node]{Options: Options{Bytes: 1 << 20, Name: "dropped objects", TTL: time.Hour}})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 300 {
			v := &node{c}
			runtime.AddCleanup(v, func(n *atomic.Int64) { n.Add(1) }, freed)
			if err := c.Set(i%200, v); err != nil {
				t.Fatal(err)
			}
		}
		wait(100)
		for i := range 50 {
			c.Delete(i)
		}
		wait(150)
		if c.Len() != 150 {
			t.Fatal(c.Len())
		}
	}()
	wait(300)
	waitFreed(t, "cache dropped objects")
}

func TestObjectsRefuse(t *testing.T) {
	o := Options{Bytes: 1 << 20}
	if _, err := NewObjects(OptionsOf[*int, *int]{Options: o}); err == nil {
		t.Error("keys with pointers")
	}
	if _, err := NewObjects(OptionsOf[int, *int]{}); err == nil {
		t.Error("no budget")
	}
	if _, err := NewValues(OptionsOf[int, int]{Options: o, Weight: func(int) int { return 1 }}); err == nil {
		t.Error("Weight of Values")
	}
	o.OnRemove = func(_, _ []byte, _ Reason) {}
	if _, err := NewObjects(OptionsOf[int, *int]{Options: o}); err == nil {
		t.Error("OnRemove for bytes")
	}
	c := newObjects(t, OptionsOf[string, *int]{})
	if err := c.Set("", nil); !errors.Is(err, ErrSize) {
		t.Error(err)
	}
	if err := c.Set("nil", nil); err != nil {
		t.Error(err)
	}
	if v, ok := c.Get("nil"); v != nil || !ok {
		t.Error(v, ok)
	}
	c.Close()
	if err := c.Set("a", nil); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if _, ok := c.Get("nil"); ok || c.Delete("nil") || c.Len() != 0 {
		t.Error("closed: found")
	}
	c.Clear()
}
