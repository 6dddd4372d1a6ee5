// SPDX-License-Identifier: Apache-2.0

// Package json stands beside the tests of encoding/json/v2, which TestV2StandardTables has copied and changed: what they call in place of
// the standard decoder is arenajson.
package json

import (
	"encoding/json/jsontext"
	jsonv2 "encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/arenajson"

	"json/std/jsonflags"
	"json/std/jsonopts"
	"json/std/jsontest"
)

var tables = arena.NewArena() // Not reset: some tests compare what they have decoded later.

// Options are those of encoding/json/v2, and copies of its internal ones.
type Options any

type (
	SemanticError   = semanticError
	Unmarshalers    = jsonv2.Unmarshalers
	Marshaler       = jsonv2.Marshaler
	Unmarshaler     = jsonv2.Unmarshaler
	MarshalerTo     = jsonv2.MarshalerTo
	UnmarshalerFrom = jsonv2.UnmarshalerFrom
)

// A semanticError is a SemanticError with its action, which a test of another package cannot set.
type semanticError struct {
	action      string
	ByteOffset  int64
	JSONPointer jsontext.Pointer
	JSONKind    jsontext.Kind
	JSONValue   jsontext.Value
	GoType      reflect.Type
	Err         error
}

func (e *semanticError) Error() string { return fmt.Sprintf("%s %v: %v", e.action, e.GoType, e.Err) }

func (e *semanticError) Unwrap() error { return e.Err }

var (
	UnmarshalDecode      = jsonv2.UnmarshalDecode
	ErrUnknownName       = jsonv2.ErrUnknownName
	WithUnmarshalers     = jsonv2.WithUnmarshalers
	RejectUnknownMembers = jsonv2.RejectUnknownMembers

	MatchCaseInsensitiveNames = jsonv2.MatchCaseInsensitiveNames
	StringifyNumbers          = jsonv2.StringifyNumbers
)

func UnmarshalFunc[T any](f func([]byte, T) error) *Unmarshalers { return jsonv2.UnmarshalFunc(f) }

func UnmarshalFromFunc[T any](f func(*jsontext.Decoder, T) error) *Unmarshalers {
	return jsonv2.UnmarshalFromFunc(f)
}

var JoinUnmarshalers = jsonv2.JoinUnmarshalers

func newDecoderHere(r io.Reader) *arenajson.Decoder {
	return arenajson.NewDecoder(tables, r, arenajson.Options{V2: true})
}

// different are the cases of TestUnmarshal in which arenajson differs.
var different = map[string]string{
	"Structs/EmbeddedFallback/TextValue/MergeInvalidValue": "half of a member stays in a jsontext.Value behind a syntax error; arenajson leaves none",
	"Methods/Invalid/JSONv2/TooMany":                       "the method finds the end of its value, not the next value; both are errors",
}

// leaveOut skips a case with an option that arenajson does not have, and one with another result.
func leaveOut(t *testing.T, opts []Options) {
	if reason, ok := different[strings.TrimPrefix(t.Name(), "TestUnmarshal/")]; ok {
		t.Skip(reason)
	}
	if _, reason := translated(opts); reason != "" {
		t.Skip(reason)
	}
}

// translated are the options of arenajson that mean the same, or the reason why there are none.
func translated(opts []Options) (o arenajson.Options, reason string) {
	o.V2 = true
	for _, opt := range opts {
		switch opt := opt.(type) {
		case interface{ ExperimentalSupportFormatTag() bool }:
			return o, "format: it is no part of encoding/json/v2 as released"
		case jsonflags.Bools:
			return o, "an internal option, for the meaning of version 1"
		case *jsonopts.Struct:
			return o, "an internal option, for a format that comes from outside"
		case jsonv2.Options:
			if u, ok := jsonv2.GetOption(opt, jsonv2.WithUnmarshalers); ok && u != nil {
				return o, "WithUnmarshalers: arenajson calls methods alone"
			}
			if v, _ := jsonv2.GetOption(opt, jsonv2.StringifyNumbers); v {
				return o, "StringifyNumbers: only as a tag"
			}
			if v, _ := jsonv2.GetOption(opt, jsontext.AllowDuplicateNames); v {
				return o, "AllowDuplicateNames: only by version 1"
			}
			if v, _ := jsonv2.GetOption(opt, jsontext.AllowInvalidUTF8); v {
				return o, "AllowInvalidUTF8: only by version 1"
			}
			if v, _ := jsonv2.GetOption(opt, jsonv2.MatchCaseInsensitiveNames); v {
				return o, "MatchCaseInsensitiveNames: only as a tag"
			}
			if v, _ := jsonv2.GetOption(opt, jsonv2.RejectUnknownMembers); v {
				o.DisallowUnknownFields = true
			}
		default:
			return o, fmt.Sprintf("%T", opt)
		}
	}
	return o, ""
}

