// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"container/list"
	"fmt"
	"math/big"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/internal/checks/samegraph"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// A modeler makes types and values of what a string of bytes says.
type modeler struct {
	script  []byte
	types   []reflect.Type
	values  map[reflect.Type][]reflect.Value // Addressable, parts of others too.
	slices  map[reflect.Type][]reflect.Value
	text    string
	counter int64 // Numbers differ, so that map keys can be told apart.
	budget  int   // Values to make yet.

	landscape
	arena  *Arena          // Some values lie here.
	kept   []reflect.Value // What images are taken of.
	ground uintptr         // Bytes of groundMade that are used.
}

// The package-level variables of all models. Values of types that package reflect makes lie in the
// words of the last one, all of which the collector takes for pointers: numbers that are none must
// be small.
var (
	groundTwists  [4]twist
	groundAnys    [3]any
	groundTexts   [3]string
	groundNumbers [6]int
	groundRoots   [1][]any
	groundMade    [512]unsafex.Ptr
)

// next is a number below n, 0 at the end of the script.
func (m *modeler) next(n int) int {
	if len(m.script) == 0 || n <= 0 {
		return 0
	}
	x := int(m.script[0])
	m.script = m.script[1:]
	return x % n
}

const (
	ownPackage     = "github.com/freehold-go/freehold/arena"
	foreignPackage = "example.com/foreign"
)

// someTypes are those to begin with. twist and inward lead on.
var someTypes = []reflect.Type{
	reflect.TypeFor[int](), reflect.TypeFor[string](), reflect.TypeFor[any](), reflect.TypeFor[byte](), reflect.TypeFor[bool](),
	reflect.TypeFor[float64](), reflect.TypeFor[complex64](), reflect.TypeFor[struct{}](), reflect.TypeFor[*int](), reflect.TypeFor[[]byte](),
	reflect.TypeFor[twist](), reflect.TypeFor[inward](), reflect.TypeFor[list.Element](), reflect.TypeFor[big.Int](), reflect.TypeFor[fmt.Stringer](),
	reflect.TypeFor[[0]*int](), reflect.TypeFor[chan int](), reflect.TypeFor[func()](), reflect.TypeFor[big.Word](),
}

type twist struct {
	N     int
	next  *twist
	any   any
	list  []twist
	table map[string]*twist
	inner struct{ pair [2]inward }
}

func (k *twist) String() string { return "twist" }

func (m *modeler) typ() reflect.Type { return m.types[m.next(len(m.types))] }

// newType adds a type made of others.
func (m *modeler) newType() {
	t := m.typ()
	switch m.next(6) {
	case 0:
		t = reflect.PointerTo(t)
	case 1:
		t = reflect.SliceOf(t)
	case 2:
		t = reflect.ArrayOf(m.next(8), t)
	case 3:
		keys := []reflect.Type{reflect.TypeFor[int](), reflect.TypeFor[string](), reflect.TypeFor[*int](), reflect.TypeFor[any](),
			reflect.TypeFor[[2]string](), reflect.TypeFor[struct{ P *int }]()}
		t = reflect.MapOf(keys[m.next(len(keys))], t)
	default:
		t = m.structType(t)
	}
	if t.Size() < 4<<10 {
		m.types = append(m.types, t)
	}
}

func (m *modeler) structType(t reflect.Type) reflect.Type {
	pkg := []string{"", ownPackage, foreignPackage}[m.next(3)]
	var fields []reflect.StructField
	for i := range 1 + m.next(5) {
		f := reflect.StructField{Name: fmt.Sprint("F", i), Type: t}
		if pkg != "" && m.next(2) == 0 {
			f.Name, f.PkgPath = fmt.Sprint("f", i), pkg
		}
		fields = append(fields, f)
		t = m.typ()
	}
	return reflect.StructOf(fields)
}

// fill gives the addressable v a value, and notes its parts. A foreign v must be as an assignment
// can copy it.
func (m *modeler) fill(v reflect.Value, foreign bool) {
	t := v.Type()
	if m.budget--; m.budget < 0 || t.Size() == 0 { // An array of arrays may have no size and very many elements.
		return
	}
	v = reflect.NewAt(t, v.Addr().UnsafePointer()).Elem() // So that unexported fields can be set.
	switch t.Kind() {
	case reflect.Struct:
		m.fillStruct(v, foreign)
	case reflect.Array:
		for i := range v.Len() {
			m.fill(v.Index(i), foreign)
		}
	case reflect.Pointer, reflect.Slice, reflect.String, reflect.Map, reflect.Interface:
		if foreign {
			m.hold(v)
		} else {
			m.lead(v)
		}
	case reflect.Bool:
		v.SetBool(m.next(2) == 0)
	case reflect.Int:
		m.counter++
		v.SetInt(m.counter)
	case reflect.Uint8, reflect.Uint:
		v.SetUint(uint64(m.next(256)))
	case reflect.Float64:
		v.SetFloat(float64(m.next(256)))
	case reflect.Complex64:
		v.SetComplex(complex(float64(m.next(256)), 1))
	}
	if !foreign {
		m.values[t] = append(m.values[t], v)
	}
}

