// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"errors"
	"reflect"
	"testing"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/offheap"
)

// anys has an any in all places where one can be.
type anys struct {
	X    any
	P    *any
	L    []any
	M    map[string]any
	A    [2]any
	E    error
	Gone any
}

// plainAnys is v with what encoding/json has where v has Values.
func plainAnys(t *testing.T, v *anys) *anys {
	plain := func(x any) any {
		if x == nil {
			return nil
		}
		value, ok := x.(Value)
		if !ok {
			t.Fatalf("%T in an any", x)
		}
		return value.Any()
	}
	out := &anys{X: plain(v.X), A: [2]any{plain(v.A[0]), plain(v.A[1])}, Gone: plain(v.Gone)}
	if v.P != nil {
		x := plain(*v.P)
		out.P = &x
	}
	if v.L != nil {
		out.L = []any{}
	}
	for _, x := range v.L {
		out.L = append(out.L, plain(x))
	}
	if v.M != nil {
		out.M = map[string]any{}
	}
	for name, x := range v.M {
		out.M[name] = plain(x)
	}
	return out
}

// TestValuesForAny compares what Values mean with what encoding/json decodes.
func TestValuesForAny(t *testing.T) {
	docs := []string{
		`{"X":{"a":[1,{"b":null}],"c":"d\u00e9"},"P":[true],"L":[1,"x",null,[],{}],"M":{"k":{"n":-1.5e3},"l":null},"A":["a",{}]}`,
		`{"X":null,"P":null,"L":null,"M":null,"A":null}`, `{"X":"\ud83d\ude00","X":false}`, `{"L":[[[[]]]],"A":[1,2,3]}`, `{"X":{`, `{"X":[1,]}`, `{"L":[1,tru]}`, `{"X":1} 2`,
		`{"E":{"a":1},"X":2}`,
	}
	for _, doc := range docs {
		var want anys
		wantErr := standard([]byte(doc), &want)
		for _, w := range ways {
			var a *arena.Arena
			if !w.heap {
				a = arena.NewArena()
			}
			w.opts.ValuesForAny = true
			var got anys
			err := UnmarshalInto(a, []byte(doc), &got, w.opts)
			if d := errorsDiffer(err, wantErr); d != "" {
				t.Errorf("%s: %s: %s", w.name, doc, d)
			}
			if plain := plainAnys(t, &got); !reflect.DeepEqual(plain, &want) {
				t.Errorf("%s: %s:\n got %+v\nwant %+v", w.name, doc, plain, &want)
			}
			a.Free()
		}
	}
}

// TestValuesForAnyDiffer has the places where a Value shows what encoding/json's values do not.
func TestValuesForAnyDiffer(t *testing.T) {
	a := arena.NewArena()
	defer a.Free()
	o := Options{ValuesForAny: true}
	v, err := Unmarshal[anys](a, []byte(`{"X":null,"L":[1e999,{"a":1,"b":2,"a":3}]}`), o)
	if err != nil {
		t.Fatal(err)
	}
	if x, ok := v.X.(Value); !ok || x.Kind() != Null {
		t.Errorf("null is %#v", v.X)
	}
	if v.Gone != nil {
		t.Errorf("a field that the document does not have is %#v", v.Gone)
	}
	if got := v.L[0].(Value).Number(); got != "1e999" {
		t.Errorf("the number is %q", got)
	}
	if got := v.L[1].(Value).String(); got != `{"a":1,"b":2,"a":3}` {
		t.Errorf("the object is %s", got)
	}
	root, err := Unmarshal[any](a, []byte(` [1] `), o)
	if err != nil || (*root).(Value).Index(0).Number() != "1" {
		t.Errorf("an any as the root is %v, %v", root, err)
	}
	held := &scalars{I: 1, S: "old"}
	into := anys{X: held}
	if err := UnmarshalInto(a, []byte(`{"X":{"I":5,"X":[2]}}`), &into, o); err != nil {
		t.Fatal(err)
	}
	if into.X != any(held) || held.I != 5 || held.S != "old" || held.X.(Value).Len() != 1 {
		t.Errorf("a pointer in an any: %+v", held)
	}
}

// TestValuesForAnyLimit refuses memory at each of the first allocations.
func TestValuesForAnyLimit(t *testing.T) {
	doc := []byte(`{"X":{"a":[1,{"b":null}],"c":"d\u00e9"},"P":[true],"L":[1,"x",null,[],{}],"A":["a",{}]}`)
	refused := 0
	for limit := int64(1); ; limit += limit/8 + 16 {
		a := arena.NewArena()
		a.SetLimit(limit)
		_, err := Unmarshal[anys](a, doc, Options{ValuesForAny: true})
		if err == nil {
			a.Free()
			break
		}
		if !errors.Is(err, offheap.ErrLimit) {
			t.Fatalf("with a limit of %d: %v", limit, err)
		}
		refused++
		a.SetLimit(0)
		a.Reset(arena.Keep)
		if v, err := Unmarshal[anys](a, doc, Options{ValuesForAny: true}); err != nil || v.X.(Value).Get("a", 0).Number() != "1" {
			t.Fatalf("after a limit of %d: %v", limit, err)
		}
		a.Free()
	}
	if refused == 0 {
		t.Error("no limit refused anything")
	}
}
