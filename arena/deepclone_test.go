// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unique"
	"weak"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/offheap"
)

// cloners are the ways to clone that all must behave alike.
func cloners[T any](t *testing.T, do func(t *testing.T, clone func(T, ...CloneOptions) T)) {
	t.Helper()
	each := map[string]func() *Arena{
		"arena": NewArena, "shared": NewShared, "nil arena": func() *Arena { return nil }}
	for name, make := range each {
		t.Run(name, func(t *testing.T) {
			a := make()
			defer a.Free()
			do(t, func(v T, o ...CloneOptions) T {
				onlyLongWay(v, false, o)
				return DeepClone(a, v, o...)
			})
		})
	}
	for _, long := range []bool{false, true} {
		t.Run(fmt.Sprint("heap, long way ", long), func(t *testing.T) {
			do(t, func(v T, o ...CloneOptions) T {
				onlyLongWay(v, long, o)
				return Heap(v, o...)
			})
		})
	}
}

type member struct {
	id    int
	name  string
	next  *member
	mid   *int
	other *member
}

func TestDeepCloneCycle(t *testing.T) {
	cloners(t, func(t *testing.T, clone func(*member, ...CloneOptions) *member) {
		n := &member{id: 1, name: "one"}
		n.next = &member{id: 2, name: n.name, next: n}
		n.other, n.mid = n.next, &n.next.id // An interior pointer that is found before what surrounds it.
		c := clone(n)
		switch {
		case c == n || c.next == n.next || c.next.next != c || c.other != c.next:
			t.Errorf("the cycle is %p, %p, %p", c, c.next, c.next.next)
		case c.mid != &c.next.id:
			t.Errorf("the pointer into a struct leads elsewhere: %p, not %p", c.mid, &c.next.id)
		case c.name != "one" || unsafex.StringData(c.name) != unsafex.StringData(c.next.name):
			t.Error("one string became two, or another")
		case unsafex.StringData(c.name) == unsafex.StringData(n.name):
			t.Error("the string was not copied")
		}
	})
}

func TestDeepCloneSlices(t *testing.T) {
	type holder struct {
		all, low, high []int
		elem           *int
		text, part     string
		array          *[2]int
		empty, none    []int
		grid           [][2][3]int
		row            *[3]int
		cell           *int
	}
	cloners(t, func(t *testing.T, clone func(*holder, ...CloneOptions) *holder) {
		back := []int{0, 1, 2, 3, 4, 5, 6, 7}
		h := &holder{low: back[:2:4], high: back[3:6:6], elem: &back[5], text: "a long string", empty: back[:0:0],
			array: (*[2]int)(back[1:3]), grid: make([][2][3]int, 3)}
		h.part = h.text[2:6]
		h.grid[2][1][2] = 7
		h.row, h.cell = &h.grid[2][1], &h.grid[2][1][2]
		c := clone(h)
		if len(c.low) != 2 || cap(c.low) != 4 || len(c.high) != 3 || cap(c.high) != 3 || c.all != nil || c.none != nil {
			t.Fatalf("slices became %v and %v, nil ones %v", c.low, c.high, c.all)
		}
		if &c.low[:4][3] != &c.high[0] || &c.high[2] != c.elem || &c.array[0] != &c.low[1] {
			t.Error("slices of one array do not overlap as they did")
		}
		if !reflect.DeepEqual(c.low[:4], []int{0, 1, 2, 3}) || !reflect.DeepEqual(c.high, h.high) {
			t.Errorf("the copies are %v and %v", c.low[:4], c.high)
		}
		if c.empty == nil || len(c.empty) != 0 {
			t.Error("an empty slice became nil")
		}
		if c.part != "long" || unsafex.StringData(c.part) != unsafex.Add(unsafex.StringData(c.text), 2) {
			t.Errorf("a part of a string is %q of its own", c.part)
		}
		if c.row != &c.grid[2][1] || c.cell != &c.grid[2][1][2] || *c.cell != 7 {
			t.Error("pointers into arrays of arrays lead elsewhere")
		}
		c.high[0] = 99
		if back[3] != 3 {
			t.Error("the clone shares the array of the original")
		}
	})
}

func TestDeepCloneLeavesTails(t *testing.T) {
	cloners(t, func(t *testing.T, clone func([]*int, ...CloneOptions) []*int) {
		s := []*int{new(int), new(int), new(int)}
		c := clone(s[:1])
		if c = c[:3]; c[0] == nil || c[1] != nil || c[2] != nil {
			t.Errorf("behind the length there is %v", c)
		}
	})
}