func (m *modeler) fillStruct(v reflect.Value, foreign bool) {
	t := v.Type()
	switch t {
	case reflect.TypeFor[big.Int]():
		if foreign {
			return
		}
		v.Set(reflect.ValueOf(new(big.Int).Lsh(big.NewInt(3), uint(m.next(200)))).Elem())
		return
	case reflect.TypeFor[list.Element]():
		m.fill(v.FieldByName("Value"), foreign)
		return
	}
	for i := range t.NumField() {
		m.fill(v.Field(i), foreign || t.Field(i).PkgPath == foreignPackage)
	}
}

// hold makes v, in a field that keeps its bits, lead to memory that lives as long as the program, or
// to immutable memory.
func (m *modeler) hold(v reflect.Value) {
	switch v.Type() {
	case reflect.TypeFor[string]():
		v.SetString(m.text[m.next(9):])
	case reflect.TypeFor[*int]():
		v.Set(reflect.ValueOf(&groundNumbers[m.next(6)]))
	}
}

// make is a pointer to a new variable of type t: in a package-level variable, in an arena or on the
// Go heap.
func (m *modeler) make(t reflect.Type) reflect.Value {
	var p reflect.Value
	size := (t.Size() + 2*wordSize - 1) &^ (wordSize - 1) // With a word that belongs to none.
	switch where := m.next(4); {
	case where == 0 && wordSize == 8 && m.ground+size <= unsafex.Size[[512]unsafex.Ptr](): // Half a float64 may be a pointer.
		p = reflect.NewAt(t, unsafex.Add(unsafex.PtrOf(&groundMade), m.ground))
		m.ground += size
	case where == 1 && m.arena != nil:
		p = reflect.ValueOf(NewOf(m.arena, t))
	default:
		p = reflect.New(t)
	}
	m.kept = append(m.kept, p)
	if t.Size() != 0 {
		m.live = append(m.live, samegraph.SpanOf(p.Interface()))
	}
	return p
}

// plant fills the package-level variables.
func (m *modeler) plant() {
	clear(groundMade[:])
	m.globals = append(m.globals, samegraph.SpanOf(groundMade[:]))
	for _, p := range []any{&groundNumbers, &groundTexts, &groundTwists, &groundAnys, &groundRoots} {
		m.globals = append(m.globals, samegraph.SpanOf(p))
		v := reflect.ValueOf(p).Elem()
		v.SetZero()
		m.slices[reflect.SliceOf(v.Type().Elem())] = []reflect.Value{v.Slice(0, v.Len())}
	}
	for _, p := range []any{&groundNumbers, &groundTexts, &groundTwists, &groundAnys} {
		m.fill(reflect.ValueOf(p).Elem(), false)
	}
	m.live = append(m.live, m.globals...)
}

// lead makes v lead somewhere.
func (m *modeler) lead(v reflect.Value) {
	t := v.Type()
	switch t.Kind() {
	case reflect.Pointer:
		if old := m.values[t.Elem()]; len(old) > 0 && m.next(3) > 0 {
			v.Set(old[m.next(len(old))].Addr())
		} else if m.next(4) > 0 {
			v.Set(m.make(t.Elem()))
			m.fill(v.Elem(), false)
		}
	case reflect.String:
		low := m.next(len(m.text))
		v.SetString(m.text[low : low+m.next(len(m.text)-low+1)])
	case reflect.Interface:
		if x := m.boxed(t); x.IsValid() {
			v.Set(x)
		}
	case reflect.Slice:
		m.leadSlice(v)
	case reflect.Map:
		if m.next(3) == 0 {
			return
		}
		v.Set(reflect.MakeMap(t))
		for range m.next(4) {
			k, e := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
			m.key(k)
			m.fill(e, false)
			v.SetMapIndex(k, e)
		}
	}
}

