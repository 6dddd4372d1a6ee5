// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"slices"

	"github.com/freehold-go/freehold/internal/checks/samegraph"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/offheap"
)

// The generator makes graphs of what a script, a string of bytes, says. The variables of a graph
// are elements of rows. A row is an array in one kind of memory: the Go heap, a package-level
// variable, an arena, memory off the heap, or memory of others. Pointers, slices and strings lead
// to parts of rows, and into parts of their elements.

// A vertex has a field for every way to lead somewhere. IDs are unique.
type vertex struct {
	ID     int
	Flag   bool
	Name   string
	Next   *vertex
	Twice  **vertex
	Number *int
	Four   *[4]int
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

	Text   *string
	Words  []string
	Box    *any
	Boxes  []any
	Letter *byte
	Place  *coord
	Coords []coord
	Grid   *[2][3]inward
	Grids  [][2][3]inward
	Lines  [][3]inward
	Inners []inward
	Header *[]int
	Call   func()
}

type inward struct {
	N int32
	P *int
	S string
}

// A coord has no pointers.
type coord struct {
	X, Y int32
	At   [3]int16
}

func (v *vertex) String() string { return v.Name }
func (i inward) String() string  { return i.S }

// The package-level variables of all graphs: with and without pointers, in several segments.
var (
	groundVertices [5]vertex
	groundVertex   vertex
	groundInner    = [4]inward{{N: 1}, {N: 2}}
	groundGrids    [2][2][3]inward
	groundInts     [24]int
	groundBytes    = [48]byte{1: 1}
	groundLinks    [6]*vertex
	groundWords    [5]string
	groundBoxes    [4]any
	groundCoords   [6]coord
	groundHeaders  [3][]int
)

// outsideMemory is memory that neither Go nor freehold allocated, if the system can provide it.
var outsideMemory []byte

// rows are arrays of one type. Pointers lead to the stale ones, too, but no value is written there:
// what wrote through a stale pointer would be the program's mistake, and the arena that gets the
// memory next would show it.
type rows[T any] struct{ live, stale [][]T }

func (r *rows[T]) pick(g *grower) []T {
	if i := g.next(len(r.live) + len(r.stale)); i >= len(r.live) {
		return r.stale[i-len(r.live)]
	} else {
		return r.live[i]
	}
}

// A grower makes one graph.
type grower struct {
	script  []byte
	arenas  []*Arena // Rows lie in these, too.
	plain   []*Arena // Rows without pointers lie in these, too.
	counter int
	landscape
	undo  []func()
	stale bool // Values in arenas are stale soon, so that maps cannot be compared.

	vertices rows[vertex]
	inners   rows[inward]
	lines    rows[[3]inward]
	grids    rows[[2][3]inward]
	ints     rows[int]
	bytes    rows[byte]
	links    rows[*vertex]
	words    rows[string]
	boxes    rows[any]
	coords   rows[coord]
	headers  rows[[]int]
}

// next is a number below n, 0 at the end of the script.
func (g *grower) next(n int) int {
	if len(g.script) == 0 || n <= 0 {
		return 0
	}
	x := int(g.script[0])
	g.script = g.script[1:]
	return x % n
}

func (g *grower) chance(n int) bool { return g.next(n) == 1 }

func (g *grower) number() int {
	g.counter++
	return g.counter
}

// element is a pointer to an element of a row.
func element[T any](g *grower, r *rows[T]) *T {
	row := r.pick(g)
	return &row[g.next(len(row))]
}

// target is an element that may be written.
func target[T any](g *grower, r *rows[T]) *T {
	row := r.live[g.next(len(r.live))]
	return &row[g.next(len(row))]
}

// part is a slice of a row, with or without spare capacity.
func part[T any](g *grower, r *rows[T]) []T {
	row := r.pick(g)
	low := g.next(len(row) + 1)
	high := low + g.next(len(row)-low+1)
	return row[low:high:min(high+g.next(5), len(row))]
}

// rowOf is a slice of the variables at p.
func rowOf[T any](p *T, n int) []T { return unsafex.SliceOf[T](unsafex.PtrOf(p), n, n) }

