// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"reflect"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/arena"
)

// spelled is decoded by its method where that counts.
type spelled struct{ A string }

func (s *spelled) UnmarshalJSON(b []byte) error {
	s.A = "method"
	return nil
}

// spelledPointer is a pointer type with a name: methods of what it points to count, too.
type spelledPointer *spelled

// TestKeptPlan decodes documents of several types and versions in turn, in one goroutine. A decoder keeps the plan of the last
// document, which must not decode another type.
func TestKeptPlan(t *testing.T) {
	type lower struct{ A, a string }
	type number struct{ A float64 }
	a := arena.NewArena()
	defer a.Free()
	const doc, folded = `{"A":"field"}`, `{"a":"folded"}`
	for round := range 3 {
		var s spelled
		if err := UnmarshalInto(a, []byte(doc), &s); err != nil || s.A != "method" {
			t.Fatalf("round %d, pointer without a name: %v, %v", round, s, err)
		}
		if err := UnmarshalInto(a, []byte(doc), spelledPointer(&s)); err != nil || s.A != "method" {
			t.Fatalf("round %d, pointer with a name: %v, %v", round, s, err)
		}
		if v, err := Unmarshal[spelled](a, []byte(doc)); err != nil || v.A != "method" {
			t.Fatalf("round %d, Unmarshal: %v, %v", round, v, err)
		}
		for _, v2 := range []bool{false, true, true, false} {
			v, err := Unmarshal[lower](a, []byte(folded), Options{V2: v2})
			if want := map[bool]string{false: "folded", true: ""}[v2]; err != nil || v.A != want {
				t.Fatalf("round %d, version 2 %t: %v, %v, want %q", round, v2, v, err, want)
			}
		}
		if v, err := Unmarshal[number](a, []byte(`{"A":1.5}`)); err != nil || v.A != 1.5 {
			t.Fatalf("round %d, a number: %v, %v", round, v, err)
		}
		for range 2 {
			if _, err := Unmarshal[chan int](a, []byte(doc)); err == nil {
				t.Fatalf("round %d, a channel: no error", round)
			}
		}
	}
}

// TestDecoderIsCleared looks at decoders that are left to the next document. All of a decoder is clear but what the next document
// sets in any case, its scratch memory, and the indentation, which is only a guess.
func TestDecoderIsCleared(t *testing.T) {
	type list struct {
		L []int
		M map[string]any
		T spelled
	}
	a := arena.NewArena()
	defer a.Free()
	kept := []string{"depth", "indents", "start", "rules", "strict"}
	for _, doc := range []string{`{"L":[1],"M":{"a":[{}]},"T":1}`, `{"L":[1,"a"],"M":{"b":`, `{"M":{"c":1e999}}`, `[[[`, ``} {
		for _, a := range []*arena.Arena{a, nil} {
			d, err := newDecoder(a, []byte(doc), []Options{{AliasInput: true, UseNumber: len(doc)&1 == 0, MaxDepth: 2}})
			if err != nil {
				t.Fatal(err)
			}
			p := d.planFor(reflect.TypeFor[list]())
			d.document(p, reflect.TypeFor[*list](), d.new(p.mem))
			d.frames = append(d.frames, frame{})
			_, _, _ = d.end()
			v := reflect.ValueOf(*d)
			for _, f := range reflect.VisibleFields(v.Type()) {
				if f.Anonymous || len(f.Index) > 1 && f.Index[0] == v.NumField()-1 || strings.Contains(strings.Join(kept, " "), f.Name) {
					continue
				}
				if !v.FieldByIndex(f.Index).IsZero() {
					t.Errorf("%s: the decoder's field %s is not clear", doc, f.Name)
				}
			}
			checkStacks(t, doc, d)
		}
	}
}

// TestStacksAreCleared: whatever arrays and objects a document had, complete or not, the stacks keep none of its values.
func TestStacksAreCleared(t *testing.T) {
	a := arena.NewArena()
	defer a.Free()
	const doc = `[[1,2,{"a":"b","c":[3,4,{"d":{},"e":[{}]}]},[]],{"f":[[[5],[6,7,8,9,10,11]]]},"g"]`
	for n := range len(doc) + 1 {
		for _, o := range []Options{{}, {ValuesForAny: true}, {V2: true}} {
			for _, a := range []*arena.Arena{a, nil} {
				d, err := newDecoder(a, []byte(doc[:n]), []Options{o})
				if err != nil {
					t.Fatal(err)
				}
				p := d.planFor(reflect.TypeFor[any]())
				d.document(p, reflect.TypeFor[*any](), d.new(p.mem))
				if _, _, stopped := d.end(); stopped != (n < len(doc)) {
					t.Errorf("%s: stopped is %t", doc[:n], stopped)
				}
				checkStacks(t, doc[:n], d)
			}
		}
	}
}

// checkStacks looks at the stacks of a decoder that is left to the next document.
func checkStacks(t *testing.T, doc string, d *decoder) {
	t.Helper()
	checkStack(t, doc, &d.stack)
	checkStack(t, doc, &d.values)
	checkStack(t, doc, &d.members)
}

func checkStack[T any](t *testing.T, doc string, s *stack[T]) {
	t.Helper()
	var zero T
	for _, item := range s.items[:cap(s.items)] {
		if any(item) != any(zero) {
			t.Errorf("%s: a stack still has %v", doc, item)
		}
	}
	if len(s.items) != 0 || s.used != 0 || s.cursor != nil {
		t.Errorf("%s: a stack is not empty: %d items, %d used, cursor %p", doc, len(s.items), s.used, s.cursor)
	}
}
