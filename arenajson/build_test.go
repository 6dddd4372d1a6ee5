// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"errors"
	"math"
	"testing"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/offheap"
)

func parsed(t *testing.T, a *arena.Arena, text string) Value {
	t.Helper()
	v, err := Parse(a, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestBuild makes values of all kinds.
func TestBuild(t *testing.T) {
	for _, a := range []*arena.Arena{arena.NewArena(), nil} {
		s, err1 := StringValue(a, "a\"b")
		n, err2 := IntValue(a, -5)
		f, err3 := FloatValue(a, 1e21)
		list, err4 := ArrayValue(a, s, n, f, BoolValue(true), BoolValue(false), NullValue(), Value{})
		if err := errors.Join(err1, err2, err3, err4); err != nil {
			t.Fatal(err)
		}
		b := NewObject(a, Value{})
		b.Set("list", list)
		b.Set("none", Value{})
		b.Set("list2", list.Index(0))
		b.Set("none", n)
		v, err := b.Value()
		if want := `{"list":["a\"b",-5,1e+21,true,false,null,null],"none":-5,"list2":"a\"b"}`; err != nil || v.String() != want {
			t.Errorf("%s, %v", v, err)
		}
		if again := parsed(t, a, v.String()); again.String() != v.String() {
			t.Errorf("parsed again: %s", again)
		}
		if _, err := FloatValue(a, math.NaN()); err == nil {
			t.Error("NaN is a value")
		}
		empty, err := NewObject(a, NullValue()).Value()
		if err != nil || empty.String() != "{}" {
			t.Errorf("an object without members: %s, %v", empty, err)
		}
		a.Free()
	}
}

// TestEdit changes objects, and wants the old ones unchanged.
func TestEdit(t *testing.T) {
	a := arena.NewArena()
	defer a.Free()
	const text = `{"a":1,"b":{"c":[1],"d":{"e":2}},"a":3}`
	old := parsed(t, a, text)
	b := NewObject(a, old)
	b.Set("a", NullValue())
	first, _ := b.Value()
	b.Delete("a")
	b.Delete("nothing")
	b.Merge(parsed(t, a, `{"b":{"d":{"f":4},"c":{"g":5}},"h":6}`))
	b.Merge(parsed(t, a, `[1]`))
	second, _ := b.Value()
	b.Set("h", first)
	for _, c := range []struct {
		got  Value
		want string
	}{
		{old, text},
		{first, `{"a":1,"b":{"c":[1],"d":{"e":2}},"a":null}`},
		{second, `{"b":{"c":{"g":5},"d":{"e":2,"f":4}},"h":6}`},
	} {
		if c.got.String() != c.want {
			t.Errorf("%s, want %s", c.got, c.want)
		}
	}
}

// TestBuildLimit has no memory for a member.
func TestBuildLimit(t *testing.T) {
	a := arena.NewArena()
	defer a.Free()
	a.SetLimit(1)
	b := NewObject(a, Value{})
	b.Set("a", NullValue())
	b.Delete("a")
	b.Merge(parsed(t, nil, `{"x":{"y":1}}`))
	if v, err := b.Value(); !errors.Is(err, offheap.ErrLimit) || v != (Value{}) {
		t.Errorf("%s, %v", v, err)
	}
	if _, err := StringValue(a, "text"); !errors.Is(err, offheap.ErrLimit) {
		t.Error(err)
	}
	if _, err := ArrayValue(a, NullValue()); !errors.Is(err, offheap.ErrLimit) {
		t.Error(err)
	}
}
