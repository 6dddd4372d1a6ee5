// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/arena"
)

// endlessPointer leads to nothing but itself.
type endlessPointer *endlessPointer

type (
	endlessTwin  **endlessOther
	endlessOther *endlessTwin
)

// TestCircles are variables whose pointers go in a circle. encoding/json follows them for ever.
func TestCircles(t *testing.T) {
	for length := 1; length < 70; length++ {
		for before := range 5 {
			circle := make([]any, length+before)
			for i := range circle {
				circle[i] = &circle[min(i+1, len(circle)-1)]
			}
			circle[len(circle)-1] = &circle[before]
			if err := UnmarshalInto(nil, []byte(`{"a":1}`), &circle[0]); err == nil || !strings.Contains(err.Error(), "leads to itself") {
				t.Fatalf("a circle of %d behind %d pointers: %v", length, before, err)
			}
		}
	}
	var own endlessPointer
	own = &own
	for _, v := range []any{new(endlessPointer), &own, new(endlessTwin), new(endlessOther)} {
		if err := UnmarshalInto(nil, []byte(`1`), v); err == nil || !strings.Contains(err.Error(), "number") {
			t.Errorf("%T: %v", v, err)
		}
		if err := UnmarshalInto(nil, []byte(`null`), v); err != nil || !reflect.ValueOf(v).Elem().IsNil() {
			t.Errorf("null into a %T: %v", v, err)
		}
	}
}

// TestLongWay is a variable behind many pointers in interfaces, some of them to the same variables at several places
// of the document.
func TestLongWay(t *testing.T) {
	const n = 1000
	var end []int
	way := make([]any, n)
	for i := range n - 1 {
		way[i] = &way[i+1]
	}
	way[n-1] = &end
	all := struct{ A, B, C any }{&way[0], &way[n/2], &way[0]}
	if err := UnmarshalInto(nil, []byte(`{"A":[1],"B":[2,3],"C":[4]}`), &all); err != nil || !reflect.DeepEqual(end, []int{4}) {
		t.Errorf("%v, %v", end, err)
	}
}

// TestValueInItself has a stale Value that contains itself, and objects nested more deeply than any document.
func TestValueInItself(t *testing.T) {
	a := arena.NewArena()
	defer a.Free()
	inner, _ := ArrayValue(a, NullValue())
	a.Reset(arena.Keep)
	itself, err := ArrayValue(a, inner) // Mostly where inner was.
	if err != nil {
		t.Fatal(err)
	}
	deep := NullValue()
	for range maxDepth + 1 {
		o := NewObject(a, Value{})
		o.Set("a", deep)
		o.Set("b", deep) // A walk that goes on after its error would take 2^10000 steps.
		if deep, err = o.Value(); err != nil {
			t.Fatal(err)
		}
	}
	merged := NewObject(nil, deep)
	merged.Merge(deep)
	if _, err := merged.Value(); !errors.Is(err, errDeepValue) {
		t.Errorf("Merge: %v", err)
	}
	for _, v := range []Value{itself, deep} {
		if v.Kind() == Array && v.Index(0).Index(0).Index(0).Kind() != Array {
			continue // A mode gives each value memory of its own.
		}
		if _, err := v.MarshalJSON(); !errors.Is(err, errDeepValue) {
			t.Errorf("MarshalJSON: %v", err)
		}
		if _, err := As[any](nil, v); !errors.Is(err, errDeepValue) {
			t.Errorf("As: %v", err)
		}
		for name, f := range map[string]func(){"String": func() { _ = v.String() }, "AppendJSON": func() { v.AppendJSON(nil) }, "Any": func() { v.Any() }} {
			func() {
				defer func() {
					if err, _ := recover().(error); !errors.Is(err, errDeepValue) {
						t.Errorf("%s: %v", name, err)
					}
				}()
				f()
			}()
		}
	}
}

// TestCompileTwice: of two goroutines that make the plan of a type, the later one finds that of the other.
func TestCompileTwice(t *testing.T) {
	for _, r := range []rules{version1, version2} {
		k := planKey{reflect.TypeFor[[7]struct{ OfThisTest int }](), r}
		if first := compile(k); first == nil || compile(k) != first || planFor(k) != first {
			t.Error("there are several plans for a type, or none")
		}
	}
}
