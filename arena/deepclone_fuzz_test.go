// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"math/rand/v2"
	"runtime"
	"testing"
)

// These tests clone graphs of the generator, and the oracle judges the clones.

// destinations are the arenas to which graphs are cloned. Nil is the Go heap.
var destinations = []func() *Arena{
	NewArena,
	func() *Arena { return NewWith(Options{NoReuse: true}) },
	NewShared,
	func() *Arena { return nil },
}

// plainDestinations are for values without pointers.
var plainDestinations = []func() *Arena{
	func() *Arena { return NewOffHeap(Options{}) },
	func() *Arena { return NewFixed(1 << 16) },
}

// rooted clones a graph from a root of one type.
var rooted = []func(g *grower, j *oracle){
	func(g *grower, j *oracle) {
		v := element(g, &g.vertices)
		if g.chance(8) {
			v.Call, j.refused = func() {}, true
		}
		judge(j, v)
	},
	func(g *grower, j *oracle) { judge(j, element(g, &g.vertices)) },
	func(g *grower, j *oracle) { judge(j, *element(g, &g.vertices)) },
	func(g *grower, j *oracle) { judge(j, part(g, &g.vertices)) },
	func(g *grower, j *oracle) { judge[any](j, element(g, &g.vertices)) },
	func(g *grower, j *oracle) { judge(j, g.boxed()) },
	func(g *grower, j *oracle) { judge(j, g.stringer()) },
	func(g *grower, j *oracle) { judge(j, element(g, &g.inners)) },
	func(g *grower, j *oracle) { judge(j, element(g, &g.lines)) },
	func(g *grower, j *oracle) { judge(j, element(g, &g.grids)) },
	func(g *grower, j *oracle) { judge(j, element(g, &g.links)) },
	func(g *grower, j *oracle) { judge(j, element(g, &g.words)) },
	func(g *grower, j *oracle) { judge(j, element(g, &g.boxes)) },
	func(g *grower, j *oracle) { judge(j, element(g, &g.headers)) },
	func(g *grower, j *oracle) { judge(j, part(g, &g.links)) },
	func(g *grower, j *oracle) { judge(j, element(g, &g.vertices).ByPtr) },
	func(g *grower, j *oracle) { judge(j, element(g, &g.vertices).ByAny) },
	func(g *grower, j *oracle) {
		judge(j, &struct {
			first *vertex
			rest  []vertex
			box   any
		}{element(g, &g.vertices), part(g, &g.vertices), element(g, &g.vertices)})
	},
	func(g *grower, j *oracle) { plainly(g, j, element(g, &g.ints)) },
	func(g *grower, j *oracle) { plainly(g, j, part(g, &g.ints)) },
	func(g *grower, j *oracle) { plainly(g, j, part(g, &g.bytes)) },
	func(g *grower, j *oracle) { plainly(g, j, g.text()) },
	func(g *grower, j *oracle) { plainly(g, j, element(g, &g.coords)) },
	func(g *grower, j *oracle) { plainly(g, j, part(g, &g.coords)) },
	func(g *grower, j *oracle) { plainly(g, j, g.four()) },
}

// plainly judges clones of a value without pointers in the graph, also to arenas that take no
// others.
func plainly[T any](g *grower, j *oracle, v T) {
	if k := g.next(2 * len(plainDestinations)); k < len(plainDestinations) {
		j.a, j.limit = plainDestinations[k](), 0
		defer j.a.Free()
	}
	judge(j, v)
}

// cloneGraph clones the graph that the script makes to a.
func cloneGraph(t *testing.T, a *Arena, script []byte, collect bool) {
	other, offHeap, fixed := NewArena(), NewOffHeap(Options{}), NewFixed(1<<16)
	defer other.Free()
	defer offHeap.Free()
	defer fixed.Free()
	g := &grower{script: script, arenas: []*Arena{other}, plain: []*Arena{offHeap, fixed, other}}
	if a != nil {
		g.arenas, g.plain = append(g.arenas, a), append(g.plain, a)
	}
	defer g.free()
	g.grow()
	j := &oracle{T: t, landscape: g.landscape, script: script, a: a, collect: collect,
		long: g.chance(2), try: g.chance(2)}
	if g.chance(8) && a != nil && a.from.onGo() {
		j.limit = int64(1 + 100*g.next(200))
	}
	rooted[g.next(len(rooted))](g, j)
}

// staleRooted clones a graph with stale values from a root of one type.
var staleRooted = []func(g *grower, j *oracle){
	func(g *grower, j *oracle) { judgeStale(j, element(g, &g.vertices)) },
	func(g *grower, j *oracle) { judgeStale(j, part(g, &g.vertices)) },
	func(g *grower, j *oracle) { judgeStale[any](j, element(g, &g.vertices)) },
	func(g *grower, j *oracle) { judgeStale(j, part(g, &g.links)) },
	func(g *grower, j *oracle) { judgeStale(j, part(g, &g.words)) },
	func(g *grower, j *oracle) { judgeStale(j, element(g, &g.headers)) },
	func(g *grower, j *oracle) { judgeStale(j, part(g, &g.boxes)) },
}

// cloneStaleGraph clones a graph with values of an arena that was reset: to this arena, to a, or to
// the Go heap.
func cloneStaleGraph(t *testing.T, a *Arena, script []byte) {
	old := []func() *Arena{NewArena, NewShared}[len(script)%2]()
	defer old.Free()
	g := &grower{script: script, arenas: []*Arena{old}, plain: []*Arena{old}, stale: true}
	defer g.free()
	g.grow()
	g.reuse(old)
	j := &oracle{T: t, landscape: g.landscape, script: script, a: []*Arena{old, old, a, nil}[g.next(4)],
		long: g.chance(2)}
	staleRooted[g.next(len(staleRooted))](g, j)
}

func FuzzDeepClone(f *testing.F) {
	stale := !debugging()
	f.Add([]byte{0, 0, 1, 2, 3, 4})
	rng := rand.New(rand.NewPCG(1, 2))
	for range 40 {
		f.Add(randomScript(rng, 700))
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		kind := 0
		if len(script) > 0 {
			kind = int(script[0]) % len(destinations)
			script = script[1:]
		}
		a := destinations[kind]()
		defer a.Free()
		if len(script) > 0 && script[0]%4 == 3 && stale {
			cloneStaleGraph(t, a, script[1:])
		} else {
			cloneGraph(t, a, script, false)
		}
	})
}

// TestDeepCloneStaleGraphs has graphs with stale values.
func TestDeepCloneStaleGraphs(t *testing.T) {
	if debugging() {
		t.Skip("the debug modes report the stale value")
	}
	rng := rand.New(rand.NewPCG(5, 6))
	rounds := 100
	if testing.Short() || raceEnabled {
		rounds = 20
	}
	a := NewArena()
	defer a.Free()
	for range rounds {
		cloneStaleGraph(t, a, randomScript(rng, rng.IntN(1500)))
	}
	runtime.GC() // The collector would find a forged pointer.
}

func TestDeepCloneGraphs(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	rounds := 50
	if testing.Short() || raceEnabled {
		rounds = 10
	}
	for _, make := range destinations {
		a := make()
		defer a.Free()
		for range rounds {
			cloneGraph(t, a, randomScript(rng, rng.IntN(1500)), true)
			a.Reset(Keep)
		}
	}
}
