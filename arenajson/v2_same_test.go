// SPDX-License-Identifier: Apache-2.0

//go:build go1.27 && (goexperiment.jsonv2 || go1.28)

package arenajson

import (
	"encoding/json/jsontext"
	jsonv2 "encoding/json/v2"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/arena"
)

// sameV2 checks that a document means the same to encoding/json/v2 and, by all ways, here.
func sameV2(t testing.TB, doc []byte, fill func() any) {
	t.Helper()
	want := fill()
	panicked, wantErr := unmarshalV2(doc, want)
	for _, w := range ways {
		var a *arena.Arena
		if !w.heap {
			a = arena.NewArena()
		}
		w.opts.V2 = true
		input := append([]byte(nil), doc...)
		got := fill()
		err := UnmarshalInto(a, input, got, w.opts)
		switch {
		case panicked:
		case !sameErrorV2(err, wantErr) && !(err != nil && wantErr != nil && unfinished(err, got)):
			t.Errorf("%s: %T from %q: error\n     %#v %v\nwant %#v %v", w.name, got, doc, err, err, wantErr, wantErr)
		case unfinished(err, got):
		case !equal(got, want):
			t.Errorf("%s: %T from %q, %v, %v:\n got %s\nwant %s", w.name, got, doc, err, wantErr, dump(got), dump(want))
		}
		if string(input) != string(doc) {
			t.Errorf("%s: %T from %q: the input is %q now", w.name, got, doc, input)
		}
		a.Free()
	}
}

// sameErrorV2 reports whether two errors of version 2 are equal in all that programs see.
func sameErrorV2(got, want error) bool {
	if got == nil || want == nil {
		return got == want
	}
	switch w := want.(type) {
	case *jsonv2.SemanticError:
		g, ok := got.(*jsonv2.SemanticError)
		return ok && (w.Error() == g.Error() || strings.Contains(w.Error(), "ambiguous")) && w.ByteOffset == g.ByteOffset && w.JSONPointer == g.JSONPointer && w.JSONKind == g.JSONKind &&
			string(w.JSONValue) == string(g.JSONValue) && w.GoType == g.GoType
	case *jsontext.SyntacticError:
		g, ok := got.(*jsontext.SyntacticError)
		return ok && w.Error() == g.Error() && w.ByteOffset == g.ByteOffset && w.JSONPointer == g.JSONPointer
	}
	return reflect.TypeOf(got) == reflect.TypeOf(want) && got.Error() == want.Error()
}

// unfinished reports whether the error leaves the variable as encoding/json/v2 does not: behind a syntax error that has counted the next
// element already, and half of an unknown member in a json.RawMessage.
func unfinished(err error, v any) bool {
	var syntax *jsontext.SyntacticError
	typ := fmt.Sprintf("%T", v)
	return errors.As(err, &syntax) && syntax.Err != jsontext.ErrDuplicateName || err != nil && strings.Contains(typ, "Raw") ||
		err != nil && strings.Contains(err.Error(), "unexpected EOF") && strings.Contains(typ, "fromV2Type") // The method sees its value alone.
}

// unmarshalV2 is Unmarshal of encoding/json/v2, which panics with some types.
func unmarshalV2(doc []byte, v any) (panicked bool, err error) {
	defer func() {
		if recover() != nil {
			panicked = true
		}
	}()
	return false, jsonv2.Unmarshal(doc, v)
}

// TestV2Same decodes all documents into all samples by version 2.
func TestV2Same(t *testing.T) {
	fills := append(append(samples(), edges()...), samplesV2()...)
	docs := append(append(documents[:len(documents):len(documents)], edgeDocuments...), documentsV2...)
	for _, doc := range docs {
		for _, fill := range fills {
			sameV2(t, []byte(doc), fill)
		}
	}
}

// TestV2Prefixes decodes every beginning of some documents.
func TestV2Prefixes(t *testing.T) {
	for _, doc := range documentsV2 {
		for _, fill := range samplesV2()[:10] {
			for n := range len(doc) {
				sameV2(t, []byte(doc)[:n], fill)
			}
		}
	}
}

