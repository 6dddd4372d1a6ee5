// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"bytes"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"weak"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/internal/checks/testenv"
	"github.com/freehold-go/freehold/internal/debugmode"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// A remnant leads to values of an arena that was reset. The clone's own values get the memory of
// old, so that old changes after the walk: fresh is copied there before old is copied.
type remnant[T any] struct {
	fresh []T
	old   []T
	none  *struct{ empty []struct{} }
}

// debugging says whether a debug mode is on. The first arena of a process reads the modes.
func debugging() bool {
	NewArena().Free()
	return debugmode.On()
}

// farAway is a length that reaches beyond the memory of small values.
const farAway = 1 << 16

type colossus [farAway]byte

func (c *colossus) String() string { return "colossus" }

type colossal struct {
	p     *int
	bytes colossus
}

func (c colossal) String() string { return "colossal" }

// TestDeepCloneStale clones headers that change between walk and copy, in one goroutine.
func TestDeepCloneStale(t *testing.T) {
	if debugging() {
		t.Skip("the debug modes report the stale value")
	}
	for name, kind := range map[string]func() *Arena{"arena": NewArena, "shared": NewShared} {
		t.Run(name, func(t *testing.T) {
			cloneRemnant(t, kind, "slice", bytes.Repeat([]byte{7}, farAway))
			cloneRemnant(t, kind, "string", strings.Repeat("s", farAway))
			cloneRemnant(t, kind, "pointer", &colossus{})
			cloneRemnant(t, kind, "map", map[string]*colossus{"k": {}})
			cloneRemnant[any](t, kind, "pointer in any", &colossus{})
			cloneRemnant[any](t, kind, "value in any", colossal{p: new(int)})
			cloneRemnant[any](t, kind, "number in any", 1<<30)
			cloneRemnant[fmt.Stringer](t, kind, "pointer in interface", &colossus{})
			cloneRemnant[fmt.Stringer](t, kind, "value in interface", colossal{p: new(int)})
			cloneRemnant(t, kind, "struct", struct {
				s    string
				list []*colossus
			}{strings.Repeat("s", farAway), make([]*colossus, farAway)})
			cloneRemnant(t, kind, "array", [6][]*int{5: make([]*int, farAway)})
		})
	}
}

// cloneRemnant clones a remnant of a's values, once so that the clone succeeds or is refused within
// old, once so that it is refused within fresh.
func cloneRemnant[T any](t *testing.T, kind func() *Arena, name string, value T) {
	for n := 1; n <= 3; n++ {
		a := kind()
		all := MakeSlice[T](a, 3*n, 3*n)
		a.Reset(Keep)
		r := &remnant[T]{make([]T, n), all[:n:n], &struct{ empty []struct{} }{make([]struct{}, 3)}}
		for i := range r.fresh {
			r.fresh[i] = value
		}
		c := cloneStale(t, a, r)
		soundHeaders(t, name+", what was there", all)
		if c != nil {
			soundHeaders(t, name+", the copy", c.old)
			soundHeaders(t, name+", the copy", c.fresh)
			if !reflect.DeepEqual(c.fresh, r.fresh) {
				t.Errorf("%s: what is alive became another value", name)
			}
		}
		runtime.KeepAlive(all)
		a.Free()
	}
}

// cloneStale is the clone, or nil if DeepClone says that the value changed.
func cloneStale[T any](t *testing.T, a *Arena, v *T) (c *T) {
	defer func() {
		if r := recover(); r != nil {
			if e, ok := r.(error); !ok || !strings.Contains(e.Error(), "reset or freed before") {
				t.Errorf("the panic is %v", r)
			}
		}
	}()
	return DeepClone(a, v)
}

// soundHeaders says which values have a header without memory: a length over nil, or a pointer to
// no bytes.
func soundHeaders[T any](t *testing.T, name string, values []T) {
	t.Helper()
	words := unsafex.SliceOf[uintptr](unsafex.DataOf(values), len(values)*int(unsafex.Size[T]())/wordSize, len(values)*int(unsafex.Size[T]())/wordSize)
	for i, w := range words {
		if w == unsafex.Addr(&empty) {
			t.Errorf("%s: word %d leads to a variable of no bytes: %#x", name, i, words)
		}
	}
	for i := range values {
		if why := unsound(reflect.ValueOf(&values[i]).Elem()); why != "" {
			t.Errorf("%s: value %d %s: %#x", name, i, why, words)
		}
	}
}

