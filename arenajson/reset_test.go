// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/internal/debugmode"
)

// panicOf is what f panics with, as text.
func panicOf(f func()) (text string) {
	defer func() {
		if r := recover(); r != nil {
			text = fmt.Sprint(r)
		}
	}()
	f()
	return ""
}

// TestObjectBuilderAfterReset uses builders after the end of their members. They would change the members of later
// objects.
func TestObjectBuilderAfterReset(t *testing.T) {
	uses := map[string]func(b *ObjectBuilder){
		"Set":    func(b *ObjectBuilder) { b.Set("name", NullValue()) },
		"Delete": func(b *ObjectBuilder) { b.Delete("name") },
		"Merge":  func(b *ObjectBuilder) { b.Merge(Value{}) },
		"Value":  func(b *ObjectBuilder) { _, _ = b.Value() },
	}
	for op, use := range uses {
		for _, given := range []bool{false, true} {
			a := arena.NewArena()
			b := NewObject(a, Value{})
			a.Reset(arena.Keep) // The builder has no memory yet.
			use(b)
			b.Set("name", BoolValue(true))
			if given {
				_, _ = b.Value()
			}
			c := a.Checkpoint()
			use(b)
			b.Set("other", NullValue())
			a.Rewind(c)
			if text := panicOf(func() { use(b) }); !strings.Contains(text, "ObjectBuilder."+op) || !strings.Contains(text, "rewound") {
				t.Errorf("%s after Rewind: %s", op, text)
			}
			b = NewObject(a, Value{})
			b.Set("name", NullValue())
			a.Reset(arena.Keep)
			if text := panicOf(func() { use(b) }); !strings.Contains(text, "ObjectBuilder."+op) || !strings.Contains(text, "reset") {
				t.Errorf("%s after Reset: %s", op, text)
			}
			a.Free()
			if text := panicOf(func() { use(b) }); text == "" {
				t.Errorf("%s after Free: no panic", op)
			}
			b = NewObject(nil, Value{})
			b.Set("name", NullValue())
			use(b)
		}
	}
}

// A reader that returns a wrong number of bytes.
type wrongReader int

func (n wrongReader) Read(b []byte) (int, error) {
	if n > 0 {
		return len(b) + int(n), nil
	}
	return int(n), nil
}

// TestWrongReader reads from readers that return more bytes than there is room for, or fewer than none.
func TestWrongReader(t *testing.T) {
	for _, r := range []io.Reader{wrongReader(-1), wrongReader(1)} {
		for name, f := range map[string]func(){
			"Each": func() {
				for range Each[any](nil, r) {
				}
			},
			"EachElement": func() {
				for range EachElement[any](nil, r) {
				}
			},
			"Decoder": func() { _ = NewDecoder(nil, r).Decode(new(any)) },
		} {
			if text := panicOf(f); !strings.Contains(text, "arenajson: a Read of at most") {
				t.Errorf("%s, %d: %s", name, r, text)
			}
		}
	}
}

// place is an element that leads to no method by its type, but may by what its any holds.
type place struct {
	A any
	N int
}

// once is a value whose method calls a function.
type once struct{ do func() }

func (o *once) UnmarshalJSON([]byte) error {
	if o.do != nil {
		o.do()
	}
	return nil
}

