// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"
	"unsafe"

	"github.com/freehold-go/freehold/internal/unsafex"
)

type lexeme struct {
	text string
	mark *int
}

type likeLexeme lexeme // Has its own plan.

// overlapping is slices, pointers and arrays that lead into one array, in an order of its own.
type overlapping struct {
	slices  [][]lexeme
	same    [][]likeLexeme
	arrays  []*[4]lexeme
	singles []*lexeme
	bytes   [][]byte
	texts   []string
	inside  *struct {
		before  *int
		lexemes [20]lexeme
	}
	insides [][]lexeme
}

func makeOverlapping(r *rand.Rand) *overlapping {
	lexemes, bytes, numbers := make([]lexeme, 40), make([]byte, 40), make([]int, 40)
	for i := range lexemes {
		lexemes[i] = lexeme{string(rune('a' + i)), &numbers[i]}
		bytes[i] = byte(i)
	}
	text := string(bytes)
	v := &overlapping{}
	if r.IntN(2) == 0 {
		v.inside = new(struct {
			before  *int
			lexemes [20]lexeme
		})
		copy(v.inside.lexemes[:], lexemes)
	}
	n := r.IntN(30)
	whole := r.IntN(n + 1) // Without it, slices that do not overlap become variables apart.
	for i := range n + 1 {
		if i == whole {
			v.slices, v.bytes = append(v.slices, lexemes[:r.IntN(41)]), append(v.bytes, bytes[:r.IntN(40)+1])
		}
		from := r.IntN(len(lexemes))
		to := from + r.IntN(len(lexemes)-from) + 1
		end := to + r.IntN(len(lexemes)-to+1)
		switch r.IntN(8) {
		case 0, 1:
			v.slices = append(v.slices, lexemes[from:to:end])
		case 2:
			v.same = append(v.same, unsafe.Slice((*likeLexeme)(&lexemes[from]), to-from))
		case 3:
			if to-from >= 4 {
				v.arrays = append(v.arrays, (*[4]lexeme)(lexemes[from:to]))
			}
		case 4:
			v.singles = append(v.singles, &lexemes[from])
		case 5:
			v.bytes = append(v.bytes, bytes[from:to:end])
		case 6:
			v.texts = append(v.texts, text[from:to])
		case 7:
			if v.inside != nil && to <= 20 {
				v.insides = append(v.insides, v.inside.lexemes[from:to])
			}
		}
	}
	return v
}

// sameShape checks that a clone has the original's contents, and that targets lie as far apart as in the original.
func (v *overlapping) sameShape(t *testing.T, c *overlapping) {
	t.Helper()
	if !reflect.DeepEqual(v, c) {
		t.Fatalf("the clone has other contents:\n%v\n%v", v, c)
	}
	// From addresses in one array of the original to that in the clone.
	var base, first uintptr
	same := func(from, to unsafe.Pointer) {
		t.Helper()
		if from == to {
			t.Fatal("the clone shares memory")
		}
		if first == 0 {
			base, first = uintptr(from), uintptr(to)
		}
		if uintptr(to)-first != uintptr(from)-base {
			t.Fatal("targets lie apart otherwise than in the original")
		}
	}
	marks := map[*int]*int{}
	each := func(from, to []lexeme) {
		t.Helper()
		if cap(from) != cap(to) {
			t.Fatal("another capacity")
		}
		same(unsafe.Pointer(unsafe.SliceData(from)), unsafe.Pointer(unsafe.SliceData(to)))
		for i := range from {
			if m := marks[from[i].mark]; m != nil && m != to[i].mark || to[i].mark == from[i].mark {
				t.Fatal("a pointer has two copies, or none")
			}
			marks[from[i].mark] = to[i].mark
		}
	}
	for i := range v.slices {
		each(v.slices[i], c.slices[i])
	}
	for i := range v.same {
		same(unsafe.Pointer(&v.same[i][0]), unsafe.Pointer(&c.same[i][0]))
	}
	for i := range v.arrays {
		each(v.arrays[i][:], c.arrays[i][:])
	}
	for i := range v.singles {
		same(unsafe.Pointer(v.singles[i]), unsafe.Pointer(c.singles[i]))
	}
	first = 0
	for i := range v.bytes {
		same(unsafe.Pointer(&v.bytes[i][0]), unsafe.Pointer(&c.bytes[i][0]))
	}
	first = 0
	for i := range v.insides {
		each(v.insides[i], c.insides[i])
	}
	first = 0
	for i := range v.insides {
		same(unsafe.Pointer(v.inside), unsafe.Pointer(c.inside))
		same(unsafe.Pointer(&v.insides[i][0]), unsafe.Pointer(&c.insides[i][0]))
	}
}

// Slices, arrays and single elements of one array keep their places and contents, however they overlap.
func TestDeepCloneOverlaps(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 75))
	for range 2000 {
		v := makeOverlapping(r)
		v.sameShape(t, Heap(v))
		a := NewArena()
		v.sameShape(t, DeepClone(a, v))
		v.sameShape(t, DeepClone(a, v))
		a.Free()
	}
}

