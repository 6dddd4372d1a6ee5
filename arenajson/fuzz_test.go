// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
)

// FuzzSame decodes a document into a type of its own, made from a number, by encoding/json and by all ways here.
func FuzzSame(f *testing.F) {
	for i, doc := range documents {
		if len(doc) < 1000 {
			f.Add([]byte(doc), uint64(i))
		}
	}
	fills := samples()
	f.Fuzz(func(t *testing.T, doc []byte, seed uint64) {
		if n := uint64(len(fills)); seed < 4*n {
			same(t, doc, fills[seed%n])
			return
		}
		g := generator{rand.New(rand.NewPCG(seed, 0))}
		typ := g.typ(4)
		same(t, doc, func() any { return reflect.New(typ).Interface() })
		made := g.document(nil, typ, 4)
		same(t, made, func() any { return reflect.New(typ).Interface() })
		same(t, g.damaged(made), func() any { return reflect.New(typ).Interface() })
	})
}

// TestRandomTypes does so for some types and documents that are made for them.
func TestRandomTypes(t *testing.T) {
	for seed := range uint64(300) {
		g := generator{rand.New(rand.NewPCG(seed, 1))}
		typ := g.typ(4)
		for range 3 {
			doc := g.document(nil, typ, 5)
			same(t, doc, func() any { return reflect.New(typ).Interface() })
			same(t, g.damaged(doc), func() any { return reflect.New(typ).Interface() })
		}
		if t.Failed() {
			t.Fatalf("seed %d, type %v", seed, typ)
		}
	}
}

// A generator makes types, and documents that mean something to them.
type generator struct{ *rand.Rand }

var leaves = []reflect.Type{
	reflect.TypeFor[bool](), reflect.TypeFor[int](), reflect.TypeFor[int8](), reflect.TypeFor[uint16](), reflect.TypeFor[int32](), reflect.TypeFor[uint64](), reflect.TypeFor[float64](), reflect.TypeFor[float32](),
	reflect.TypeFor[string](), reflect.TypeFor[any](), reflect.TypeFor[json.Number](), reflect.TypeFor[json.RawMessage](), reflect.TypeFor[[]byte](), reflect.TypeFor[named](), reflect.TypeFor[loud](), reflect.TypeFor[quiet](), reflect.TypeFor[*quiet](),
	reflect.TypeFor[struct{}](), reflect.TypeFor[error](), reflect.TypeFor[scalars](), reflect.TypeFor[embedsPointers](), reflect.TypeFor[both](),
	reflect.TypeFor[tone](), reflect.TypeFor[mood](), reflect.TypeFor[intText](), reflect.TypeFor[[]byteText](), reflect.TypeFor[pointerTo](), reflect.TypeFor[*time.Time](), reflect.TypeFor[struct{ tone }](), reflect.TypeFor[tagged](), reflect.TypeFor[tree](), reflect.TypeFor[uintptr](),
}

var keys = []reflect.Type{reflect.TypeFor[string](), reflect.TypeFor[int](), reflect.TypeFor[uint8](), reflect.TypeFor[named](), reflect.TypeFor[textKey](), reflect.TypeFor[quiet](), reflect.TypeFor[struct{ tone }](), reflect.TypeFor[bool](), reflect.TypeFor[intText]()}

var fieldNames = []string{"A", "Bc", "Def", "Name", "LongerThanEight", "Another_long_name", "É", "ID"}

func (g generator) typ(depth int) reflect.Type {
	if depth == 0 {
		return leaves[g.IntN(len(leaves))]
	}
	switch g.IntN(7) {
	case 0:
		return reflect.PointerTo(g.typ(depth - 1))
	case 1:
		return reflect.SliceOf(g.typ(depth - 1))
	case 2:
		return reflect.ArrayOf(g.IntN(4), g.typ(depth-1))
	case 3:
		return reflect.MapOf(keys[g.IntN(len(keys))], g.typ(depth-1))
	case 4, 5:
		var fields []reflect.StructField
		for _, at := range g.Perm(len(fieldNames))[:g.IntN(6)] {
			f := reflect.StructField{Name: fieldNames[at], Type: g.typ(depth - 1)}
			switch g.IntN(8) {
			case 0:
				f.Tag = `json:"tagged,omitempty"`
			case 1:
				f.Tag = `json:",string"`
			case 2:
				f.Tag = `json:"-"`
			}
			fields = append(fields, f)
		}
		return reflect.StructOf(fields)
	}
	return leaves[g.IntN(len(leaves))]
}