// key makes a map key that can be told from others.
func (m *modeler) key(k reflect.Value) {
	number := func() *int {
		if old := m.values[reflect.TypeFor[int]()]; len(old) > 0 {
			return old[m.next(len(old))].Addr().Interface().(*int)
		}
		m.counter++
		n := int(m.counter)
		return &n
	}
	switch x := k.Addr().Interface().(type) {
	case *int:
		m.counter++
		*x = int(m.counter)
	case *string:
		*x = m.text[:m.next(len(m.text))]
	case *[2]string:
		x[1] = m.text[:m.next(len(m.text))]
	case **int:
		*x = number()
	case *struct{ P *int }:
		x.P = number()
	case *any:
		*x = []any{m.text[1 : m.next(9)+1], m.next(9), number(), [1]*int{number()}, [2]int{m.next(5), 1}, nil}[m.next(6)]
	}
}

// boxed is a value for an interface of type t.
func (m *modeler) boxed(t reflect.Type) reflect.Value {
	if t.NumMethod() > 0 {
		old := m.values[reflect.TypeFor[twist]()]
		if len(old) == 0 {
			return reflect.ValueOf(&twist{N: 1})
		}
		return old[m.next(len(old))].Addr()
	}
	dynamic := m.typ()
	if k := dynamic.Kind(); k == reflect.Interface || m.next(5) == 0 {
		return reflect.Value{}
	}
	if old := m.values[dynamic]; len(old) > 0 && m.next(2) == 0 {
		if v := old[m.next(len(old))]; m.next(2) == 0 {
			return v.Addr()
		}
	}
	v := reflect.New(dynamic).Elem()
	m.fill(v, false)
	return v
}

func (m *modeler) leadSlice(v reflect.Value) {
	t := v.Type()
	if old := m.slices[t]; len(old) > 0 && m.next(3) > 0 {
		s := old[m.next(len(old))]
		low := m.next(s.Cap() + 1)
		high := low + m.next(s.Cap()-low+1)
		v.Set(s.Slice3(low, high, high+m.next(s.Cap()-high+1)))
		return
	}
	if m.next(5) == 0 {
		return
	}
	n := m.next(6)
	array := m.make(reflect.ArrayOf(n+m.next(4), t.Elem())).Elem()
	s := array.Slice(0, n).Convert(t)
	for i := range n {
		m.fill(s.Index(i), false)
	}
	m.slices[t] = append(m.slices[t], s)
	v.Set(s)
}

// cloneModel makes types and values of what the script says, clones them and judges the clones.
func cloneModel(t *testing.T, a *Arena, script []byte) {
	other := NewArena()
	defer other.Free()
	m := &modeler{script: script, types: someTypes[:len(someTypes):len(someTypes)], text: strings.Repeat("some text ", 3)[1:],
		values: map[reflect.Type][]reflect.Value{}, slices: map[reflect.Type][]reflect.Value{}, budget: 3000}
	m.arena = []*Arena{other, a}[m.next(2)]
	for range 4 + m.next(20) {
		m.newType()
	}
	m.plant()
	defer func() { // The garbage of one model is not to be the next one's.
		for _, p := range []any{&groundNumbers, &groundTexts, &groundTwists, &groundAnys, &groundRoots, &groundMade} {
			reflect.ValueOf(p).Elem().SetZero()
		}
		runtime.KeepAlive(m)
	}()
	j := &oracle{T: t, script: script, a: a, long: m.next(2) == 1, try: m.next(2) == 1}
	kind := m.next(6)
	roots := make([]any, 0, 16)
	for len(m.script) > 0 && len(roots) < cap(roots) {
		v := m.make(m.typ())
		m.fill(v.Elem(), false)
		roots = append(roots, v.Interface())
	}
	j.landscape = m.landscape
	switch kind {
	case 0:
		judge[any](j, &roots)
	case 1:
		groundRoots[0] = roots
		judge(j, &groundRoots[0])
	case 2:
		groundTwists[1].any = roots
		judge(j, &groundTwists[1])
	case 3:
		groundTwists[2].any, groundTwists[0].list = roots, groundTwists[1:]
		judge(j, groundTwists[:3])
	default:
		judge(j, &roots)
	}
}

func FuzzDeepCloneTypes(f *testing.F) {
	for seed := range uint64(30) {
		f.Add(randomScript(rand.New(rand.NewPCG(seed, 1)), 1000))
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		a := destinations[len(script)%len(destinations)]()
		defer a.Free()
		cloneModel(t, a, script)
	})
}

func randomScript(rng *rand.Rand, n int) []byte {
	script := make([]byte, n)
	for i := range script {
		script[i] = byte(rng.Uint32())
	}
	return script
}

func TestDeepCloneModels(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	rounds := 30
	if testing.Short() || raceEnabled {
		rounds = 6
	}
	for _, make := range destinations {
		a := make()
		defer a.Free()
		for range rounds {
			cloneModel(t, a, randomScript(rng, rng.IntN(1500)))
			a.Reset(Keep)
		}
	}
}
