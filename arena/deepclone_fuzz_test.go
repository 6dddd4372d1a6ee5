package arena

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"testing"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// A vertex has a field for every way to lead somewhere. IDs are unique.
type vertex struct {
	ID     int
	Flag   bool
	Name   string
	Next   *vertex
	Twice  **vertex
	Number *int
	Inner  *inward
	Pair   [2]inward
	Wide   [7]inward
	Ints   []int
	Bytes  []byte
	List   []*vertex
	Block  []vertex
	Any    any
	Face   fmt.Stringer
	ByName map[string]*vertex
	ByPtr  map[*vertex][]int
	ByAny  map[any]*inward
}

type inward struct {
	N int32
	P *int
	S string
}

func (v *vertex) String() string { return v.Name }
func (i inward) String() string  { return i.S }

// A grower makes graphs of what a string of bytes says.
type grower struct {
	script   []byte
	vertices []*vertex
	ints     []int
	text     string
}

// next is a number below n.
func (g *grower) next(n int) int {
	if len(g.script) == 0 {
		return 0
	}
	x := int(g.script[0])
	g.script = g.script[1:]
	return x % n
}

func (g *grower) any() *vertex { return g.vertices[g.next(len(g.vertices))] }

func (g *grower) add(v *vertex) {
	v.ID = len(g.vertices) + 1
	g.vertices = append(g.vertices, v)
}

// number is a pointer to some int.
func (g *grower) number() *int {
	switch g.next(3) {
	case 0:
		return &g.any().ID
	case 1:
		return &g.ints[g.next(len(g.ints))]
	}
	return new(int)
}

func (g *grower) slice() []int {
	low := g.next(len(g.ints))
	high := low + g.next(len(g.ints)-low+1)
	return g.ints[low:high:min(high+g.next(5), len(g.ints))]
}

func (g *grower) string() string {
	low := g.next(len(g.text))
	return g.text[low : low+g.next(len(g.text)-low+1)]
}

func (g *grower) inward() *inward {
	v := g.any()
	i := [...]*inward{&v.Pair[g.next(2)], &v.Wide[g.next(7)], {N: 7}}[g.next(3)]
	i.S, i.P = g.string(), g.number()
	return i
}

func grow(script []byte) *vertex {
	g := &grower{script: script, ints: make([]int, 20), text: string([]byte("some text with many parts"))}
	for i := range g.ints {
		g.ints[i] = i * i
	}
	g.add(&vertex{})
	for len(g.script) > 0 && len(g.vertices) < 200 {
		v := g.any()
		switch g.next(16) {
		case 0:
			v.Next = &vertex{Name: g.string(), Flag: true}
			g.add(v.Next)
		case 1:
			v.Next = g.any()
		case 2:
			v.Twice = &g.any().Next
		case 3:
			v.Number = g.number()
		case 4:
			v.Inner = g.inward()
		case 5:
			v.Ints = g.slice()
		case 6:
			v.List = append(v.List, g.any())
		case 7:
			if v.Block == nil {
				v.Block = make([]vertex, 1+g.next(3), 5)
				for i := range v.Block {
					g.add(&v.Block[i])
				}
			}
		case 8:
			v.Block = g.any().Block
		case 9:
			v.Any = [...]any{g.any(), *g.inward(), g.string(), g.slice(), g.next(9), true, &v.Any, [2]*int{g.number()}, nil}[g.next(9)]
		case 10:
			v.Face = [...]fmt.Stringer{g.any(), *g.inward(), g.inward()}[g.next(3)]
		case 11:
			v.ByName = map[string]*vertex{g.string(): g.any(), "nil": nil}
		case 12:
			v.ByPtr = map[*vertex][]int{g.any(): g.slice(), g.any(): nil}
		case 13:
			v.ByName, v.ByPtr = g.any().ByName, g.any().ByPtr
		case 14:
			v.ByAny = map[any]*inward{g.string(): g.inward(), g.next(5): nil, [1]string{g.string()}: g.inward()}
		case 15:
			v.Bytes = []byte(g.string())
		}
	}
	return g.vertices[0]
}

// A matcher walks original and copy side by side, by reflection alone. Every cell of memory, that is a number, a byte of
// a string, a header, must have one cell in the copy, whichever way leads to it, and the other way round.
type matcher struct {
	to, from map[uintptr]uintptr
	maps     map[uintptr]uintptr
	err      error
}

func match(x, y *vertex) error {
	m := &matcher{map[uintptr]uintptr{}, map[uintptr]uintptr{}, map[uintptr]uintptr{}, nil}
	m.value("v", reflect.ValueOf(x).Elem(), reflect.ValueOf(y).Elem())
	for a := range m.to {
		if _, both := m.from[a]; both && m.err == nil {
			return fmt.Errorf("a cell at %#x is in original and copy", a)
		}
	}
	return m.err
}

func (m *matcher) fail(path, format string, args ...any) {
	if m.err == nil {
		m.err = fmt.Errorf(path+": "+format, args...)
	}
}

// cell notes that a stands for b, and says whether it was known.
func (m *matcher) cell(path string, a, b uintptr) (known bool) {
	to, known := m.to[a]
	from, known2 := m.from[b]
	if known != known2 || known && (to != b || from != a) {
		m.fail(path, "the cell at %#x is %#x in the copy, and was %#x; that was %#x", a, b, to, from)
	}
	m.to[a], m.from[b] = b, a
	return known
}