// Views of one array that package unsafe made, half a word apart, have different units, although the units share words.
func TestDeepCloneOverlapsByHalfWords(t *testing.T) {
	type record struct {
		mu         sync.Mutex // Is looked at, and has no pointer.
		a, b, c, d int32
	}
	numbers := make([]int32, 32)
	for i := 2; i < len(numbers); i++ {
		if i%6 > 2 || i == 18 { // Not the two of a Mutex in either view. The last one of the second view is behind the first.
			numbers[i] = int32(i)
		}
	}
	v := [][]record{unsafe.Slice((*record)(unsafe.Pointer(&numbers[0])), 3), unsafe.Slice((*record)(unsafe.Pointer(&numbers[1])), 3)}
	if c := Heap(v); !reflect.DeepEqual(c, v) {
		t.Errorf("%v, want %v", c, v)
	}
}

// The only field of a struct and the struct are one place, whichever is found first. Bools make a difference, because
// memory of types with bools serves one type alone.
func TestDeepCloneOverlapsOfOnlyFields(t *testing.T) {
	type inner struct {
		n  int
		on bool
	}
	type outer struct{ inner inner }
	type bools struct{ x [4]bool }
	type value struct {
		x  []bool
		p  *bools
		y  *inner
		q  *outer
		on *bool
	}
	s, o := &bools{[4]bool{true, false, true, true}}, &outer{inner{7, true}}
	v := value{s.x[:], s, &o.inner, o, &o.inner.on}
	if c := Heap(v); !reflect.DeepEqual(c, v) {
		t.Errorf("%+v, want %+v", c, v)
	}
	a := NewArena()
	defer a.Free()
	if c := DeepClone(a, v); !reflect.DeepEqual(c, v) || &c.q.inner != c.y || &c.p.x[0] != &c.x[0] {
		t.Errorf("%+v, want %+v", c, v)
	}
}

// longWay is a cloner that has laid out a value.
func longWay[T any](v *T) *cloner {
	c := &cloner{op: "Heap", plans: callerPlans(0), table: make([]found, 64)}
	p := c.plan(reflect.TypeFor[T]())
	c.discover(p, unsafex.PtrOf(v), unsafex.PtrOf(new(T)))
	c.layOut()
	return c
}

// The walk and the copy go through the elements of one array once, not once for each slice that has them.
func TestDeepCloneOverlapsWalkedOnce(t *testing.T) {
	const n = 2000
	lexemes, bytes, others := make([]lexeme, n), make([]byte, n), make([]byte, n)
	for i := range lexemes {
		lexemes[i].text = "text"
	}
	var v struct {
		rest, restBack, windows, pairs [][]lexeme
		bytes, byteWindows             [][]byte
	}
	for i := range n {
		v.rest = append(v.rest, lexemes[i:])
		v.restBack = append(v.restBack, lexemes[n-1-i:])
		v.bytes = append(v.bytes, bytes[n-1-i:])
		if end := i + n/2; end <= n {
			v.windows = append(v.windows, lexemes[i:end:end])
			v.byteWindows = append(v.byteWindows, others[i:end:end])
		}
		if i+2 <= n {
			v.pairs = append(v.pairs, lexemes[i:i+2])
		}
	}
	c := longWay(&v)
	walked := uintptr(0)
	for _, s := range c.todo {
		walked += s.to - s.from
	}
	copied := uintptr(0)
	for i := range c.count {
		if b := c.at(i); b.plan.flat() && !c.covered(b, 0, b.live) {
			copied += b.live * b.plan.size
		}
	}
	if most := uintptr(8 * n); walked > most || copied > most {
		t.Errorf("%d elements: the walk goes through %d, and %d bytes are copied", n, walked, copied)
	}
}

// Each unit is new once, in whatever parts it is put on the list, and few lines are kept for the next clone.
func TestWalkedUnits(t *testing.T) {
	var w walkedUnits
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 60 {
		type unit struct{ key, at uintptr }
		seen := map[unit]bool{}
		for range r.IntN(400) {
			size := uintptr(r.IntN(4)) * 5 * wordSize
			if size == 0 {
				size = wordSize
			}
			key, src := size, uintptr(round)<<20+uintptr(r.IntN(3000))*size
			from := uintptr(r.IntN(100))
			to := from + uintptr(r.IntN(1+r.IntN(2000)))
			fresh := map[unit]bool{}
			last := from
			for lo, hi := range w.fresh(key, src, size, from, to) {
				if lo < last || hi <= lo || hi > to {
					t.Fatalf("[%d, %d) behind %d of [%d, %d)", lo, hi, last, from, to)
				}
				for n := lo; n < hi; n++ {
					fresh[unit{key, src + n*size}] = true
				}
				last = hi
			}
			for n := from; n < to; n++ {
				u := unit{key, src + n*size}
				if fresh[u] == seen[u] {
					t.Fatalf("unit %v: new %v, was on the list %v", u, fresh[u], seen[u])
				}
				seen[u] = true
			}
		}
		w.close()
	}
	for range w.fresh(1, 0, 64*wordSize, 0, mostWalkedKept+1) {
	}
	if w.close(); w.lines != nil {
		t.Error("a large table is kept")
	}
}

// Slices that begin or end at each element of an array take few steps each.
func TestWalkedUnitsSteps(t *testing.T) {
	const n, size = 50000, 3 * wordSize
	var w walkedUnits
	parts := 0
	each := func(from, to uintptr) {
		for range w.fresh(1, 1<<30, size, from, to) {
			parts++
		}
	}
	for i := range uintptr(n) { // A minute if each took as many steps as it has elements.
		each(i, n)
		each(3*n-1-i, 3*n)
		each(4*n, 4*n+i+1)
		each(6*n+i, 6*n+i+n/2)
		each(9*n-i, 9*n-i+n/2)
	}
	if parts > 6*n {
		t.Errorf("%d parts", parts)
	}
}