type figure interface{ area() float64 }
type square struct{ side *float64 }
type circle struct {
	r    float64
	name string
}
type bare struct{ p *int } // Stands in an interface itself.

func (s square) area() float64  { return *s.side }
func (c *circle) area() float64 { return c.r }

func TestDeepCloneInterfaces(t *testing.T) {
	type holder struct {
		shapes       []figure
		any1, any2   any
		num, str     any
		nilp, empty  any
		direct       any
		array        any
		flag, number any
	}
	cloners(t, func(t *testing.T, clone func(*holder, ...CloneOptions) *holder) {
		side, n := 2.0, 5
		ci := &circle{3, "c"}
		h := &holder{shapes: []figure{square{&side}, ci, nil}, any1: ci, any2: circle{1, "v"}, num: int64(1) << 40, str: "text",
			nilp: (*int)(nil), empty: struct{}{}, direct: bare{&n}, array: [3]string{"a", "b", "c"}, flag: true, number: uint64(1)}
		c := clone(h)
		if c.shapes[0].area() != 2 || c.shapes[1].(*circle) != c.any1.(*circle) || c.any1.(*circle) == ci || c.shapes[2] != nil {
			t.Errorf("shapes became %v", c.shapes)
		}
		if c.shapes[0].(square).side == &side || c.direct.(bare).p == &n || *c.direct.(bare).p != 5 {
			t.Error("what is in an interface was not cloned deeply")
		}
		if c.any2 != h.any2 || c.num != h.num || c.str != h.str || c.nilp != h.nilp || c.empty != h.empty || c.array != h.array || c.flag != true || c.number != uint64(1) {
			t.Errorf("values became %+v", *c)
		}
	})
}

func TestDeepCloneMaps(t *testing.T) {
	type keyOf struct{ p *int }
	type holder struct {
		m1, m2  map[string]*member
		byPtr   map[*member][]string
		byAny   map[any]any
		byKey   map[keyOf][2]string
		floats  map[float64]int
		empty   map[int]int
		none    map[int]int
		nested  map[string]map[string][]int
		visible *member
	}
	cloners(t, func(t *testing.T, clone func(*holder, ...CloneOptions) *holder) {
		n := &member{id: 3}
		h := &holder{m1: map[string]*member{"n": n}, byPtr: map[*member][]string{n: {"x"}}, byAny: map[any]any{"s": n, n: "s", 3: nil, [1]string{"a"}: 1},
			byKey: map[keyOf][2]string{{&n.id}: {"p", "q"}}, floats: map[float64]int{math.NaN(): 1, math.Copysign(0, -1): 2}, empty: map[int]int{},
			nested: map[string]map[string][]int{"a": {"b": {1, 2}}}, visible: n}
		h.floats[math.NaN()] = 3
		h.m2 = h.m1
		c := clone(h)
		v := c.visible
		if v == n || c.m1["n"] != v || c.byPtr[v][0] != "x" || c.byAny["s"] != any(v) || c.byAny[v] != "s" || c.byAny[[1]string{"a"}] != 1 {
			t.Errorf("maps became %+v", *c)
		}
		if c.byKey[keyOf{&v.id}] != [2]string{"p", "q"} || len(c.byPtr) != 1 || len(c.byAny) != 4 || c.empty == nil || c.none != nil {
			t.Errorf("keys that are pointers do not lead to the copy: %+v", *c)
		}
		if len(c.floats) != 3 || c.floats[0] != 2 || c.nested["a"]["b"][1] != 2 {
			t.Errorf("maps became %+v", *c)
		}
		c.m1["new"] = nil
		if len(c.m2) != 2 || len(h.m1) != 1 {
			t.Error("one map became two, or is the original")
		}
	})
}

type Base struct{ inner []string }
type mixed struct {
	Base
	*member
	duo     [2]*member
	many    [9]struct{ s string }
	count   atomic.Int64
	ptr     atomic.Pointer[member]
	val     atomic.Value
	mu      sync.Mutex
	once    sync.Once
	_       func()
	sb      strings.Builder
	zero    *struct{}
	zeroes  []struct{}
	circuit circuit
}

type circuit struct{ next, prev *circuit }

