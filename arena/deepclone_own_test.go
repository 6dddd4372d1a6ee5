// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"errors"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/offheap"
)

// catalogue has Maps in all places that a value can have one.
type catalogue struct {
	name   string
	byName *Map[string, *catalogue]
	counts *Map[int, int]
	same   *Map[int, int]
	list   []*Map[string, string]
	any    any
	inMap  map[string]*Map[int, int]
	array  [6]*Map[int, int]
}

func newCatalogue(a *Arena) *catalogue {
	c := &catalogue{name: String(a, "root"), byName: NewMap[string, *catalogue](a, 0), counts: NewMap[int, int](a, 0)}
	for i := range 100 {
		c.counts.Set(i, -i)
	}
	c.same = c.counts
	c.byName.Set("leaf", &catalogue{name: String(a, "leaf")})
	c.byName.Set("up", c) // a cycle through the Map
	texts := NewMap[string, string](a, 0)
	texts.Set("key", String(a, "value"))
	c.list, c.any, c.inMap, c.array[5] = []*Map[string, string]{texts, nil}, texts, map[string]*Map[int, int]{"x": c.counts}, c.counts
	return c
}

func checkCatalogue(t *testing.T, c *catalogue) {
	t.Helper()
	leaf, _ := c.byName.Get("leaf")
	up, _ := c.byName.Get("up")
	text, _ := c.list[0].Get("key")
	if c.name != "root" || leaf.name != "leaf" || up.byName != c.byName || up.name != "root" || c.counts.Len() != 100 || c.same != c.counts ||
		c.inMap["x"] != c.counts || c.array[5] != c.counts || text != "value" || c.any != any(c.list[0]) || c.list[1] != nil {
		t.Errorf("%+v, leaf %+v, up %+v", c, leaf, up)
	}
	for k, v := range c.counts.All() {
		if v != -k {
			t.Errorf("%d: %d", k, v)
		}
	}
}

// TestCloneMaps: the copy of a Map is a Map of its own, in the heap or in the target.
func TestCloneMaps(t *testing.T) {
	a, to := NewArena(), NewArena()
	defer a.Free()
	defer to.Free()
	c := newCatalogue(a)
	heap, clone := Heap(c), DeepClone(to, c)
	whole := Heap(c.byName) // A Map is the root.
	checkCatalogue(t, c)
	a.Reset(Keep)
	newCatalogue(a).name = String(a, strings.Repeat("other", 100))
	checkCatalogue(t, heap)
	checkCatalogue(t, clone)
	if up, ok := whole.Get("up"); !ok || up.byName != whole {
		t.Error("the root's Map is not the one that its values lead to")
	}
	heap.counts.Set(1000, 1)
	clone.counts.Set(1000, 2)
	if v, _ := heap.counts.Get(1000); v != 1 || heap.counts.Len() != 101 {
		t.Error(heap.counts.Len(), v)
	}
	counts := clone.counts
	to.Reset(Keep)
	mustPanicWith(t, "was reset", func() { counts.Get(1) })
}

func mustPanicWith(t *testing.T, words string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if r, ok := recover().(error); !ok || !strings.Contains(r.Error(), words) {
			t.Errorf("panic %v, want %q", r, words)
		}
	}()
	f()
	t.Errorf("no panic, want %q", words)
}

// TestCloneMapsFails: a part of a Map that cannot be copied, a limit and a shared arena leave the
// target as it was.
func TestCloneMapsFails(t *testing.T) {
	bad := NewMap[string, any](nil, 0)
	bad.Set("a", 1)
	bad.Set("b", make(chan int))
	large := NewMap[int, [64]int](nil, 0)
	for i := range 1000 {
		large.Set(i, [64]int{})
	}
	a := NewArena()
	defer a.Free()
	kept := String(a, "kept")
	used := a.Stats().InUse
	if _, err := tryDeepClone(a, bad); !errors.Is(err, ErrUncloneable) || !strings.Contains(err.Error(), "chan int") {
		t.Error(err)
	}
	if _, err := tryHeap(bad); !errors.Is(err, ErrUncloneable) {
		t.Error(err)
	}
	a.SetLimit(64 << 10)
	if _, err := tryDeepClone(a, large); !errors.Is(err, offheap.ErrLimit) {
		t.Error(err)
	}
	if got := a.Stats().InUse; got != used || kept != "kept" {
		t.Errorf("%d bytes in use, %d before", got, used)
	}
	shared := NewShared()
	defer shared.Free()
	if _, err := tryDeepClone(shared, large); !errors.Is(err, ErrUncloneable) || !strings.Contains(err.Error(), "NewShared") {
		t.Error(err)
	}
	type byValue struct{ m Map[int, int] }
	if _, err := tryHeap(&byValue{*NewMap[int, int](nil, 1)}); !errors.Is(err, ErrUncloneable) || !strings.Contains(err.Error(), "hold it by a pointer") {
		t.Error(err)
	}
}

// TestCloneEmbeddedMap: a struct has the methods of a Map that is embedded in it, and is none.
func TestCloneEmbeddedMap(t *testing.T) {
	type embeds struct {
		*Map[string, int]
		text  string
		list  []int
		after *string
	}
	text := "after"
	m := NewMap[string, int](nil, 0)
	m.Set("key", 1)
	v := &struct{ p, same *embeds }{p: &embeds{m, "text", []int{1, 2, 3}, &text}}
	v.same = v.p
	a := NewArena()
	defer a.Free()
	for _, c := range []*struct{ p, same *embeds }{Heap(v), DeepClone(a, v)} {
		if n, _ := c.p.Get("key"); n != 1 || c.p.Map == m || c.same != c.p || c.p.text != "text" || len(c.p.list) != 3 || *c.p.after != text {
			t.Errorf("%+v", c.p)
		}
	}
	type embedsValue struct {
		Map[string, int]
		after *string
	}
	if _, err := tryHeap(&struct{ p *embedsValue }{&embedsValue{after: &text}}); err != nil {
		t.Error(err)
	}
	bad := &struct{ p *embedsValue }{&embedsValue{Map: *NewMap[string, int](nil, 1), after: &text}}
	if _, err := tryHeap(bad); !errors.Is(err, ErrUncloneable) || !strings.Contains(err.Error(), "hold it by a pointer") {
		t.Error(err)
	}
}

// TestCloneNestedMaps: Maps in Maps that are nested too deeply for the stack are refused.
func TestCloneNestedMaps(t *testing.T) {
	var v any
	nest := func(n int) {
		for range n {
			m := NewMap[int, any](nil, 1)
			m.Set(0, v)
			v = m
		}
	}
	nest(mostNested)
	if _, err := tryHeap(v); err != nil {
		t.Error(err)
	}
	nest(1)
	if _, err := tryHeap(v); !errors.Is(err, ErrUncloneable) || !strings.Contains(err.Error(), "1000 Maps") {
		t.Error(err)
	}
}
