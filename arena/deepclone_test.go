// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/internal/checks/testenv"
	"github.com/freehold-go/freehold/offheap"
)

// A member has parts of all kinds.
type member struct {
	id    int
	name  string
	boss  *member
	staff []*member
	notes []string
	raw   []byte
	byKey map[string]*member
	any   any
	grid  [6]*member
	twice [2]string
	flag  bool
}

// cloners runs f with each way to copy.
func cloners[T any](t *testing.T, f func(t *testing.T, clone func(v T, options ...CloneOptions) (T, error))) {
	t.Run("Heap", func(t *testing.T) { f(t, Heap[T]) })
	for name, kind := range map[string]func() *Arena{"arena": NewArena, "shared": NewShared,
		"without reuse": func() *Arena { return NewWith(Options{NoReuse: true}) }} {
		t.Run(name, func(t *testing.T) {
			a := kind()
			defer a.Free()
			f(t, func(v T, options ...CloneOptions) (T, error) { return DeepClone(a, v, options...) })
		})
	}
}

// mustClone compares the copy of v with v.
func mustClone[T any](t *testing.T, v T, options ...CloneOptions) {
	t.Helper()
	cloners(t, func(t *testing.T, clone func(T, ...CloneOptions) (T, error)) {
		t.Helper()
		c, err := clone(v, options...)
		if err == nil {
			err = compare(&v, &c)
		}
		if err != nil {
			t.Errorf("a %T: %v", v, err)
		}
		runtime.GC()
		if err := compare(&v, &c); err != nil {
			t.Errorf("a %T after a collection: %v", v, err)
		}
	})
}

// mustRefuse copies v, which must be refused with such words.
func mustRefuse[T any](t *testing.T, v T, words string, options ...CloneOptions) {
	t.Helper()
	cloners(t, func(t *testing.T, clone func(T, ...CloneOptions) (T, error)) {
		t.Helper()
		c, err := clone(v, options...)
		if !errors.Is(err, ErrUncloneable) || !strings.Contains(err.Error(), words) {
			t.Errorf("a %T: %v, want %q", v, err, words)
		}
		if !reflect.ValueOf(&c).Elem().IsZero() {
			t.Errorf("a %T: the result beside the error is %v", v, c)
		}
	})
}

func newFirm() *member {
	firm := &member{id: 1, name: "firm", notes: []string{"a", strings.Repeat("long ", 40), ""}, raw: []byte{1, 2, 3}, twice: [2]string{"x", "y"}, flag: true}
	ada := &member{id: 2, name: "Ada", boss: firm, any: firm}
	bo := &member{id: 3, boss: firm, staff: []*member{ada, nil, ada}, any: []any{1, "two", 3.5, nil, ada, member{id: 9, boss: ada}}}
	firm.staff = []*member{ada, bo}
	bo.notes = firm.notes
	firm.byKey = map[string]*member{"ada": ada, "bo": bo, "none": nil}
	ada.byKey = firm.byKey
	firm.grid[5] = bo
	firm.any = firm.staff
	return firm
}

func TestDeepCloneGraph(t *testing.T) {
	mustClone(t, newFirm())
	mustClone(t, *newFirm())
	mustClone[any](t, newFirm())
	mustClone(t, map[string]any{"firm": newFirm(), "n": 1, "list": []any{"x"}})
	mustClone(t, []*member{})
	mustClone(t, (*member)(nil))
	mustClone(t, [][]int{nil, {}, {1}})
	mustClone(t, map[int]string(nil))
	mustClone(t, map[float64]string{1: "one", math.Inf(1): "much"})
	mustClone(t, struct{}{})
	mustClone(t, 7)
	mustClone(t, "text")
}

// TestDeepCloneCycles: cycles through each kind of header.
func TestDeepCloneCycles(t *testing.T) {
	m := &member{}
	m.boss = m
	mustClone(t, m)
	list := []any{nil, 1}
	list[0] = list
	mustClone(t, list)
	table := map[string]any{}
	table["self"] = table
	mustClone(t, table)
	var p any
	p = &p
	mustClone(t, p)
}