func TestDeepCloneFields(t *testing.T) {
	cloners(t, func(t *testing.T, clone func(*mixed, ...CloneOptions) *mixed) {
		n := &member{id: 8}
		d := &mixed{Base: Base{[]string{"a"}}, member: n, duo: [2]*member{n, nil}, zero: &struct{}{}, zeroes: make([]struct{}, 5)}
		d.many[8].s = "last"
		d.count.Store(4)
		d.ptr.Store(n)
		d.val.Store([]int{1})
		d.mu.Lock()
		d.mu.Unlock()
		d.once.Do(func() {})
		d.sb.WriteString("built")
		d.circuit.next, d.circuit.prev = &d.circuit, &d.circuit
		c := clone(d)
		if c.inner[0] != "a" || c.member == n || c.duo[0] != c.member || c.many[8].s != "last" || c.count.Load() != 4 || c.ptr.Load() != c.member {
			t.Errorf("the copy is %+v", c)
		}
		if v := c.val.Load().([]int); v[0] != 1 || &v[0] == &d.val.Load().([]int)[0] {
			t.Error("the atomic.Value was not cloned")
		}
		c.once.Do(func() { t.Error("what was done once is done again") })
		c.sb.WriteString(" on")
		if c.sb.String() != "built on" || d.sb.String() != "built" || c.zero == nil || len(c.zeroes) != 5 {
			t.Errorf("the builder has %q and had %q", c.sb.String(), d.sb.String())
		}
		if c.circuit.next != &c.circuit || c.circuit.prev != &c.circuit {
			t.Error("a struct that points to itself does not")
		}
	})
}

var (
	globalNode  = member{id: 7, next: &member{id: 8}}
	globalList  circuit
	globalTable = [4]int{1, 2, 3, 4}
	errMade     = errors.New("a sentinel")
	errLate     = &late{"made at start"}
)

type late struct{ s string }

func (e *late) Error() string { return e.s }

func init() { errLate = &late{strings.Repeat("x", 3)} }

func TestDeepCloneShares(t *testing.T) {
	type holder struct {
		err1, err2, err3 error
		typ              reflect.Type
		local, utc, zone *time.Location
		now              time.Time
		handle           unique.Handle[string]
		weak             weak.Pointer[int]
		global           *member
		item             *int
		table            []int
		a                *Arena
		purpose          *offheap.Purpose
	}
	cloners(t, func(t *testing.T, clone func(*holder, ...CloneOptions) *holder) {
		n := new(int)
		h := &holder{err1: io.EOF, err2: errMade, err3: errLate, typ: reflect.TypeFor[map[string]holder](), local: time.Local, utc: time.UTC,
			zone: time.FixedZone("z", 60), now: time.Now(), handle: unique.Make("h"), weak: weak.Make(n), global: &globalNode, item: &globalTable[1],
			table: globalTable[:], a: NewArena(), purpose: offheap.NewPurpose("p")}
		c := clone(h)
		if c.err1 != io.EOF || c.err2 != errMade {
			t.Error("a sentinel is not itself")
		}
		if c.typ != h.typ || c.local != time.Local || c.utc != time.UTC || c.zone != h.zone || c.now != h.now || c.handle != h.handle || c.weak.Value() != n {
			t.Errorf("what is opaque was cloned: %+v", *c)
		}
		if c.global != &globalNode || c.item != &globalTable[1] {
			t.Error("package-level variables were cloned")
		}
		if &c.table[0] == &globalTable[0] || !reflect.DeepEqual(c.table, h.table) {
			t.Error("a slice was not copied")
		}
		if c.a != h.a || c.purpose != h.purpose {
			t.Error("an arena was cloned")
		}
		if c.err3 == error(errLate) {
			t.Error("a variable of the Go heap was not cloned")
		}
		o := CloneOptions{Share: []reflect.Type{reflect.TypeOf(errLate).Elem(), reflect.TypeFor[[]int]()}}
		if c := clone(h, o); c.err3 != error(errLate) || &c.table[0] != &h.table[0] {
			t.Error("what was named is not shared")
		}
	})
}

