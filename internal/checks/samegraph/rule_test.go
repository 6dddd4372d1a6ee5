// SPDX-License-Identifier: Apache-2.0

package samegraph

import (
	"reflect"
	"strings"
	"testing"
)

// A holder leads to memory that a rule shares.
type holder struct {
	self, global *int
	own          int
	slice        []int
	text         string
	any          any
}

var globals = [4]int{1, 2, 3, 4}

// TestRule has a copy that is right by a rule, and copies that are not.
func TestRule(t *testing.T) {
	v := &holder{global: &globals[1], slice: globals[:2:4], text: strings.Repeat("t", 3), any: [3]int{1}}
	v.self = &v.own
	right := func() *holder {
		c := &holder{global: &globals[1], slice: append(make([]int, 0, 4), globals[:2]...), text: strings.Clone(v.text), any: [3]int{1}}
		c.self = &c.own
		return c
	}
	rule := Rule{Globals: []Span{SpanOf(globals[:])}}
	if err := CompareBy(rule, v, right()); err != nil {
		t.Error(err)
	}
	if CompareBy(Rule{Globals: []Span{SpanOf(v)}}, v, right()) == nil {
		t.Error("a variable that the rule does not share was not seen")
	}
	spare := make([]int, 2, 4)
	copy(spare, globals[:])
	spare[:3][2] = 7
	for name, spoil := range map[string]func(c *holder){
		"copied global": func(c *holder) { c.global = &[]int{2}[0] },
		"shared slice":  func(c *holder) { c.slice = v.slice },
		"shared part":   func(c *holder) { c.self = v.self },
		"spare memory":  func(c *holder) { c.slice = spare },
	} {
		c := right()
		spoil(c)
		if CompareBy(rule, v, c) == nil {
			t.Errorf("%s: the difference was not seen", name)
		}
	}
	for _, out := range []func(c *holder) Span{
		func(c *holder) Span { return SpanOf(c) }, func(c *holder) Span { return SpanOf(c.slice) }, func(c *holder) Span { return SpanOf(c.text) },
	} {
		c := right()
		rule.Inside = func(s Span) bool { return s.From < out(c).From || s.From >= out(c).End }
		if err := CompareBy(rule, v, c); err == nil || !strings.Contains(err.Error(), "destination") {
			t.Errorf("memory outside of the destination: %v", err)
		}
	}
}

// TestRuleHolds has fields that keep their bits.
func TestRuleHolds(t *testing.T) {
	type opaque struct{ p *int }
	rule := Rule{Holds: func(t reflect.Type) bool { return t == reflect.TypeFor[opaque]() }}
	x := &opaque{new(int)}
	if err := CompareBy(rule, x, &opaque{x.p}); err != nil {
		t.Error(err)
	}
	if CompareBy(rule, x, &opaque{new(int)}) == nil {
		t.Error("a field became another")
	}
}

func TestImages(t *testing.T) {
	x, y := []byte("left"), []byte("right")
	images := ImagesOf([]Span{SpanOf(x), SpanOf(y)})
	if err := Unchanged(images); err != nil {
		t.Error(err)
	}
	y[4] = 'T'
	if err := Unchanged(images); err == nil || !strings.Contains(err.Error(), "byte 4 of the 5") {
		t.Errorf("a byte was written: %v", err)
	}
}