// TestDeepCloneShapes: values that share boxes in interfaces many times over are copied once.
func TestDeepCloneShapes(t *testing.T) {
	type pair struct{ left, right any }
	var v any = pair{"end", []int{1}}
	for range 64 {
		v = pair{v, v}
	}
	c, err := Heap(v)
	if err != nil {
		t.Fatal(err)
	}
	for range 64 {
		c = c.(pair).right
	}
	if c.(pair).left != "end" {
		t.Error(c)
	}
	var list *member
	for i := range 1 << 17 { // No stack can overflow.
		list = &member{id: i, boss: list}
	}
	c2, err := Heap(list)
	if err != nil {
		t.Fatal(err)
	}
	for n := 1<<17 - 1; c2 != nil; n, c2 = n-1, c2.boss {
		if c2.id != n {
			t.Fatalf("%d at %d", c2.id, n)
		}
	}
}

// TestDeepCloneSlices: slices of one address, type and length share their copy; others that overlap
// have copies of their own. What lies behind the length is not read.
func TestDeepCloneSlices(t *testing.T) {
	all := []*member{{id: 0}, {id: 1}, {id: 2}, {id: 3}}
	v := &struct{ all, same, part, rest, more []*member }{all, all, all[:2], all[1:], all[:3:4]}
	mustClone(t, v)
	c, err := Heap(v)
	if err != nil {
		t.Fatal(err)
	}
	if &c.all[0] != &c.same[0] || &c.all[0] == &c.part[0] || &c.all[1] == &c.rest[0] || c.all[1] != c.rest[0] || cap(c.more) != 3 {
		t.Errorf("%+v", c)
	}
	numbers := make([]int, 4, 100)
	mustClone(t, [][]int{numbers, numbers[:2], numbers})
	type words []int // The same address and length, of another type.
	n, err := Heap(struct {
		a []int
		b words
	}{numbers, numbers})
	if err != nil || &n.a[0] != &n.b[0] { // Slices of the same elements are one.
		t.Errorf("%v %v", n, err)
	}
	box := &struct {
		buf  [8]byte
		text []byte
	}{}
	box.text = box.buf[2:4]
	b, err := Heap(box)
	if err != nil || &b.text[0] == &b.buf[2] || len(b.text) != 2 {
		t.Errorf("a slice into an array: %v %v", b, err)
	}
}

// TestDeepCloneInner: a pointer into a copied value is an error with its path.
func TestDeepCloneInner(t *testing.T) {
	type node struct {
		value int
		inner struct{ a, b string }
		list  []member
		at    *int
		text  *string
		who   *member
		any   any
		array [3]member
		next  *node
	}
	refuse := func(words string, f func(n *node)) {
		t.Helper()
		n := &node{list: make([]member, 3)}
		f(n)
		mustRefuse(t, n, words+": leads into a variable that is copied as a whole")
	}
	refuse("node.at", func(n *node) { n.at = &n.value })
	refuse("node.text", func(n *node) { n.text = &n.inner.b })
	refuse("node.who", func(n *node) { n.who = &n.list[0] })
	refuse("node.who", func(n *node) { n.list = n.list[:1]; n.who = &n.list[0] })
	refuse("node.who", func(n *node) { n.who = &n.array[2] })
	refuse("node.next.at", func(n *node) { n.next = &node{at: &n.value} })
	refuse("node.any", func(n *node) { n.any = &n.value })
	refuse("node.any.(*struct { p *string }).p", func(n *node) { n.any = &struct{ p *string }{&n.inner.a} })
	refuse("node.any.([]interface {})[1]", func(n *node) { n.any = []any{1, &n.value} })
	refuse("node.any[\"k\"]", func(n *node) { n.any = map[string]*int{"k": &n.value} })
	// Pointers of the same types that lead elsewhere are fine.
	n := &node{list: make([]member, 3, 4), at: new(int), text: new(string), who: &member{}}
	n.any = []any{n.at, n.text, n.who}
	n.array[1].staff = []*member{n.who}
	mustClone(t, n)
	n.who = &n.list[:4][3] // Behind the length, which is not copied.
	mustClone(t, n)
	// The original of a value that is passed by value is another variable.
	mustClone(t, *n)
	one := &struct{ first *member }{}
	one.first = &member{}
	mustClone(t, []any{one, one.first})
	mustRefuse(t, []any{one, &one.first}, "v[1]: leads into")
	// Also if the walk comes to the part before the whole, and both have one size.
	mustRefuse(t, []any{&one.first, one}, "v[0]: leads into")
	pair := &[1]string{"x"}
	mustRefuse(t, []any{&pair[0], pair}, "v[0]: leads into")
}

