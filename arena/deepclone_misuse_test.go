// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/offheap"
)

type item struct {
	mu   sync.Mutex
	done chan int
	call func()
	raw  unsafex.Ptr
}

type order struct {
	items  []item
	first  *item
	byName map[string]*item
	byItem map[*item]bool
	values map[string]any
	any    any
	writer io.Writer
	rw     [6]struct{ sync.RWMutex }
	wait   sync.WaitGroup
	cond   *sync.Cond
	index  *Map[int, int]
	file   *os.File
	pool   *sync.Pool
	grid   [2][3]*item
}

func TestDeepCloneRefuses(t *testing.T) {
	locked := func(x *sync.Mutex) { x.Lock() }
	used := sync.NewCond(&sync.Mutex{})
	used.Signal()
	used.L.Lock()
	waited, done := make(chan bool), make(chan bool)
	go func() { used.L.Lock(); close(waited); used.Wait(); used.L.Unlock(); close(done) }()
	used.L.Unlock()
	<-waited
	used.L.Lock()
	used.Signal()
	used.L.Unlock()
	<-done
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for want, spoil := range map[string]func(o *order){
		`order.items[3].mu: sync.Mutex is locked`:            func(o *order) { locked(&o.items[3].mu) },
		`order.items[1].done: chan int cannot be copied`:     func(o *order) { o.items[1].done = make(chan int) },
		`order.first.call: func() cannot be copied`:          func(o *order) { o.first = &item{call: func() {}} },
		`order.first.raw: unsafe.Pointer cannot be copied`:   func(o *order) { o.first = &item{raw: unsafex.PtrOf(o)} },
		`order.byName["n"].mu: sync.Mutex is locked`:         func(o *order) { o.byName = map[string]*item{"n": {}}; locked(&o.byName["n"].mu) },
		`order.byItem key of type *arena.item.mu: sync`:      func(o *order) { i := &item{}; locked(&i.mu); o.byItem = map[*item]bool{i: true} },
		`order.values["c"]: chan bool cannot be copied`:      func(o *order) { o.values = map[string]any{"c": make(chan bool)} },
		`order.any.(*arena.item).mu: sync.Mutex is locked`:   func(o *order) { i := &item{}; locked(&i.mu); o.any = i },
		`order.any.(arena.item).done: chan int cannot`:       func(o *order) { o.any = item{done: make(chan int)} },
		`order.any.([]interface {})[1].([2]func())[1]: func`: func(o *order) { o.any = []any{1, [2]func(){nil, func() {}}} },
		`order.rw[4].RWMutex: sync.RWMutex is locked`:        func(o *order) { o.rw[4].RLock() },
		`order.wait: sync.WaitGroup is waited for`:           func(o *order) { o.wait.Add(1) },
		`order.cond.notify: sync.notifyList of a sync.Cond`:  func(o *order) { o.cond = used },
		`order.file: os.File is an open file`:                func(o *order) { o.file = file },
		`order.pool.New: func() interface {} cannot`:         func(o *order) { o.pool = &sync.Pool{New: func() any { return 1 }} },
		`order.grid[1][2].done: chan int cannot be copied`:   func(o *order) { o.grid[1][2] = &item{done: make(chan int)} },
	} {
		o := &order{items: make([]item, 5)}
		spoil(o)
		refused(t, o, want)
	}
	if c := Heap(&order{items: make([]item, 5), pool: &sync.Pool{}, cond: sync.NewCond(&sync.Mutex{})}); len(c.items) != 5 {
		t.Error("what is at rest was refused or lost")
	}
}

// refused says whether o cannot be cloned, why, and that nothing is left of the attempt.
func refused(t *testing.T, o *order, want string) {
	t.Helper()
	a := NewArena()
	defer a.Free()
	keep := New[order](a)
	keep.items = MakeSlice[item](a, 1, 1)
	point := a.Checkpoint()
	before, marks := a.Stats(), len(a.marks)
	c, err := tryDeepClone(a, o)
	if c != nil || !errors.Is(err, ErrUncloneable) || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want: %s", err, want)
	}
	if after := a.Stats(); after.InUse != before.InUse {
		t.Errorf("%s: %d bytes in use, %d before", want, after.InUse, before.InUse)
	}
	func() {
		defer func() {
			if e, ok := recover().(error); !ok || !strings.Contains(e.Error(), "DeepClone of *arena.order: ") || !errors.Is(e, ErrUncloneable) {
				t.Errorf("the panic is %v", e)
			}
		}()
		DeepClone(a, o)
	}()
	if len(a.marks) != marks {
		t.Errorf("%d marks are left", len(a.marks))
	}
	a.Rewind(point)
	if len(keep.items) != 1 || New[order](a).items != nil {
		t.Error("the arena is not what it was")
	}
	if _, err := tryHeap(o); !errors.Is(err, ErrUncloneable) || !strings.Contains(err.Error(), want) {
		t.Errorf("Heap: %v, want: %s", err, want)
	}
}