// text is a string of bytes that slices lead to as well, or a constant.
func (g *grower) text() string {
	if g.chance(5) {
		const constant = "a constant with many parts"
		low := g.next(len(constant))
		return constant[low : low+g.next(len(constant)-low+1)]
	}
	b := part(g, &g.bytes)
	if len(b) == 0 {
		return ""
	}
	return unsafex.StringOf(unsafex.DataOf(b), len(b))
}

// anyRow makes a row of n elements of a type with pointers and puts it on the list.
func anyRow[T any](g *grower, r *rows[T], n int) {
	if a := g.next(len(g.arenas) + 2); a < len(g.arenas) {
		addRow(g, r, MakeSlice[T](g.arenas[a], n, n))
		return
	}
	addRow(g, r, make([]T, n))
}

// plainRow makes a row of n elements of a type without pointers and puts it on the list.
func plainRow[T any](g *grower, r *rows[T], n int) {
	switch a := g.next(len(g.plain) + 3); {
	case a < len(g.plain):
		addRow(g, r, MakeSlice[T](g.plain[a], n, n))
	case a == len(g.plain):
		row := offheap.MakeSlice[T](n, n)
		g.undo = append(g.undo, func() { offheap.FreeSlice(row) })
		addRow(g, r, row)
	case a == len(g.plain)+1 && outsideMemory != nil:
		const most = 1 << 10
		from := len(g.outside) * most
		g.outside = append(g.outside, samegraph.SpanOf(outsideMemory[from:from+most:from+most]))
		addRow(g, r, unsafex.SliceOf[T](unsafex.PtrOf(&outsideMemory[from]), n, n))
	default:
		anyRow(g, r, n)
	}
}

// globalRow puts a package-level array on the list.
func globalRow[T any](g *grower, r *rows[T], row []T) {
	clear(row)
	g.undo = append(g.undo, func() { clear(row) })
	g.globals = append(g.globals, samegraph.SpanOf(row))
	g.live = append(g.live, samegraph.SpanOf(row))
	if g.next(3) > 0 {
		r.live = append(r.live, row)
	}
}

func addRow[T any](g *grower, r *rows[T], row []T) {
	g.live = append(g.live, samegraph.SpanOf(row))
	r.live = append(r.live, row)
}

// plant makes the rows.
func (g *grower) plant() {
	globalRow(g, &g.vertices, groundVertices[:])
	globalRow(g, &g.vertices, rowOf(&groundVertex, 1))
	globalRow(g, &g.inners, groundInner[:])
	globalRow(g, &g.grids, groundGrids[:])
	globalRow(g, &g.ints, groundInts[:])
	globalRow(g, &g.bytes, groundBytes[:])
	globalRow(g, &g.links, groundLinks[:])
	globalRow(g, &g.words, groundWords[:])
	globalRow(g, &g.boxes, groundBoxes[:])
	globalRow(g, &g.coords, groundCoords[:])
	globalRow(g, &g.headers, groundHeaders[:])
	g.plantRows()
	g.fillPlain()
	g.addInner()
}

// plantRows makes rows anywhere but in package-level variables.
func (g *grower) plantRows() {
	for range 1 + g.next(4) {
		anyRow(g, &g.vertices, 1+g.next(4))
		anyRow(g, &g.inners, 1+g.next(6))
		plainRow(g, &g.ints, 4+g.next(12))
		plainRow(g, &g.bytes, 1+g.next(40))
		plainRow(g, &g.coords, 1+g.next(5))
	}
	anyRow(g, &g.grids, 1+g.next(3))
	anyRow(g, &g.links, 1+g.next(5))
	anyRow(g, &g.words, 1+g.next(4))
	anyRow(g, &g.boxes, 1+g.next(4))
	anyRow(g, &g.headers, 1+g.next(2))
}