// TestDeepCloneEndsAtAnError: what stands behind the part that is refused is not copied, and the error names the first such part.
func TestDeepCloneEndsAtAnError(t *testing.T) {
	type tree struct {
		left, right *tree
		wait        func()
	}
	var grow func(depth int) *tree
	grow = func(depth int) *tree {
		if depth == 0 {
			return &tree{wait: func() {}}
		}
		return &tree{left: grow(depth - 1), right: grow(depth - 1)}
	}
	a := NewArena()
	_, err := DeepClone(a, grow(10))
	if err == nil || !strings.Contains(err.Error(), "tree"+strings.Repeat(".left", 10)+".wait: func()") {
		t.Error(err)
	}
	if s := a.Stats(); s.InUse > 11*int64(reflect.TypeFor[tree]().Size()) {
		t.Errorf("%+v after the error at the 11th of 2047 nodes", s)
	}
}

// TestDeepCloneInterfaces keeps GC-8: an interface is two words, and the first says what the second is.
func TestDeepCloneInterfaces(t *testing.T) {
	type direct struct{ p *int }
	type point struct{ x, y int }
	n := 5
	v := []any{nil, 1, "s", &n, direct{&n}, [1]*int{&n}, point{1, 2}, []string{"x"}, map[string]int{"a": 1}, struct{}{}, [2]any{1, &n}, error(nil)}
	mustClone(t, v)
	mustClone(t, []fmt.Stringer{nil, stringer{"x"}, &stringer{"y"}, number(3)})
}

type stringer struct{ s string }

func (s stringer) String() string { return s.s }

type number int

func (n number) String() string { return fmt.Sprint(int(n)) }

func TestDeepCloneMaps(t *testing.T) {
	type key struct {
		name string
		any  any
		p    *int
	}
	n := 1
	keys := map[key]string{{"a", 1, nil}: "x", {"b", "text", nil}: "y"}
	v := map[any]any{"s": 1, 2: "t", [2]string{"a", "b"}: &n, 1.5: map[string]int{"x": 1}, true: keys, nil: "nil"}
	cloners(t, func(t *testing.T, clone func(map[any]any, ...CloneOptions) (map[any]any, error)) {
		c, err := clone(v)
		if err != nil || len(c) != len(v) || c["s"] != 1 || c[2] != "t" || *c[[2]string{"a", "b"}].(*int) != 1 || c[[2]string{"a", "b"}] == any(&n) || c[nil] != "nil" {
			t.Errorf("%v, %v", c, err)
		}
		if k := c[true].(map[key]string); k[key{"a", 1, nil}] != "x" || k[key{"b", "text", nil}] != "y" {
			t.Error(k)
		}
		c["new"] = 1
	})
	if len(v) != 6 {
		t.Error("the copy is the original")
	}
	p := &member{name: "in a key"}
	byPointer, err := Heap(&struct {
		m map[*member]int
		p *member
	}{map[*member]int{p: 7}, p})
	if err != nil || byPointer.m[byPointer.p] != 7 || byPointer.p == p {
		t.Errorf("%v %v", byPointer, err)
	}
	nan, err := Heap(map[float64]*int{math.NaN(): &n, math.Copysign(0, -1): nil})
	if err != nil || len(nan) != 2 {
		t.Errorf("%v %v", nan, err)
	}
}

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
	leaf := &catalogue{name: String(a, "leaf")}
	c.byName.Set("leaf", leaf)
	c.byName.Set("same leaf", leaf)
	c.byName.Set("up", c) // A cycle through the Map.
	texts := NewMap[string, string](a, 0)
	texts.Set("key", String(a, "value"))
	c.list, c.any, c.inMap, c.array[5] = []*Map[string, string]{texts, nil}, texts, map[string]*Map[int, int]{"x": c.counts}, c.counts
	return c
}