// TestDeepCloneRefusesDeep refuses the last node of a long list, whose path is as long.
func TestDeepCloneRefusesDeep(t *testing.T) {
	type node struct {
		next *node
		ch   chan int
	}
	n := 300_000
	if testing.Short() || raceEnabled {
		n = 50_000
	}
	list := &node{ch: make(chan int)}
	for range n - 1 {
		list = &node{next: list}
	}
	want := fmt.Sprintf("Heap of *arena.node: node%s… (%d more) …%s.ch: chan int cannot be copied", strings.Repeat(".next", 7), n+1-16, strings.Repeat(".next", 7))
	c, err := tryHeap(list)
	if c != nil || !errors.Is(err, ErrUncloneable) || !strings.Contains(err.Error(), want) {
		t.Errorf("the error is %.1000v, want: %s", err, want)
	}
	// A path of this length is not abbreviated.
	list = &node{ch: make(chan int)}
	for range 10 {
		list = &node{next: list}
	}
	want = "node" + strings.Repeat(".next", 10) + ".ch: chan int"
	if _, err = tryHeap(list); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the error is %v, want: %s", err, want)
	}
}

func TestDeepCloneShareRefused(t *testing.T) {
	i := &item{done: make(chan int), call: func() {}, raw: unsafex.PtrOf(t)}
	i.mu.Lock()
	share := func(types ...reflect.Type) CloneOptions { return CloneOptions{Share: types} }
	c := Heap(i, share(reflect.TypeFor[chan int](), reflect.TypeFor[unsafex.Ptr]()), share(reflect.TypeFor[func()](), nil, reflect.TypeFor[sync.Mutex]()))
	if c == i || c.done != i.done || c.raw != i.raw || c.call == nil || c.mu.TryLock() {
		t.Errorf("what was named became %+v", c)
	}
	if c := Heap(i, share(reflect.TypeFor[item]())); c != i {
		t.Error("a pointer to what was named was not kept")
	}
	if c := Heap([]item{{done: i.done}}, share(reflect.TypeFor[item]())); c[0].done != i.done {
		t.Error("the bits of what was named were not copied")
	}
}

// mustPanic calls f, which must panic with an error that has such words.
func mustPanic(t *testing.T, words string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if e, ok := recover().(error); !ok || !strings.Contains(e.Error(), words) {
			t.Errorf("the panic is %v, want: %s", e, words)
		}
	}()
	f()
}

func TestDeepCloneLimit(t *testing.T) {
	var list *member
	for i := range 2000 {
		list = &member{id: i, name: strings.Repeat("n", i%40), next: list}
	}
	for _, kind := range []func() *Arena{NewArena, NewShared} {
		a := kind()
		defer a.Free()
		var failed, worked bool
		for limit := int64(1 << 10); limit < 2<<20; limit += limit / 2 {
			a.SetLimit(limit)
			before := a.Stats().InUse
			c, err := tryDeepClone(a, list)
			switch {
			case err != nil && (!errors.Is(err, offheap.ErrLimit) || c != nil):
				t.Fatalf("%v, and %v", err, c)
			case err != nil:
				failed = true
				if after := a.Stats().InUse; a.from.onGo() && after != before {
					t.Errorf("%d bytes in use after a limit was reached, %d before", after, before)
				}
			case c.id != 1999 || c.next.next.name != list.next.next.name:
				t.Error("the copy is another")
			default:
				worked = true
			}
			a.Reset(GiveBack)
		}
		if !failed || !worked {
			t.Errorf("limits: failed %v, worked %v", failed, worked)
		}
	}
}