// fillPlain gives numbers and bytes their values.
func (g *grower) fillPlain() {
	for _, row := range g.ints.live {
		for i := range row {
			row[i] = g.number()
		}
	}
	for _, row := range g.bytes.live {
		for i := range row {
			row[i] = 'a' + byte(g.number()%26)
		}
	}
	for _, row := range g.coords.live {
		for i := range row {
			row[i] = coord{X: int32(g.number()), At: [3]int16{2: 3}}
		}
	}
}

// addInner adds the parts of elements as rows.
func (g *grower) addInner() {
	for _, row := range g.grids.live {
		for i := range row {
			g.lines.live = append(g.lines.live, row[i][:])
			g.inners.live = append(g.inners.live, row[i][1][:])
		}
	}
	for _, row := range g.vertices.live {
		for i := range row {
			v := &row[i]
			v.ID = g.number()
			g.inners.live = append(g.inners.live, v.Pair[:], v.Wide[:])
			g.ints.live = append(g.ints.live, rowOf(&v.ID, 1))
			g.links.live = append(g.links.live, rowOf(&v.Next, 1))
			g.words.live = append(g.words.live, rowOf(&v.Name, 1))
			g.boxes.live = append(g.boxes.live, rowOf(&v.Any, 1))
			g.headers.live = append(g.headers.live, rowOf(&v.Ints, 1))
			g.lines.live = append(g.lines.live, rowOf(unsafex.As[[3]inward](unsafex.PtrOf(&v.Wide[0])), 2))
		}
	}
}

// boxed is a value for an interface.
func (g *grower) boxed() any {
	switch g.next(12) {
	case 0:
		return element(g, &g.vertices)
	case 1:
		return *element(g, &g.inners)
	case 2:
		return g.text()
	case 3:
		return part(g, &g.ints)
	case 4:
		return g.next(9)
	case 5:
		return true
	case 6:
		return element(g, &g.boxes)
	case 7:
		return [2]*int{element(g, &g.ints)}
	case 8:
		return element(g, &g.ints)
	case 9:
		return part(g, &g.vertices)
	case 10:
		return *element(g, &g.vertices)
	}
	return nil
}

func (g *grower) stringer() fmt.Stringer {
	switch g.next(3) {
	case 0:
		return element(g, &g.vertices)
	case 1:
		return element(g, &g.inners)
	}
	return *element(g, &g.inners)
}

// four is a pointer to four numbers in a row, or nil.
func (g *grower) four() *[4]int {
	if row := g.ints.pick(g); len(row) >= 4 {
		return (*[4]int)(row[g.next(len(row)-3):])
	}
	return nil
}