func checkCatalogue(t *testing.T, c *catalogue) {
	t.Helper()
	get := func(key string) *catalogue { v, _ := c.byName.Get(key); return v }
	text, _ := c.list[0].Get("key")
	if c.name != "root" || get("leaf").name != "leaf" || get("leaf") != get("same leaf") || get("up") != c || c.counts.Len() != 100 || c.same != c.counts ||
		c.inMap["x"] != c.counts || c.array[5] != c.counts || text != "value" || c.any != any(c.list[0]) || c.list[1] != nil {
		t.Errorf("%+v", c)
	}
	for k, v := range c.counts.All() {
		if v != -k {
			t.Errorf("%d: %d", k, v)
		}
	}
}

// TestDeepCloneOwnMaps: the copy of a Map is a Map of its own, on the heap or in the target.
func TestDeepCloneOwnMaps(t *testing.T) {
	a, to := NewArena(), NewArena()
	defer a.Free()
	defer to.Free()
	c := newCatalogue(a)
	heap, err := Heap(c)
	must(err)
	clone, err := DeepClone(to, c)
	must(err)
	whole, err := Heap(c.byName) // A Map is the root.
	must(err)
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
	wantPanic(t, "Get", func() { counts.Get(1) }, "was reset")
	wantPanic(t, "Heap", func() { _, _ = Heap(counts) }, "was reset")

	bad := NewMap[string, any](nil, 0)
	bad.Set("a", 1)
	bad.Set("b", make(chan int))
	if _, err := Heap(bad); !errors.Is(err, ErrUncloneable) || !strings.Contains(err.Error(), `["b"]: chan int`) {
		t.Error(err)
	}
	shared := NewShared()
	defer shared.Free()
	if _, err := DeepClone(shared, bad); !errors.Is(err, ErrUncloneable) || !strings.Contains(err.Error(), "NewShared") {
		t.Error(err)
	}
	type byValue struct{ m Map[int, int] }
	if _, err := Heap(&byValue{*NewMap[int, int](nil, 1)}); !errors.Is(err, ErrUncloneable) || !strings.Contains(err.Error(), "hold it by a pointer") {
		t.Error(err)
	}
	type embeds struct {
		*Map[string, int]
		list []int
	}
	m := NewMap[string, int](nil, 0)
	m.Set("key", 1)
	e, err := Heap(&embeds{m, []int{1}})
	if must(err); e.Map == m || len(e.list) != 1 {
		t.Errorf("%+v", e)
	}
	if n, _ := e.Get("key"); n != 1 {
		t.Error(n)
	}
}

// TestDeepCloneOutlives: a copy on the heap holds no memory of the arena.
func TestDeepCloneOutlives(t *testing.T) {
	a := NewArena()
	p := New[member](a)
	p.name, p.notes, p.raw = String(a, "name"), Append(a, nil, String(a, "note")), Bytes(a, "raw")
	p.boss, p.staff = p, Append(a, nil, p, New[member](a))
	p.any = New[int](a)
	c, err := Heap(p)
	must(err)
	for _, lead := range []any{c, c.name, c.notes, c.notes[0], c.raw, c.staff, c.staff[1], c.any} {
		if a.Owns(lead) {
			t.Errorf("%v lies in the arena", lead)
		}
	}
	b := NewArena()
	defer b.Free()
	d, err := DeepClone(b, p)
	must(err)
	if !freehold.HeapMode() {
		for _, lead := range []any{d, d.name, d.notes, d.notes[0], d.raw, d.staff, d.staff[1], d.any} {
			if a.Owns(lead) || !b.Owns(lead) {
				t.Errorf("%v does not lie in the target", lead)
			}
		}
	}
	a.Free()
	if c.boss != c || c.name != "name" || c.notes[0] != "note" || d.boss != d || string(d.raw) != "raw" {
		t.Errorf("%+v %+v", c, d)
	}
}

