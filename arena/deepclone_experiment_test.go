// SPDX-License-Identifier: Apache-2.0

//go:build goexperiment.arenas

package arena

import (
	goarena "arena"
	"errors"
	"reflect"
	"testing"

	"github.com/freehold-go/freehold/internal/graph"
	"github.com/freehold-go/freehold/internal/unsafex"
)

type station struct {
	name string
	next *station
	way  []*station
	in   any
}

// TestDeepCloneExperiment: values of Go's own package arena are copied, as those of the heap are,
// because its Free makes their memory inaccessible.
func TestDeepCloneExperiment(t *testing.T) {
	cloners(t, func(t *testing.T, clone func(*station, ...CloneOptions) *station) {
		from := goarena.NewArena()
		s := goarena.New[station](from)
		s.name, s.next = "one", goarena.New[station](from)
		s.next.name, s.next.next = "two", s
		s.way = goarena.MakeSlice[*station](from, 1, 2)
		s.way[0], s.in = s.next, s.next
		clones := map[string]*station{"all of it": clone(s), "a value on the heap": clone(&station{next: s}).next}
		for name, c := range clones {
			if c == s || c.next == s.next || &c.way[0] == &s.way[0] {
				t.Errorf("%s shares memory of the experiment's arena", name)
			}
		}
		from.Free()
		for name, c := range clones {
			if c.name != "one" || c.next.name != "two" || c.next.next != c || c.way[0] != c.next || c.in != any(c.next) {
				t.Errorf("%s: %v", name, c)
			}
		}
	})
}

// TestDeepCloneExperimentForeign: a string there, in an unexported field of a type of another module,
// is refused, because it does not last.
func TestDeepCloneExperimentForeign(t *testing.T) {
	from := goarena.NewArena()
	defer from.Free()
	text := goarena.MakeSlice[byte](from, 4, 4)
	if g := new(graph.Grounds).Of(unsafex.DataOf(text)); g != graph.InGoArena {
		t.Fatalf("the experiment's memory is ground %d", g)
	}
	v := reflect.New(foreign(reflect.TypeFor[string](), reflect.TypeFor[int]()))
	*unsafex.As[string](v.UnsafePointer()) = unsafex.StringOf(unsafex.DataOf(text), len(text))
	if _, err := tryHeap(v.Interface()); !errors.Is(err, ErrUncloneable) {
		t.Errorf("%v", err)
	}
}