// steps set one field of a vertex each.
var steps = []func(g *grower, v *vertex){
	func(g *grower, v *vertex) { v.Name = g.text() },
	func(g *grower, v *vertex) { v.Next = element(g, &g.vertices) },
	func(g *grower, v *vertex) { v.Twice = element(g, &g.links) },
	func(g *grower, v *vertex) { v.Number = element(g, &g.ints) },
	func(g *grower, v *vertex) { v.Four = g.four() },
	func(g *grower, v *vertex) { v.Inner = element(g, &g.inners) },
	func(g *grower, v *vertex) { v.Ints = part(g, &g.ints) },
	func(g *grower, v *vertex) { v.Bytes = part(g, &g.bytes) },
	func(g *grower, v *vertex) { v.List = part(g, &g.links) },
	func(g *grower, v *vertex) { v.Block = part(g, &g.vertices) },
	func(g *grower, v *vertex) { v.Any = g.boxed() },
	func(g *grower, v *vertex) { v.Face = g.stringer() },
	func(g *grower, v *vertex) {
		v.ByName = map[string]*vertex{g.text(): element(g, &g.vertices), "nil": nil}
	},
	func(g *grower, v *vertex) {
		if !g.stale {
			v.ByPtr = map[*vertex][]int{element(g, &g.vertices): part(g, &g.ints), element(g, &g.vertices): nil}
		}
	},
	func(g *grower, v *vertex) {
		if !g.stale {
			v.ByAny = map[any]*inward{g.text(): element(g, &g.inners), g.next(5): nil, [1]string{g.text()}: element(g, &g.inners)}
		}
	},
	func(g *grower, v *vertex) { w := element(g, &g.vertices); v.ByName, v.ByPtr = w.ByName, w.ByPtr },
	func(g *grower, v *vertex) { v.Text = element(g, &g.words) },
	func(g *grower, v *vertex) { v.Words = part(g, &g.words) },
	func(g *grower, v *vertex) { v.Box = element(g, &g.boxes) },
	func(g *grower, v *vertex) { v.Boxes = part(g, &g.boxes) },
	func(g *grower, v *vertex) { v.Letter = element(g, &g.bytes) },
	func(g *grower, v *vertex) { v.Place = element(g, &g.coords) },
	func(g *grower, v *vertex) { v.Coords = part(g, &g.coords) },
	func(g *grower, v *vertex) { v.Grid = element(g, &g.grids) },
	func(g *grower, v *vertex) { v.Grids = part(g, &g.grids) },
	func(g *grower, v *vertex) { v.Lines = part(g, &g.lines) },
	func(g *grower, v *vertex) { v.Inners = part(g, &g.inners) },
	func(g *grower, v *vertex) { v.Header = element(g, &g.headers) },
	func(g *grower, _ *vertex) { *target(g, &g.links) = element(g, &g.vertices) },
	func(g *grower, _ *vertex) { *target(g, &g.words) = g.text() },
	func(g *grower, _ *vertex) { *target(g, &g.boxes) = g.boxed() },
	func(g *grower, _ *vertex) { *target(g, &g.headers) = part(g, &g.ints) },
	func(g *grower, _ *vertex) { i := target(g, &g.inners); i.S, i.P = g.text(), element(g, &g.ints) },
}

// grow makes a graph.
func (g *grower) grow() {
	g.plant()
	g.walk(300)
}

// walk takes n steps, or as many as the script has. It leaves bytes for the root.
func (g *grower) walk(n int) {
	for ; len(g.script) > 24 && n > 0; n-- {
		steps[g.next(len(steps))](g, target(g, &g.vertices))
	}
}

// reuse makes the values in old stale: it resets old, and gives part of the memory to other values,
// which are part of the graph, too. They have numbers, headers and pointers of their own.
func (g *grower) reuse(old *Arena) {
	g.live = slices.DeleteFunc(g.live, func(s samegraph.Span) bool { return old.Owns(unsafex.Pointer(s.From)) })
	g.vertices.expire(old)
	g.inners.expire(old)
	g.lines.expire(old)
	g.grids.expire(old)
	g.ints.expire(old)
	g.bytes.expire(old)
	g.links.expire(old)
	g.words.expire(old)
	g.boxes.expire(old)
	g.coords.expire(old)
	g.headers.expire(old)
	old.Reset(Keep)
	fresh := &grower{script: g.script, arenas: []*Arena{old}, plain: []*Arena{old}, landscape: g.landscape}
	g.undo = append(g.undo, fresh.free)
	fresh.plantRows()
	fresh.addInner()
	g.script, g.landscape = fresh.script, fresh.landscape
	g.vertices.add(fresh.vertices)
	g.inners.add(fresh.inners)
	g.lines.add(fresh.lines)
	g.grids.add(fresh.grids)
	g.ints.add(fresh.ints)
	g.bytes.add(fresh.bytes)
	g.links.add(fresh.links)
	g.words.add(fresh.words)
	g.boxes.add(fresh.boxes)
	g.coords.add(fresh.coords)
	g.headers.add(fresh.headers)
	g.walk(100)
}

// expire makes the rows in old stale.
func (r *rows[T]) expire(old *Arena) {
	all := r.live
	r.live = nil
	for _, row := range all {
		if old.Owns(row) {
			r.stale = append(r.stale, row)
		} else {
			r.live = append(r.live, row)
		}
	}
}

func (r *rows[T]) add(fresh rows[T]) { r.live = append(r.live, fresh.live...) }

// free ends the graph.
func (g *grower) free() {
	for _, f := range g.undo {
		f()
	}
}
