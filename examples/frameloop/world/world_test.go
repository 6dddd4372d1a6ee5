// SPDX-License-Identifier: Apache-2.0

package world

import (
	"reflect"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/arena"
)

// TestSame plays the same game both ways, and compares the commands of each frame.
func TestSame(t *testing.T) {
	plain, other := New(40, 20), New(40, 20)
	a := arena.Cleanup(t, arena.NewArena())
	moved := 0
	for frame := range 60 {
		want := plain.PlainFrame()
		got := other.Frame(a)
		if len(want) != 20 || Sum(got) != Sum(want) {
			t.Fatalf("frame %d: %d commands, checksum %x, want %x", frame, len(got), Sum(got), Sum(want))
		}
		for i := range want {
			if got[i].Label != want[i].Label || len(got[i].Path) != len(want[i].Path) || !strings.HasPrefix(got[i].Label, "unit ") {
				t.Fatalf("frame %d: %+v, want %+v", frame, got[i], want[i])
			}
			if len(want[i].Path) > 0 {
				moved++
			}
		}
		a.Reset(arena.Keep)
	}
	if moved == 0 {
		t.Error("no unit has moved")
	}
	for i := range plain.units {
		if at := *other.units[i].at; at.X != plain.units[i].at.X || at.Y != plain.units[i].at.Y {
			t.Errorf("unit %d is at %d/%d", i, at.X, at.Y)
		}
	}
}

// TestKept keeps a command beyond its frame, as a copy. The copy leads to the level itself, because
// Share names the type of its tiles.
func TestKept(t *testing.T) {
	w := New(20, 5)
	a := arena.Cleanup(t, arena.NewArena())
	var kept, want Command
	for range 20 {
		c := w.Frame(a)[3]
		want = Command{c.Unit, append([]*Tile(nil), c.Path...), strings.Clone(c.Label)}
		var err error
		if kept, err = arena.Heap(c, arena.CloneOptions{Share: []reflect.Type{reflect.TypeFor[Tile]()}}); err != nil {
			t.Fatal(err)
		}
		a.Reset(arena.Keep)
		w.Frame(a)
		a.Reset(arena.Keep)
		if kept.Unit != want.Unit || kept.Label != want.Label || len(kept.Path) != len(want.Path) {
			t.Fatalf("got %+v, want %+v", kept, want)
		}
		for i := range want.Path {
			if kept.Path[i] != want.Path[i] {
				t.Fatal("the copy leads to other tiles")
			}
		}
	}
}