func TestDeepCloneRoot(t *testing.T) {
	globalList.next, globalList.prev = &globalList, &globalList
	a := NewArena()
	defer a.Free()
	if c := DeepClone(a, &globalNode); c == &globalNode || c.id != 7 || c.next != globalNode.next {
		t.Errorf("the variable that v points to was not copied, or another one was: %+v", c)
	}
	if c := DeepClone(a, &globalList); c == &globalList || c.next != c || c.prev != c {
		t.Error("a variable that points to itself became one that does not")
	}
	if DeepClone[any](a, nil) != nil || DeepClone[*int](a, nil) != nil || DeepClone(a, "") != "" || DeepClone(a, 3) != 3 {
		t.Error("nothing became something")
	}
	if e := DeepClone(a, io.EOF); e != io.EOF {
		t.Error("an error is another")
	}
	if s := DeepClone(a, "root"); s != "root" || !freehold.HeapMode() && !a.Owns(s) {
		t.Error("a string was not cloned")
	}
	if v := DeepClone(a, [2][]int{{1}, {2}}); v[1][0] != 2 {
		t.Error("an array was not cloned")
	}
	if v := DeepClone(a, map[string]string{"k": "v"}); v["k"] != "v" {
		t.Error("a map was not cloned")
	}
}

// around has parts of which slices and pointers of several types lead to the first byte.
type around struct {
	parts [2]leafy
	all   []leafy
	flat  [2]duo
	first []int
	pairs []duo
	views struct {
		whole, part any
		byteOf      *[2]duo
		other       *duoToo
	}
}

type leafy struct {
	p *int
	s string
}
type duo struct{ nums [2]int }
type duoToo duo

var globalAround around

func TestDeepCloneSameAddress(t *testing.T) {
	cloners(t, func(t *testing.T, clone func(*around, ...CloneOptions) *around) {
		for _, w := range []*around{{}, &globalAround} {
			w.all, w.pairs, w.first = w.parts[:], w.flat[:], w.flat[0].nums[:]
			w.views.byteOf, w.views.other = &w.flat, (*duoToo)(&w.flat[0])
			w.views.whole, w.views.part = &w.parts, &w.parts[0]
			w.parts[1].p, w.flat[1].nums[1] = &w.flat[1].nums[1], 9
			c := clone(w)
			if &c.all[1] != &c.parts[1] || &c.pairs[1] != &c.flat[1] || &c.first[1] != &c.flat[0].nums[1] || c.views.byteOf != &c.flat ||
				c.views.other != (*duoToo)(&c.flat[0]) || c.views.whole != &c.parts || c.views.part != &c.parts[0] || c.parts[1].p != &c.flat[1].nums[1] || *c.parts[1].p != 9 {
				t.Errorf("the parts lie elsewhere: %+v", c)
			}
		}
		// The same without a pointer to all of w: the copy allocates the largest part that is
		// reachable as one, in whatever order the walk finds the parts.
		for turn := range 3 {
			w := &around{}
			h := &around{}
			h.views.whole, h.views.part, h.all = &w.parts, &w.parts[0], w.parts[:1]
			if turn == 1 {
				h.views.whole, h.views.part = h.views.part, h.views.whole
			}
			h.pairs, h.first, h.views.byteOf = w.flat[:2:2], w.flat[0].nums[:], &w.flat
			w.flat[1].nums[1] = 4
			if turn == 2 {
				h.views.byteOf, h.views.other = nil, (*duoToo)(&w.flat[0])
			}
			c := clone(h)
			whole, part := c.views.whole, c.views.part
			if turn == 1 {
				whole, part = part, whole
			}
			if &whole.(*[2]leafy)[0] != part.(*leafy) || &c.all[0] != part.(*leafy) || &c.first[0] != &c.pairs[0].nums[0] || c.pairs[1].nums[1] != 4 {
				t.Errorf("the parts lie elsewhere: %+v", c)
			}
			if turn == 2 && &c.views.other.nums[0] != &c.first[0] || turn != 2 && &c.views.byteOf[0] != &c.pairs[0] {
				t.Errorf("the parts lie elsewhere: %+v", c)
			}
		}
	})
}

// TestDeepCloneOneRange has a struct that is nothing but an array, and a slice of it.
func TestDeepCloneOneRange(t *testing.T) {
	type wrap struct{ parts [2]leafy }
	type both struct {
		slice []leafy
		whole *wrap
		later []leafy
	}
	cloners(t, func(t *testing.T, clone func([]both, ...CloneOptions) []both) {
		v := make([]both, 40)
		for i := range v {
			w := &wrap{}
			w.parts[1].s = "last"
			v[i].whole = w
			if i%2 == 0 {
				v[i].slice = w.parts[:]
			} else {
				v[i].later = w.parts[:]
			}
		}
		for i, c := range clone(v) {
			if s := append(c.slice, c.later...); len(s) != 2 || c.whole.parts[1].s != "last" || i%2 == 0 && &s[1] != &c.whole.parts[1] || i%2 == 1 && &c.later[1] != &c.whole.parts[1] {
				t.Errorf("%d: %+v", i, c)
			}
		}
	})
}