// TestDeepCloneIntoItself: living values of the target are copied as others are.
func TestDeepCloneIntoItself(t *testing.T) {
	a := NewArena()
	defer a.Free()
	p := New[member](a)
	for range 100 {
		p.staff = Append(a, p.staff, New[member](a))
		c, err := DeepClone(a, p)
		if err == nil {
			err = compare(&p, &c)
		}
		if err != nil {
			t.Fatal(err)
		}
		p = c
	}
}

// A wreck leads to freed values, whose memory the copies of fresh may get.
type wreck[T any] struct {
	fresh []T
	old   []T
}

// TestDeepCloneStale copies values that lead to values of the same arena from before its Reset. The
// copy ends, panics nowhere, and copies the living part right, or refuses the value.
func TestDeepCloneStale(t *testing.T) {
	if debugging() {
		t.Skip("the debug modes report the stale value")
	}
	for name, kind := range map[string]func() *Arena{"arena": NewArena, "shared": NewShared} {
		t.Run(name, func(t *testing.T) {
			cloneWreck(t, kind, strings.Repeat("s", 1000))
			cloneWreck(t, kind, []byte{1, 2, 3})
			cloneWreck(t, kind, &member{name: "x"})
			cloneWreck(t, kind, []*member{{}, {}})
			cloneWreck(t, kind, map[string]*member{"k": {}})
			cloneWreck[any](t, kind, &member{name: "x"})
			cloneWreck[any](t, kind, member{name: "y", staff: []*member{{}}})
			cloneWreck[any](t, kind, 1<<30)
			cloneWreck[fmt.Stringer](t, kind, &stringer{"s"})
			cloneWreck[fmt.Stringer](t, kind, stringer{"s"})
			cloneWreck(t, kind, *newFirm())
			cloneWreck(t, kind, [6][]*int{5: make([]*int, 1000)})
		})
	}
}

func cloneWreck[T any](t *testing.T, kind func() *Arena, value T) {
	t.Helper()
	for n := 1; n <= 4; n++ {
		for shift := range n + 1 {
			a := kind()
			all := MakeSlice[T](a, 4*n, 4*n)
			a.Reset(Keep)
			v := &wreck[T]{fresh: make([]T, n), old: all[shift : shift+2*n]}
			for i := range v.fresh {
				v.fresh[i] = value
			}
			for i := range all { // The stale values lead to stale values, too.
				all[i] = value
			}
			c, err := DeepClone(a, v)
			if err != nil && !errors.Is(err, ErrUncloneable) {
				t.Errorf("%T: %v", value, err)
			}
			if err == nil {
				if err := compare(&v.fresh, &c.fresh); err != nil {
					t.Errorf("%T, the living part: %v", value, err)
				}
				runtime.GC()
				_ = fmt.Sprintf("%d", len(fmt.Sprint(c.old))) // Each header leads to memory of its type.
			}
			runtime.KeepAlive(all)
			a.Free()
		}
	}
}

// TestDeepCloneStaleEnds: a stale list whose nodes lie where the copies go is refused, since the copies
// of copies would not end.
func TestDeepCloneStaleEnds(t *testing.T) {
	if debugging() || freehold.HeapMode() {
		t.Skip("nothing is reused")
	}
	for _, n := range []int{1, 2, 3, 10, 1000} {
		a := NewArena()
		all := MakeSlice[member](a, n, n)
		a.Reset(Keep)
		root := &member{staff: make([]*member, n)}
		for i := range all {
			root.staff[i] = &all[i]
			all[i].boss = &all[(i+1)%n]
		}
		_, err := DeepClone(a, root)
		if err != nil && (!errors.Is(err, ErrUncloneable) || !strings.Contains(err.Error(), "taken for the copy")) {
			t.Errorf("%d: %v", n, err)
		}
		if s := a.Stats(); s.InUse > 64*1024+int64(n)*8*1024 {
			t.Errorf("%d stale values became %+v", n, s)
		}
		a.Free()
	}
}