func Unmarshal(data []byte, v any, opts ...Options) error {
	o, reason := translated(opts)
	if reason != "" {
		return errors.New(reason)
	}
	return arenajson.UnmarshalInto(tables, data, v, o)
}

// sameError compares all that programs see of errors.
func sameError(got, want error) bool {
	switch w := want.(type) {
	case nil:
		return got == nil
	case *jsontext.SyntacticError:
		g, ok := got.(*jsontext.SyntacticError)
		return ok && g.Error() == w.Error() && g.ByteOffset == w.ByteOffset && g.JSONPointer == w.JSONPointer && sameCause(g.Err, w.Err)
	case *SemanticError:
		g, ok := got.(*jsonv2.SemanticError)
		return ok && g.ByteOffset == w.ByteOffset && g.JSONPointer == w.JSONPointer && g.JSONKind == w.JSONKind && string(g.JSONValue) == string(w.JSONValue) &&
			g.GoType == w.GoType && sameCause(g.Err, w.Err)
	}
	return got != nil && got.Error() == want.Error()
}

// sameCause compares the causes of errors. Those of this package and of the copies of internal ones stand for others with the same text.
func sameCause(got, want error) bool {
	if want == nil || got == nil {
		return got == want
	}
	if w, ok := want.(*SemanticError); ok {
		return sameError(got, w)
	}
	return got == want || got.Error() == want.Error()
}

func newDuplicateNameError(ptr jsontext.Pointer, quotedName []byte, offset int64) error {
	if quotedName != nil {
		name, _ := jsontext.AppendUnquote(nil, quotedName)
		ptr = ptr.AppendToken(string(name))
	}
	return &jsontext.SyntacticError{ByteOffset: offset, JSONPointer: ptr, Err: jsontext.ErrDuplicateName}
}

// stateHere stands for what is inside a decoder. Only cases that are left out look there.
func stateHere(*jsontext.Decoder) (s struct {
	Tokens struct {
		Stack []int
		Last  interface{ Length() int64 }
	}
}) {
	return s
}

func wrapErrUnsupported(err error, what string) error {
	if errors.Is(err, errors.ErrUnsupported) {
		return errors.New(what + " may not return errors.ErrUnsupported")
	}
	return err
}

// TestArshalTestdata decodes the values that encoding/json/v2 has for its benchmarks.
func TestArshalTestdata(t *testing.T) {
	for _, tt := range arshalTestdata {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.new()
			if err := Unmarshal(tt.raw, got); err != nil || !reflect.DeepEqual(got, tt.val) {
				t.Errorf("%s: got %v, %v, want %v", tt.raw, got, err, tt.val)
			}
		})
	}
}

// TestDocuments decodes the documents of the tests, into the types that stand beside them and into any.
func TestDocuments(t *testing.T) {
	for _, td := range jsontest.Data {
		makers := map[string]func() any{"Interface": func() any { return new(any) }}
		if td.New != nil {
			makers["Concrete"] = td.New
		}
		for name, make := range makers {
			t.Run(td.Name+"/"+name, func(t *testing.T) {
				got, want := make(), make()
				if err := jsonv2.Unmarshal(td.Data(), want); err != nil {
					t.Fatal(err)
				}
				if err := Unmarshal(td.Data(), got); err != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("%v, or another value", err)
				}
			})
		}
	}
}

// What encoding/json/v2 knows of a struct.
type (
	structFields struct {
		flattened            []structField
		embeddedFallback     *structField
		errUnsupportedFormat *SemanticError
	}
	structField struct {
		id    int
		index []int
		typ   reflect.Type
		fieldOptions
	}
	fieldOptions struct {
		name, quotedName        string
		hasName, nameNeedEscape bool
		casing                  int8
		embed                   bool
		omitzero, omitempty     bool
		string                  bool
		format                  string
	}
)

type isZeroer interface{ IsZero() bool }