func TestDeepCloneMisuse(t *testing.T) {
	a := NewArena()
	v := DeepClone(a, []string{"x"})
	a.Free()
	for _, f := range []func(){func() { DeepClone(a, v) }, func() { DeepClone(a, 1) }, func() { tryDeepClone(a, v) }} {
		mustPanic(t, "which was freed", f)
	}
	if freehold.HeapMode() {
		return
	}
	for _, off := range []*Arena{NewOffHeap(Options{}), NewFixed(1 << 16)} {
		if s := DeepClone(off, "text"); s != "text" || !off.Owns(s) {
			t.Errorf("%q is not in the arena off the heap", s)
		}
		if s := DeepClone(off, []int{1, 2}); s[1] != 2 || !off.Owns(s) {
			t.Errorf("%v is not in the arena off the heap", s)
		}
		type flag struct{ on bool }
		flags := []flag{{true}}
		if off.from.fixed {
			mustPanic(t, "holds a bool", func() { DeepClone(off, flags) })
		} else {
			if f := DeepClone(off, flags); !f[0].on || !off.Owns(f) {
				t.Error("a bool is not in the arena off the heap")
			}
		}
		before := off.Stats()
		mustPanic(t, "Go pointer", func() { DeepClone(off, []string{"a"}) })
		mustPanic(t, "Go pointer", func() { tryDeepClone(off, &member{}) })
		if off.Stats() != before {
			t.Errorf("%+v, before %+v", off.Stats(), before)
		}
		off.Free()
	}
}

// TestDeepCloneWords keeps GC-8, beside TestDeepCloneInterfaces.
func TestDeepCloneWords(t *testing.T) {
	s := make([]int, 2, 5)
	words := unsafex.SliceOf[uintptr](unsafex.PtrOf(&s), 3, 3)
	if words[0] != unsafex.SliceAddr(s) || words[1] != 2 || words[2] != 5 {
		t.Errorf("a slice is %x", words)
	}
	text := strings.Repeat("x", 3)
	words = unsafex.SliceOf[uintptr](unsafex.PtrOf(&text), 2, 2)
	if words[0] != unsafex.PtrAddr(unsafex.StringData(text)) || words[1] != 3 {
		t.Errorf("a string is %x", words)
	}
	for _, v := range []any{new(int), map[int]int{}, bare{new(int)}, [1]*int{new(int)}} {
		if !isDirect(reflect.TypeOf(v)) {
			t.Errorf("a %T does not stand itself in an interface", v)
		}
	}
	for _, v := range []any{1, "", uintptr(1), struct{}{}, struct{ a, b *int }{}} {
		if isDirect(reflect.TypeOf(v)) {
			t.Errorf("a %T stands itself in an interface", v)
		}
	}
}

// Keys with methods that package fmt would call.
type (
	meddlingInt   int
	meddlingFloat float32
	meddlingBool  bool
	meddlingText  string
)

// meddled counts the calls.
var meddled int

func (meddlingInt) String() string  { meddled++; return "" }
func (meddlingFloat) Error() string { meddled++; return "" }
func (meddlingBool) String() string { meddled++; return "" }
func (meddlingText) String() string { meddled++; return "" }

// TestDeepCloneCallsNoMethods: the path in a refusal has keys of maps. No method of a key makes
// their text: it could use the arena, or free it, in the midst of the clone.
func TestDeepCloneCallsNoMethods(t *testing.T) {
	refuse := func(what any, want string) {
		for range 2 { // In one pass first.
			a := NewArena()
			_, err := tryDeepClone(a, what)
			if !errors.Is(err, ErrUncloneable) || !strings.Contains(err.Error(), want) {
				t.Errorf("the error is %v, want one with %s", err, want)
			}
			a.Free()
		}
	}
	f := func() {}
	refuse(map[meddlingInt]func(){-7: f}, "[-7]")
	refuse(map[uint8]func(){7: f}, "[7]")
	refuse(map[meddlingFloat]func(){0.1: f}, "[0.1]")
	refuse(map[meddlingBool]func(){true: f}, "[true]")
	refuse(map[meddlingText]func(){"x": f}, `["x"]`)
	refuse(map[complex64]func(){2i: f}, "[(0+2i)]")
	refuse(map[[1]meddlingInt]func(){{1}: f}, "[of type [1]arena.meddlingInt]")
	refuse(map[any]func(){meddlingInt(1): f}, "[of type interface {}]")
	if meddled != 0 {
		t.Errorf("methods of keys were called %d times", meddled)
	}
}