// unsound describes the first bad header in v, "" if there is none.
func unsound(v reflect.Value) string {
	word := func(i uintptr) uintptr { return loadWord(v.Addr().UnsafePointer(), i) }
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if why := unsound(v.Field(i)); why != "" {
				return why
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			if why := unsound(v.Index(i)); why != "" {
				return why
			}
		}
	case reflect.Slice:
		if word(0) == 0 && word(2) != 0 || word(1) > word(2) {
			return "is a slice without memory"
		}
	case reflect.String:
		if word(0) == 0 && word(1) != 0 {
			return "is a string without memory"
		}
	case reflect.Interface:
		if word(0) != 0 && word(1) == 0 {
			return "is an interface without a value"
		}
	}
	return ""
}

// TestDeepCloneStaleEnds clones lists whose last node is a stale one, into the arena that it
// belongs to. The first node of the copy has the memory of the stale node. A pass that copies what
// it has just written never ends.
func TestDeepCloneStaleEnds(t *testing.T) {
	if debugging() || freehold.HeapMode() {
		t.Skip("the arena does not reuse the memory")
	}
	type node struct {
		next *node
		_    [6]uintptr
	}
	const limit = 16 << 20
	for length := mostDepth - 2; length <= mostDepth+2; length++ {
		for _, skip := range []int{0, 1, 5} { // The stale node is this one of its chunk.
			a := NewArena()
			a.SetLimit(limit)
			var list *node
			for range skip + 1 {
				list = New[node](a)
			}
			a.Reset(Keep)
			held := a.Stats().Held
			for range length {
				list = &node{next: list}
			}
			cloneStale(t, a, list)
			if s := a.Stats(); s.Held > held+1<<20 || s.InUse > 1<<20 {
				t.Errorf("the clone of %d nodes with a stale one took %d bytes", length+1, s.Held-held)
			}
			a.Free()
		}
	}
}

// scribbled is a variable of an arena that was reset, and the value that a stale pointer writes there.
type scribbled struct {
	value  any
	method fmt.Stringer
	self   *any // Leads to value in a scribbled that is copied the long way.
}

// TestDeepCloneStaleWrites: a stale pointer has written interfaces to the memory that the clone gets.
// An interface in the clone that holds a nil must not keep their pointers: they lead to values of
// another type.
func TestDeepCloneStaleWrites(t *testing.T) {
	testenv.MisusesMemory(t)
	if debugging() {
		t.Skip("the debug modes keep the memory")
	}
	type other struct{ n [4]uintptr }
	for name, kind := range map[string]func() *Arena{"arena": NewArena, "shared": NewShared} {
		for what, value := range map[string]any{
			"pointer": (*other)(nil), "map": map[int]int(nil), "channel": (chan int)(nil), "function": (func())(nil),
			"array": [1]*other{}, "struct": struct{ p *other }{},
		} {
			for _, inner := range []bool{false, true} {
				a := kind()
				stale := New[scribbled](a)
				a.Reset(Keep)
				stale.value, stale.method = &colossus{}, &colossus{}
				w := &scribbled{value: value, method: (*colossus)(nil)}
				if inner {
					w.self = &w.value
				}
				c := DeepClone(a, w)
				if word := loadWord(unsafex.PtrOf(&c.value), 1); word != 0 || fmt.Sprintf("%T", c.value) != fmt.Sprintf("%T", value) {
					t.Errorf("%s, %s, interior pointer %v: the copy of a nil is a %T with the address %#x", name, what, inner, c.value, word)
				}
				if c.method.(*colossus) != nil {
					t.Errorf("%s, interior pointer %v: the copy of a nil in an interface with methods is not nil", name, inner)
				}
				runtime.KeepAlive(stale)
			}
		}
	}
}

