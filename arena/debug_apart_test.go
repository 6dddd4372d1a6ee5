// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"strings"
	"testing"

	"github.com/freehold-go/freehold/internal/checks/testenv"
	"github.com/freehold-go/freehold/internal/debugmode"
)

// finders are the functions that find a chunk without a slot of the arena. Each makes a value and
// returns whether a debug mode has overwritten it, which faults if the mode has made it inaccessible.
var finders = []struct {
	name string
	make func(a *Arena) (overwritten func() bool)
}{
	{"Typed.New of numbers", func(a *Arena) func() bool {
		p := Of[int64](a).New()
		return func() bool { return uint64(*p) == 0xdddddddddddddddd }
	}},
	{"Typed.New of pointers", func(a *Arena) func() bool {
		p := Of[node](a).New()
		return func() bool { return p.next != nil }
	}},
	{"Typed.New of bools", func(a *Arena) func() bool {
		p := Of[[8]flag](a).New()
		return func() bool { return p[3].ok }
	}},
	{"String", func(a *Arena) func() bool {
		s := String(a, "text")
		return func() bool { return s[3] == 0xdd }
	}},
	{"Bytes", func(a *Arena) func() bool {
		b := Bytes(a, "text")
		return func() bool { return b[3] == 0xdd }
	}},
	{"a key of a Map", func(a *Arena) func() bool {
		m := NewMap[string, int](a, 1)
		m.Set("text", 1)
		for k := range m.All() {
			return func() bool { return k[3] == 0xdd }
		}
		return nil
	}},
}

// TestApartLater: guard and poison know each value, also those that are made when the arena already
// has a chunk for their type.
func TestApartLater(t *testing.T) {
	testenv.MisusesMemory(t)
	for _, words := range []string{"guard", "guard,guardmaps=1"} {
		t.Run(words, func(t *testing.T) {
			if inModes(t, words) {
				testApartLater(t)
			}
		})
	}
}

func testApartLater(t *testing.T) {
	for _, k := range kinds {
		for _, f := range finders {
			for _, g := range giveUps {
				if !k.pointers || g.op == "Pool.Put" && !strings.Contains("NewArena Pool", k.name) {
					continue
				}
				a := k.make()
				c := a.Checkpoint()
				var values []func() bool
				for range 4 {
					values = append(values, f.make(a))
				}
				g.end(a, c)
				for i, overwritten := range values {
					seen := false
					if err := fault(func() { seen = overwritten() }); err == nil && !seen {
						t.Errorf("%s, %s: value %d is as before after %s", k.name, f.name, i, g.op)
					}
				}
			}
		}
	}
}

// TestApartRewindTwice: a Rewind to an earlier checkpoint gives up the chunks that a Rewind to a later
// one has closed.
func TestApartRewindTwice(t *testing.T) {
	for _, words := range []string{"guard,guardmaps=1", "guard"} {
		t.Run(words, func(t *testing.T) {
			if !inModes(t, words) {
				return
			}
			a := NewArena()
			defer a.Free()
			first := a.Checkpoint()
			New[node](a)
			second := a.Checkpoint()
			New[node](a)
			a.Rewind(second)
			a.Rewind(first)
			if s := a.Stats(); s.InUse != 0 || s.Chunks != 0 {
				t.Errorf("after both: %+v", s)
			}
		})
	}
}

// TestFarElements: no index of a slice in a freed value leads behind the inaccessible memory of its
// tomb, however large the elements are.
func TestFarElements(t *testing.T) {
	testenv.MisusesMemory(t)
	for _, words := range []string{"guard,guardmaps=1", "guard"} {
		t.Run(words, func(t *testing.T) {
			if inModes(t, words) {
				testFarElements(t)
			}
		})
	}
}

func testFarElements(t *testing.T) {
	type holder struct {
		near [][debugmode.TombReach]byte
		far  [][debugmode.TombReach + 1]byte
	}
	a := NewArena()
	h := New[holder](a)
	h.near, h.far = make([][debugmode.TombReach]byte, 3), make([][debugmode.TombReach + 1]byte, 3)
	a.Free()
	if len(h.far) != 0 || cap(h.far) != 0 {
		t.Errorf("a freed slice has %d elements of %d bytes, and room for %d", len(h.far), len(h.far[0]), cap(h.far))
	}
	if len(h.near) != 1 || fault(func() { sink = h.near[0][debugmode.TombReach-1] }) == nil {
		t.Errorf("nothing happens at the end of the first of %d elements", len(h.near))
	}
}
