package arena

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"testing"

	"github.com/freehold-go/freehold/internal/checks/samegraph"
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

// cloneBothWays clones the graph to an arena and back and compares, also when the original is gone.
func cloneBothWays(t *testing.T, a *Arena, script []byte, collect bool) {
	v := grow(script)
	o := CloneOptions{CopyGlobals: len(script)%2 == 0}
	onlyLongWay(v, len(script)%3 == 0, nil)
	c := DeepClone(a, v, o)
	if err := samegraph.Compare(v, c); err != nil {
		t.Fatalf("DeepClone: %v\nscript %q", err, script)
	}
	for _, l := range Audit(a).Exits {
		if l.Type.Kind() != reflect.Map {
			t.Fatalf("the clone leads out of its arena: %+v\nscript %q", l, script)
		}
	}
	onlyLongWay(v, len(script)%3 == 1, nil)
	h := Heap(c, o)
	if err := samegraph.Compare(v, h); err != nil {
		t.Fatalf("Heap of DeepClone: %v\nscript %q", err, script)
	}
	if v = nil; collect {
		runtime.GC()
	}
	if err := samegraph.Compare(c, h); err != nil {
		t.Fatalf("after the original was collected: %v\nscript %q", err, script)
	}
	a.Reset(Keep)
	if err := samegraph.Compare(grow(script), h); err != nil {
		t.Fatalf("after the arena was reset: %v\nscript %q", err, script)
	}
}

func FuzzDeepClone(f *testing.F) {
	f.Add([]byte{0, 0, 1, 2, 3, 4})
	rng := rand.New(rand.NewPCG(1, 2))
	for range 8 {
		f.Add(randomScript(rng, 400))
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
		cloneBothWays(t, kinds[i%len(kinds)], randomScript(rng, rng.IntN(1500)), true)
	}
}