// TestMethodsInInterfaces has an any lead to a method that resets the arena while the slice around it grows. What the
// method allocates then is not given to others.
func TestMethodsInInterfaces(t *testing.T) {
	if debugmode.On() {
		t.Skip("a debug mode reports values that are written to after Reset")
	}
	if freehold.NoReuseMode() {
		t.Skip("FREEHOLD=noreuse: no stale value is in the decoder's way")
	}
	for _, v2 := range []bool{false, true} {
		a := arena.NewArena()
		for range 1000 { // So that slices lie in a chunk with others.
			arena.New[place](a)
		}
		a.Reset(arena.Keep)
		stale := arena.MakeSlice[place](a, 16, 16)
		a.Reset(arena.Keep)
		var made []place
		reset := &once{func() {
			a.Reset(arena.Keep)
			made = arena.MakeSlice[place](a, 4, 4)
		}}
		v := struct {
			P any
			S []place
		}{P: &once{func() { stale[2].A = reset }}} // Where S will begin.
		if err := UnmarshalInto(a, []byte(`{"P":1,"S":[{},{},{"A":1}]}`), &v, Options{V2: v2}); err != nil || len(v.S) != 3 {
			t.Fatalf("%v, %v", v, err)
		}
		if made == nil && !freehold.HeapMode() {
			t.Fatal("the method was not called")
		}
		for range 4 {
			next := arena.New[place](a)
			for i := range made {
				if next == &made[i] {
					t.Fatalf("version 2 %t: element %d of a slice is allocated twice", v2, i)
				}
			}
		}
		a.Free()
	}
}

// TestEndlessV2 decodes into pointers that lead to nothing but pointers.
func TestEndlessV2(t *testing.T) {
	var own endlessPointer
	own = &own
	for _, v := range []any{new(endlessPointer), &own, new(endlessTwin), new(endlessOther), new(struct{ P endlessPointer })} {
		for _, doc := range []string{`1`, `"a"`, `{"P":1}`, `[true]`} {
			if err := UnmarshalInto(nil, []byte(doc), v, Options{V2: true}); err == nil {
				t.Errorf("%s into a %T: no error", doc, v)
			}
		}
		if err := UnmarshalInto(nil, []byte(`null`), v, Options{V2: true}); err != nil || !reflect.ValueOf(v).Elem().IsZero() {
			t.Errorf("null into a %T: %v", v, err)
		}
	}
}

// meddled has methods that change the document, in many places.
type meddled struct {
	A, B  *once
	S     string
	T     []textOnce
	M     map[textOnce]*once
	N     map[string]meddled
	I     any
	F     float64
	L     []*once
	U     map[string]any `json:",embed"`
	Bytes []byte
}

type textOnce string

var meddle func()

func (o *textOnce) UnmarshalText(b []byte) error {
	*o = textOnce(b)
	if meddle != nil {
		meddle()
	}
	return nil
}

// TestMethodsChangeInput has methods change the document that is being decoded. The result may be anything; memory stays
// intact, and decoding ends.
func TestMethodsChangeInput(t *testing.T) {
	const doc = `{"A":1,"T":["\u0041b","c\n","ddddddddddddddddd"],"S":"text \" of some length","M":{"k\t":1,"k2":[1,2,3.5e1]},"L":[{},null,[1]],` +
		`"N":{"x":{"B":2,"I":[{"y":"\ud83d\ude00"},1.25e-3]},"z":{}},"u":{"v":[true]},"w":"x","F":12345678901234567890.5,"I":{"a":[1,2,{"b":null}]},"Bytes":"AAECAwQF","B":"end"}`
	r := rand.New(rand.NewPCG(1, 2))
	a := arena.NewArena()
	defer a.Free()
	defer func() { meddle = nil }()
	for round := range 4000 {
		b := []byte(doc)
		meddle = func() {
			for range r.IntN(4) {
				b[r.IntN(len(b))] = `"{}[]\,:x1`[r.IntN(10)]
			}
		}
		o := Options{V2: round&1 != 0, AliasInput: round&2 != 0, ValuesForAny: round&4 != 0}
		m := meddled{A: &once{meddle}, B: &once{meddle}, L: []*once{{meddle}, {meddle}, {meddle}}, M: map[textOnce]*once{"k2": {meddle}}}
		if !o.V2 {
			m.M = nil
		}
		text := panicOf(func() { _ = UnmarshalInto(a, b, &m, o) })
		if text != "" {
			t.Fatalf("round %d, %+v: %s", round, o, text)
		}
		a.Reset(arena.Keep)
	}
}