var (
	errNonSingularValue    = errors.New("must read or write exactly one value")
	errUnsupportedMutation = errors.New("unsupported calls must not read or write any tokens")
	errRawEmbedNotObject   = errors.New("embedded raw value must be a JSON object")
	errInvalidStringTag    = errors.New("invalid use of `string` tag option")
	errAmbiguousName       = errors.New("ambiguous object member name")
	errNoExportedFields    = errors.New("Go struct has no exported fields")
	errNilField            = errors.New("cannot set embedded pointer to unexported struct type")
	errNonStringValue      = errors.New("JSON value must be string type")
	errArrayUnderflow      = errors.New("too few array elements")
	errArrayOverflow       = errors.New("too many array elements")
	errInaccurateDateUnits = errors.New("inaccurate year, month, week, or day units")

	boolType         = reflect.TypeFor[bool]()
	intType          = reflect.TypeFor[int]()
	stringType       = reflect.TypeFor[string]()
	bytesType        = reflect.TypeFor[[]byte]()
	float64Type      = reflect.TypeFor[float64]()
	timeTimeType     = reflect.TypeFor[time.Time]()
	timeDurationType = reflect.TypeFor[time.Duration]()
)

const daysPerYear = 365.2425

const (
	caseIgnore = 1
	caseStrict = 2
)

// checkFields decodes a member for each field that the struct should have, and compares the error for the type.
func checkFields(t *testing.T, in any, want structFields, wantErr error) {
	typ := reflect.TypeOf(in)
	checkEmpty(t, typ)
	if wantErr != nil {
		return
	}
	for _, f := range want.flattened {
		checkMember(t, typ, f.name, f.index)
	}
	if f := want.embeddedFallback; f != nil {
		checkMember(t, typ, "no field has this name", f.index)
	}
}

// checkEmpty compares the errors for an empty object.
func checkEmpty(t *testing.T, typ reflect.Type) error {
	got, want := Unmarshal([]byte("{}"), reflect.New(typ).Interface()), jsonv2.Unmarshal([]byte("{}"), reflect.New(typ).Interface())
	if (got != nil) != (want != nil) || got != nil && got.Error() != want.Error() {
		t.Errorf("%v: %v, want %v", typ, got, want)
	}
	return got
}

// checkMember checks that a member with the name reaches the field, and no other one.
func checkMember(t *testing.T, typ reflect.Type, name string, index []int) {
	quoted, err := jsontext.AppendQuote(nil, name)
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{`"x"`, "1", "true", "[1]", "{}"} {
		doc := append(append([]byte{'{'}, quoted...), ":"+value+"}"...)
		got, want := reflect.New(typ), reflect.New(typ)
		gotErr, wantErr := Unmarshal(doc, got.Interface()), jsonv2.Unmarshal(doc, want.Interface())
		if (gotErr != nil) != (wantErr != nil) || !reflect.DeepEqual(got.Interface(), want.Interface()) {
			t.Errorf("%v from %s: got %+v, %v, want %+v, %v", typ, doc, got, gotErr, want, wantErr)
		}
		if f, err := got.Elem().FieldByIndexErr(index); gotErr == nil && len(index) > 0 && value == `"x"` && (err != nil || f.IsZero()) {
			t.Errorf("%v from %s: the field %v is not set", typ, doc, index)
		}
	}
}

// checkTag decodes into a struct of one field.
func checkTag(t *testing.T, in any, want fieldOptions, ignored bool, wantErr error) {
	typ := reflect.TypeOf(in)
	if err := checkEmpty(t, typ); err == nil && !ignored {
		checkMember(t, typ, want.name, nil)
	}
}

// equalFold reports whether names are the same to a field with case:ignore.
func equalFold(x, y []byte) bool {
	if len(x) == 0 || len(y) == 0 {
		return len(x) == len(y)
	}
	if strings.ContainsAny(string(x), ",\\'\"`") {
		return strings.EqualFold(string(x), string(y))
	}
	tag := reflect.StructTag(`json:` + quoteTag(string(x)+",case:ignore"))
	to := reflect.New(reflect.StructOf([]reflect.StructField{{Name: "F", Type: reflect.TypeFor[int](), Tag: tag}}))
	quoted, _ := jsontext.AppendQuote(nil, y)
	Unmarshal([]byte(`{`+string(quoted)+`:1}`), to.Interface())
	return to.Elem().Field(0).Int() == 1
}

func quoteTag(s string) string { return fmt.Sprintf("%q", s) }