// TestDeepCloneViews has what only unsafe code makes.
func TestDeepCloneViews(t *testing.T) {
	type views struct {
		odd    string
		all    []byte
		bytes  []byte
		words  []uint64
		text   string
		nums   *[2]uint32
		inside []byte
		box    *leafy
	}
	cloners(t, func(t *testing.T, clone func(*views, ...CloneOptions) *views) {
		back := make([]uint64, 4)
		base := unsafex.DataOf(back)
		v := &views{bytes: unsafex.SliceOf[byte](base, 20, 20), words: unsafex.SliceOf[uint64](unsafex.Add(base, 8), 3, 3),
			text: unsafex.StringOf(unsafex.Add(base, 3), 7), nums: unsafex.As[[2]uint32](unsafex.Add(base, 4))}
		for i := range v.bytes {
			v.bytes[i] = byte(i)
		}
		c := clone(v)
		at := unsafex.PtrAddr(unsafex.DataOf(c.bytes))
		if at%8 != 0 && wordSize == 8 || unsafex.PtrAddr(unsafex.DataOf(c.words)) != at+8 || unsafex.PtrAddr(unsafex.StringData(c.text)) != at+3 || unsafex.Addr(c.nums) != at+4 {
			t.Error("views of plain memory do not lie over each other")
		}
		back2 := make([]uint64, 4)
		v2 := &views{odd: strings.Repeat("x", 3), all: unsafex.SliceOf[byte](unsafex.DataOf(back2), 32, 32), words: back2[1:]}
		if c := clone(v2); unsafex.PtrAddr(unsafex.DataOf(c.words))%wordSize != 0 || unsafex.PtrAddr(unsafex.DataOf(c.words)) != unsafex.PtrAddr(unsafex.DataOf(c.all))+8 {
			t.Error("numbers among bytes lie where none may")
		}
		if c.text != v.text || !reflect.DeepEqual(c, v) {
			t.Errorf("the copy is %v, want %v", c, v)
		}
		v.box = &leafy{new(int), "x"}
		v.inside = unsafex.SliceOf[byte](unsafex.PtrOf(v.box), wordSize, wordSize)
		mustPanic(t, "the target of views.inside, of type uint8, lies in memory of type arena.leafy", func() { clone(v) })
	})
}

// TestDeepCloneConverted has variables and maps that the value leads to by two types with one
// layout.
func TestDeepCloneConverted(t *testing.T) {
	type header map[string][]int
	type tagged struct {
		A int `json:"a"`
		p *int
	}
	type plain struct {
		A int
		p *int
	}
	type value struct {
		header header
		fields map[string][]int
		other  any
		tagged map[plain]*plain
		same   map[tagged]*plain
		first  *tagged
		second *plain
		third  any
		inner  *int
	}
	m, n := header{"a": {1}}, map[plain]*plain{{A: 1}: {A: 2}}
	x := &tagged{A: 3}
	v := &value{m, m, map[string][]int(m), n, map[tagged]*plain(nil), x, (*plain)(x), x, nil}
	for _, inner := range []*int{nil, &x.A} { // In one pass, and the long way.
		v.inner = inner
		for name, a := range map[string]*Arena{"arena": NewArena(), "shared": NewShared(), "heap": nil} {
			c := DeepClone(a, v)
			c.fields["b"] = nil
			c.header["c"] = nil
			if len(c.header) != 3 || len(c.fields) != 3 || len(c.other.(map[string][]int)) != 3 {
				t.Errorf("%s: one map became two: %v and %v", name, c.header, c.fields)
			}
			c.first.A = 4
			if c.second.A != 4 || c.third.(*tagged) != c.first {
				t.Errorf("%s: one variable became two: %v and %v", name, c.first, c.second)
			}
			if len(m) != 1 || x.A != 3 {
				t.Fatalf("%s: the original changed", name)
			}
		}
	}
}