// TestV2RandomTypes decodes documents into random types with the tags of version 2.
func TestV2RandomTypes(t *testing.T) {
	for seed := range uint64(600) {
		g := generator{rand.New(rand.NewPCG(seed, 2))}
		typ := g.typV2(4)
		for range 3 {
			doc := g.document(nil, typ, 5)
			sameV2(t, doc, func() any { return reflect.New(typ).Interface() })
			sameV2(t, g.damaged(doc), func() any { return reflect.New(typ).Interface() })
		}
		if t.Failed() {
			t.Fatalf("seed %d, type %v", seed, typ)
		}
	}
}

var tagsV2 = []reflect.StructTag{
	`json:"tagged,omitempty"`, `json:",string"`, `json:"-"`, `json:",case:ignore"`, `json:",embed"`, `json:",case:strict"`, `json:",omitzero"`, `json:"'quoted name'"`, `json:",format:hex"`, `json:",format:array"`,
	`json:",format:emitnull"`, `json:",format:unix"`, `json:",format:sec,string"`, `json:",string,format:nonfinite"`, `json:"x,"`, `json:"A"`,
}

// typV2 is typ with the tags of version 2.
func (g generator) typV2(depth int) reflect.Type {
	if depth == 0 {
		return leaves[g.IntN(len(leaves))]
	}
	switch g.IntN(8) {
	case 0:
		return reflect.PointerTo(g.typV2(depth - 1))
	case 1:
		return reflect.SliceOf(g.typV2(depth - 1))
	case 2:
		return reflect.ArrayOf(g.IntN(4), g.typV2(depth-1))
	case 3:
		return reflect.MapOf(keys[g.IntN(len(keys))], g.typV2(depth-1))
	case 4, 5, 6:
		var fields []reflect.StructField
		for _, at := range g.Perm(len(fieldNames))[:g.IntN(6)] {
			f := reflect.StructField{Name: fieldNames[at], Type: g.typV2(depth - 1)}
			if n := g.IntN(4 * len(tagsV2)); n < len(tagsV2) {
				f.Tag = tagsV2[n]
			}
			fields = append(fields, f)
		}
		return reflect.StructOf(fields)
	}
	return leaves[g.IntN(len(leaves))]
}

// FuzzV2Same is FuzzSame for version 2.
func FuzzV2Same(f *testing.F) {
	for i, doc := range documentsV2 {
		f.Add([]byte(doc), uint64(i))
	}
	fills := append(samplesV2(), samples()...)
	f.Fuzz(func(t *testing.T, doc []byte, seed uint64) {
		if n := uint64(len(fills)); seed < 4*n {
			sameV2(t, doc, fills[seed%n])
			return
		}
		g := generator{rand.New(rand.NewPCG(seed, 0))}
		typ := g.typV2(4)
		sameV2(t, doc, func() any { return reflect.New(typ).Interface() })
		made := g.document(nil, typ, 4)
		sameV2(t, made, func() any { return reflect.New(typ).Interface() })
		sameV2(t, g.damaged(made), func() any { return reflect.New(typ).Interface() })
	})
}

// fromV2Type decodes itself from a stream of tokens.
type fromV2Type struct{ text string }

func (f *fromV2Type) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	v, err := dec.ReadValue()
	if err != nil {
		return err
	}
	if f.text += "<" + string(v) + ">"; string(v) == `"fail"` {
		return errors.New("fails")
	}
	if string(v) == `"more"` {
		_, err = dec.ReadToken()
	}
	return err
}

func (f *fromV2Type) UnmarshalJSON([]byte) error {
	return errors.New("the other method has precedence")
}

// TestV2From decodes into types with UnmarshalJSONFrom.
func TestV2From(t *testing.T) {
	for _, doc := range []string{`{"A":{"a": 1},"P":null,"L":[1,null,"x"],"M":{"k":"v","l":2},"K":{"a":1,"b":2}}`, `{"A":null}`, `{"A":"fail"}`, `{"P":[1,2]}`, `{"A":"more"}`, `{"K":{"a":1,"a":2}}`, `{"K":{"fail":1}}`, `{"L":["more",1]}`, `{"A":{"a":1,"a":2}}`} {
		sameV2(t, []byte(doc), func() any {
			return new(struct {
				A fromV2Type
				P *fromV2Type
				L []fromV2Type
				M map[string]fromV2Type
				K map[fromV2Type]int
			})
		})
	}
}