func (m *matcher) value(path string, x, y reflect.Value) {
	if m.err != nil {
		return
	}
	if x.Type() != y.Type() {
		m.fail(path, "%s became %s", x.Type(), y.Type())
		return
	}
	switch x.Kind() {
	case reflect.Struct:
		for i := range x.NumField() {
			m.value(path+"."+x.Type().Field(i).Name, x.Field(i), y.Field(i))
		}
		return
	case reflect.Array:
		for i := range x.Len() {
			m.value(fmt.Sprintf("%s[%d]", path, i), x.Index(i), y.Index(i))
		}
		return
	}
	if x.CanAddr() && y.CanAddr() && m.cell(path, x.Addr().Pointer(), y.Addr().Pointer()) {
		return
	}
	switch x.Kind() {
	case reflect.Pointer, reflect.Interface:
		if x.IsNil() || y.IsNil() {
			if x.IsNil() != y.IsNil() {
				m.fail(path, "%v became %v", x, y)
			}
			return
		}
		m.value(path, x.Elem(), y.Elem())
	case reflect.Slice:
		if x.Len() != y.Len() || x.Cap() != y.Cap() || x.IsNil() != y.IsNil() {
			m.fail(path, "a slice of %d of %d became one of %d of %d", x.Len(), x.Cap(), y.Len(), y.Cap())
			return
		}
		for i := range x.Len() {
			m.value(fmt.Sprintf("%s[%d]", path, i), x.Index(i), y.Index(i))
		}
	case reflect.Map:
		m.mapValue(path, x, y)
	case reflect.String:
		if x.String() != y.String() {
			m.fail(path, "%q became %q", x.String(), y.String())
			return
		}
		a, b := unsafex.PtrAddr(unsafex.StringData(x.String())), unsafex.PtrAddr(unsafex.StringData(y.String()))
		for i := range uintptr(x.Len()) {
			m.cell(path, a+i, b+i)
		}
	default:
		if x.Interface() != y.Interface() {
			m.fail(path, "%v became %v", x, y)
		}
	}
}

func (m *matcher) mapValue(path string, x, y reflect.Value) {
	if x.Len() != y.Len() || x.IsNil() != y.IsNil() {
		m.fail(path, "a map of %d became one of %d", x.Len(), y.Len())
		return
	}
	if known, ok := m.maps[x.Pointer()]; ok || x.IsNil() {
		if known != y.Pointer() {
			m.fail(path, "one map became two")
		}
		return
	}
	m.maps[x.Pointer()] = y.Pointer()
	name := func(k reflect.Value) string {
		if v, ok := k.Interface().(*vertex); ok {
			return fmt.Sprint("vertex ", v.ID)
		}
		return fmt.Sprintf("%T %v", k.Interface(), k.Interface())
	}
	keys := map[string]reflect.Value{}
	for _, k := range y.MapKeys() {
		keys[name(k)] = k
	}
	for _, k := range x.MapKeys() {
		other, ok := keys[name(k)]
		if !ok || !y.MapIndex(other).IsValid() {
			m.fail(path, "the key %s is lost", name(k))
			return
		}
		if k.Kind() == reflect.Pointer {
			m.value(path+" key", k, other)
		}
		m.value(path+"["+name(k)+"]", x.MapIndex(k), y.MapIndex(other))
	}
}

// cloneBothWays clones the graph to an arena and back and compares, also when the original is gone.
func cloneBothWays(t *testing.T, a *Arena, script []byte, collect bool) {
	v := grow(script)
	o := CloneOptions{CopyGlobals: len(script)%2 == 0}
	onlyLongWay(v, len(script)%3 == 0, nil)
	c := DeepClone(a, v, o)
	if err := match(v, c); err != nil {
		t.Fatalf("DeepClone: %v\nscript %q", err, script)
	}
	for _, l := range Audit(a).Leaks {
		if l.Type.Kind() != reflect.Map {
			t.Fatalf("the clone leads out of its arena: %+v\nscript %q", l, script)
		}
	}
	onlyLongWay(v, len(script)%3 == 1, nil)
	h := Heap(c, o)
	if err := match(v, h); err != nil {
		t.Fatalf("Heap of DeepClone: %v\nscript %q", err, script)
	}
	if v = nil; collect {
		runtime.GC()
	}
	if err := match(c, h); err != nil {
		t.Fatalf("after the original was collected: %v\nscript %q", err, script)
	}
	a.Reset(Keep)
	if err := match(grow(script), h); err != nil {
		t.Fatalf("after the arena was reset: %v\nscript %q", err, script)
	}
}

func FuzzDeepClone(f *testing.F) {
	f.Add([]byte{0, 0, 1, 2, 3, 4})
	rng := rand.New(rand.NewPCG(1, 2))
	for range 8 {
		script := make([]byte, 400)
		for i := range script {
			script[i] = byte(rng.Uint32())
		}
		f.Add(script)
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		a := NewArena()
		defer a.Free()
		cloneBothWays(t, a, script, false)
	})
}

func TestDeepCloneGraphs(t *testing.T) {
	kinds := []*Arena{NewArena(), NewShared(), nil}
	for _, a := range kinds {
		defer a.Free()
	}
	rng := rand.New(rand.NewPCG(3, 4))
	rounds := 150
	if testing.Short() || raceEnabled {
		rounds = 30
	}
	for i := range rounds {
		script := make([]byte, rng.IntN(1500))
		for i := range script {
			script[i] = byte(rng.Uint32())
		}
		cloneBothWays(t, kinds[i%len(kinds)], script, true)
	}
}