var scraps = []string{`null`, `true`, `false`, `0`, `1`, `-7`, `300`, `1.5`, `1e3`, `123456789012345678901`, `""`, `"a"`, `"12"`, `"x\ny\u00e9"`, `"aGk="`, `"null"`, `[]`, `{}`, `[1,"a",{}]`, `{"A":1,"x":[null]}`, `"2020-01-02T03:04:05Z"`}

// document appends a document that mostly suits a type.
func (g generator) document(b []byte, t reflect.Type, depth int) []byte {
	space := []string{"", "", "", " ", "\n\t", "          "}[g.IntN(6)]
	b = append(b, space...)
	if depth == 0 || g.IntN(8) == 0 {
		return append(b, scraps[g.IntN(len(scraps))]...)
	}
	switch t.Kind() {
	case reflect.Pointer:
		return g.document(b, t.Elem(), depth)
	case reflect.Slice, reflect.Array:
		b = append(b, '[')
		for i := range g.IntN(6) {
			if i > 0 {
				b = append(b, ',')
			}
			b = g.document(b, t.Elem(), depth-1)
			b = append(b, space...)
		}
		return append(b, ']')
	case reflect.Map:
		b = append(b, '{')
		for i := range g.IntN(4) {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(append(b, []string{`"a"`, `"1"`, `"255"`, `"-1"`, `"\u0061b"`, `"fail"`}[g.IntN(6)]...), ':')
			b = g.document(b, t.Elem(), depth-1)
		}
		return append(b, '}')
	case reflect.Struct:
		b = append(b, '{')
		for i := range g.IntN(5) {
			if i > 0 {
				b = append(b, ',')
			}
			name, elem := "unknown", reflect.TypeFor[any]()
			if t.NumField() > 0 && g.IntN(6) > 0 {
				f := t.Field(g.IntN(t.NumField()))
				if name, elem = f.Name, f.Type; g.IntN(4) == 0 {
					name = string(bytes.ToLower([]byte(name)))
				}
			}
			b = append(append(append(b, '"'), name...), `":`...)
			b = g.document(b, elem, depth-1)
		}
		return append(b, '}')
	case reflect.Int, reflect.Int8, reflect.Int32, reflect.Uint16, reflect.Uint64, reflect.Uint8:
		return append(b, []string{"0", "5", "-3", "127", "200", "70000", `"4"`}[g.IntN(7)]...)
	case reflect.Float32, reflect.Float64:
		return append(b, []string{"0.5", "-1e10", "3", "1e39", "0.1"}[g.IntN(5)]...)
	case reflect.String:
		return append(b, []string{`"text"`, `"5"`, `"with \"quotes\" and more"`, `"\ud83d\ude00"`, `"\"q\""`}[g.IntN(5)]...)
	case reflect.Bool:
		return append(b, []string{`true`, `false`, `"true"`}[g.IntN(3)]...)
	}
	return append(b, scraps[g.IntN(len(scraps))]...)
}

// damaged is a copy of a document with one byte changed, cut off, or inserted.
func (g generator) damaged(doc []byte) []byte {
	out := bytes.Clone(doc)
	at := g.IntN(len(doc))
	switch g.IntN(3) {
	case 0:
		out[at] = "\"\\{}[]:,0e-. \x00\xff"[g.IntN(15)]
	case 1:
		return out[:at]
	default:
		out = append(out[:at], out[at+1:]...)
	}
	return out
}