// TestDeepCloneLimit: the target's limit is an error, and the arena works on.
func TestDeepCloneLimit(t *testing.T) {
	var list *member
	for range 10_000 {
		list = &member{boss: list, notes: []string{"some text"}}
	}
	for name, a := range map[string]*Arena{"arena": NewWith(Options{Limit: 64 << 10}), "shared": NewWith(Options{Limit: 64 << 10, Shared: true})} {
		if c, err := DeepClone(a, list); !errors.Is(err, offheap.ErrLimit) || c != nil {
			t.Errorf("%s: %v, %v", name, c, err)
		}
		m := NewMap[int, [520]uint64](nil, 0)
		for i := range 1000 {
			m.Set(i, [520]uint64{})
		}
		if _, err := DeepClone(a, m); err == nil {
			t.Errorf("%s: a Map beyond the limit", name)
		}
		a.Reset(Keep)
		if c, err := DeepClone(a, &member{name: "small"}); err != nil || c.name != "small" {
			t.Errorf("%s: %v", name, err)
		}
		a.Free()
	}
}

// TestDeepCloneKinds: arenas off the heap take strings and plain slices, and panic for pointers.
func TestDeepCloneKinds(t *testing.T) {
	if freehold.HeapMode() {
		t.Skip("the memory is the Go heap's")
	}
	numbers := struct {
		list []int
		name string
	}{[]int{1, 2}, "text"}
	for name, a := range map[string]*Arena{"off the heap": NewOffHeap(Options{}), "fixed": NewFixed(1 << 16)} {
		c, err := DeepClone(a, numbers)
		if err == nil {
			err = compare(&numbers, &c)
		}
		if err != nil || !a.Owns(c.list) || !a.Owns(c.name) {
			t.Errorf("%s: %v %v", name, c, err)
		}
		wantPanic(t, name, func() { _, _ = DeepClone(a, &member{}) }, "holds a Go pointer")
		a.Free()
	}
	freed := NewArena()
	freed.Free()
	wantPanic(t, "freed", func() { _, _ = DeepClone(freed, 1) }, "DeepClone")
	var none *Arena
	if c, err := DeepClone(none, []int{1}); err != nil || c[0] != 1 {
		t.Error(c, err)
	}
}

// TestDeepCloneZeroSize: pointers and slices without bytes.
func TestDeepCloneZeroSize(t *testing.T) {
	type none struct{}
	a := NewArena()
	v := &struct {
		p    *none
		list []none
		any  any
		m    map[none]int
	}{New[none](a), MakeSlice[none](a, 3, 5), none{}, map[none]int{{}: 1}}
	mustClone(t, v)
	a.Free()
}

// TestDeepCloneConcurrent: many goroutines copy one value, and plans are made once.
func TestDeepCloneConcurrent(t *testing.T) {
	type fresh struct {
		m    *member
		next *fresh
	}
	v := &fresh{m: newFirm()}
	v.next = v
	a := NewShared()
	defer a.Free()
	errs := make(chan error)
	const n = 8
	for i := range n {
		go func() {
			var err error
			for range 20 {
				var c *fresh
				if i%2 == 0 {
					c, err = Heap(v)
				} else {
					c, err = DeepClone(a, v)
				}
				if err == nil {
					err = compare(&v, &c)
				}
			}
			errs <- err
		}()
	}
	for range n {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

// TestDeepCloneAllocs: a copy of a tree allocates the tree, and next to nothing besides.
func TestDeepCloneAllocs(t *testing.T) {
	if testenv.Sanitized() || debugging() || freehold.HeapMode() {
		t.Skip("other allocations")
	}
	tree := branches(9)
	a := NewArena()
	defer a.Free()
	if n := testing.AllocsPerRun(20, func() { must(second(DeepClone(a, tree))); a.Reset(Keep) }); n > 20 {
		t.Errorf("%v allocations", n)
	}
}

// TestCuts: cuts knows what was cut, in whatever order.
func TestCuts(t *testing.T) {
	var c cuts
	cut := make([]bool, 1000)
	x := uint32(1)
	for range 4000 {
		x = x*1664525 + 1013904223
		at, n := uintptr(x>>8%1000), uintptr(x>>20%7+1)
		if x>>28 < 8 && at+n <= 1000 && !slices.Contains(cut[at:at+n], true) {
			c.add(at, n)
			for i := at; i < at+n; i++ {
				cut[i] = true
			}
		}
		if got := c.has(at); got != cut[at] {
			t.Fatalf("%d: %v, %+v", at, got, c)
		}
	}
}
