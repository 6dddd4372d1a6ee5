// SPDX-License-Identifier: Apache-2.0

package freehold

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
)

var registered atomic.Int32

// unique returns a name that no run of any test has registered: nothing is ever taken off the list.
func unique(t testing.TB) string { return fmt.Sprintf("%s %d", t.Name(), registered.Add(1)) }

func TestTotals(t *testing.T) {
	before, _ := ReadTotals()
	a := Totals{InUse: 1, Reserved: 20, Retained: 300, Purged: 4000}
	b := Totals{InUse: 5, Reserved: 60, Retained: 700, Purged: 8000}
	name := unique(t)
	Register(name+"/a", func() Totals { return a })
	Register(name+"/b", func() Totals { return b })
	sum, packages := ReadTotals()
	if want := before.Add(a).Add(b); sum != want {
		t.Errorf("sum %+v, want %+v", sum, want)
	}
	got := map[string]Totals{}
	for _, p := range packages {
		got[p.Name] = p.Totals
	}
	if got[name+"/a"] != a || got[name+"/b"] != b {
		t.Errorf("packages: %+v", packages)
	}
	if got, want := resident(), sum.InUse+sum.Retained; got != want {
		t.Errorf("resident() = %d, want %d", got, want)
	}
	a, b = Totals{}, Totals{}
	if sum, _ := ReadTotals(); sum != before {
		t.Errorf("sum %+v after both gave everything back, want %+v", sum, before)
	}
}

func TestRegisterRefuses(t *testing.T) {
	taken := unique(t)
	Register(taken, func() Totals { return Totals{} })
	for _, c := range []struct {
		name string
		read func() Totals
		says string
	}{
		{"", func() Totals { return Totals{} }, "needs a name"},
		{"nil", nil, "a function"},
		{taken, func() Totals { return Totals{} }, "registered already"},
	} {
		func() {
			defer func() {
				if msg, _ := recover().(string); !strings.Contains(msg, c.says) {
					t.Errorf("Register(%q): panic %q, want %q in it", c.name, msg, c.says)
				}
			}()
			Register(c.name, c.read)
		}()
	}
}