// TestDeepCloneKeepsMaps drops a map while the pass runs, as happens to one to which only a stale value leads,
// once the copies have the memory of that value. The pass knows maps by address alone: if the collector took
// the map, the pass could take a copy of another type for it.
func TestDeepCloneKeepsMaps(t *testing.T) {
	c := &cloner{op: "DeepClone", plans: callerPlans(0)}
	c.ledger.open()
	defer c.endOnePass()
	p := c.plan(reflect.TypeFor[map[int]int]())
	copyAndDrop := func(m map[int]int) weak.Pointer[byte] {
		q := load(unsafex.PtrOf(&m))
		c.mapOnce(p, q)
		return weak.Make(unsafex.As[byte](q))
	}
	entries := 2
	first := copyAndDrop(make(map[int]int, entries))
	second := copyAndDrop(map[int]int{entries: 1})
	copyAndDrop(map[int]int{entries: 2})
	runtime.GC()
	if first.Value() == nil || second.Value() == nil {
		t.Error("the collector took a map whose address the pass knows")
	}
}

// TestDeepCloneStaleMaps clones values of an arena that was rewound. Stale pointers have written maps there, to
// which nothing else leads. The copies get the memory of these values, and then lead to copies of maps of
// another type, while the collector runs.
func TestDeepCloneStaleMaps(t *testing.T) {
	testenv.MisusesMemory(t)
	if debugging() || freehold.HeapMode() {
		t.Skip("the arena does not reuse the memory")
	}
	type value struct {
		texts   map[string]int
		numbers map[int]*value
		_       [2]*value
	}
	const few, many = 2000, 6000
	a := NewArena()
	defer a.Free()
	for range 10 * many { // The last chunk has room for all copies.
		New[value](a)
	}
	a.Reset(Keep)
	at := a.Checkpoint()
	stale := make([]*value, few+many)
	for i := range stale {
		stale[i] = New[value](a)
	}
	a.Rewind(at)
	var all []*value
	for i := range few {
		stale[i].texts = map[string]int{"text": i}
		all = append(all, stale[i])
	}
	for i := range many {
		all = append(all, &value{numbers: map[int]*value{i: nil, -1 - i: nil}})
	}
	all = append(all, stale[few:]...)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				runtime.GC()
			}
		}
	}()
	c := cloneStale(t, a, &all)
	close(stop)
	<-stopped
	if c == nil {
		return
	}
	for i, v := range *c {
		if n := len(v.numbers); n != 0 && n != 2 { // Copies of copies are empty: the maps are filled at the end.
			t.Fatalf("value %d has a map of another type, of %d entries", i, n)
		}
	}
}

// A wrapped is cloned the long way if a pointer leads into it.
type wrapped struct {
	value any
	text  *string
}

// TestDeepCloneStaleUnits clones values of an arena that was reset. Their copies get their own memory, or that of each other, so that a
// value changes while it is copied. The clone must not share what the walk did not find shared, but for what a stale pointer wrote where
// the clone lies.
func TestDeepCloneStaleUnits(t *testing.T) {
	testenv.MisusesMemory(t)
	if debugging() || freehold.HeapMode() {
		t.Skip("the arena does not reuse the memory")
	}
	for name, kind := range map[string]func() *Arena{"arena": NewArena, "shared": NewShared} {
		for what, order := range map[string][]int{"in its own place": {0}, "in each other's place": {1, 0}, "in order": {0, 1}} {
			for _, value := range []any{&otherBuilder, new(int), 1, nil} {
				a, other := kind(), NewArena()
				text := New[string](other)
				old := []*wrapped{New[wrapped](a), New[wrapped](a)}
				for range 3 { // A clone in one pass, and some the long way.
					a.Reset(Keep)
					*old[0], *old[1] = wrapped{value, text}, wrapped{(*int)(nil), nil}
					all := make([]*wrapped, len(order))
					for i, k := range order {
						all[i] = old[k]
					}
					c := cloneStale(t, a, &all)
					if c == nil {
						continue
					}
					for i, w := range *c {
						if w.text == text && w != old[0] { // There it is the stale write itself.
							t.Errorf("%s, %s: clone %d shares a text of another arena", name, what, i)
						}
						if p, ok := w.value.(*int); ok && p == nil && value != nil && w.text != nil {
							t.Errorf("%s, %s: clone %d has a nil that nobody stored beside the text", name, what, i)
						}
					}
				}
				a.Free()
				other.Free()
			}
		}
	}
}
