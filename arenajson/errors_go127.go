// SPDX-License-Identifier: Apache-2.0

//go:build go1.27 && (goexperiment.jsonv2 || go1.28)

package arenajson

import (
	"bytes"
	"encoding/json"
	"encoding/json/jsontext"
	jsonv2 "encoding/json/v2"
	"errors"
	"io"
	"reflect"
	"strings"
)

// What needs the types of encoding/json/v2 and of package jsontext.

// unmarshalFrom lets v decode itself from the text at i.
func (d *decoder) unmarshalFrom(v any, r rules, text []byte, i int) error {
	begin, o := i, []jsonv2.Options{jsonv2.StringifyNumbers(r&stringTag != 0), jsonv2.RejectUnknownMembers(d.opts.DisallowUnknownFields)}
	if r&goesOn != 0 {
		o = append([]jsonv2.Options{json.DefaultOptionsV1()}, o...)
	}
	if r&memberName != 0 {
		text, i = append(append([]byte{'{'}, text...), ":0}"...), i-1
	}
	dec := jsontext.NewDecoder(bytes.NewReader(bytes.Clone(text)), o...)
	if r&memberName != 0 {
		if _, err := dec.ReadToken(); err != nil {
			return err
		}
	}
	if r&goesOn != 0 { // Not by UnmarshalDecode, which would change the error as for a document of its own.
		err := v.(jsonv2.UnmarshalerFrom).UnmarshalJSONFrom(dec)
		if depth := dec.StackDepth(); err == nil {
			if _, n := dec.StackIndex(depth); depth != 0 || n != 1 {
				err = errors.New("must read or write exactly one value")
			}
		}
		if err == nil || !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
		return jsonv2.Unmarshal(text, v, o...)
	}
	err := jsonv2.UnmarshalDecode(dec, v)
	if err == nil {
		return nil
	}
	at := d.path(begin)
	if r&memberName != 0 {
		at = at[:strings.LastIndexByte(at, '/')] // The error has the name.
	}
	switch e := err.(type) {
	case *jsonv2.SemanticError:
		e.ByteOffset += int64(i)
		e.JSONPointer = jsontext.Pointer(at) + e.JSONPointer
	case *jsontext.SyntacticError:
		e.ByteOffset += int64(i)
		e.JSONPointer = jsontext.Pointer(at) + e.JSONPointer
	}
	return err
}

// endsDecoding reports whether version 1 decodes no more behind an error of a method.
func endsDecoding(err error) bool {
	_, ok := err.(*jsontext.SyntacticError)
	return ok
}

// isPlaced reports whether the error of a method says where it is.
func isPlaced(err error) bool {
	switch err.(type) {
	case *jsonv2.SemanticError, *jsontext.SyntacticError:
		return true
	}
	return false
}

// methodError is the error of a method as the caller gets it.
func methodError(err error, root reflect.Type, r rules) error {
	if r&goesOn == 0 || !isPlaced(err) {
		return err
	}
	err = json.Unmarshal([]byte("0"), &carrier{err})
	if e, ok := err.(*json.UnmarshalTypeError); ok && e.Struct != "" {
		e.Struct = root.Elem().Name()
	}
	return err
}

// carrier is a type whose method returns an error, so that encoding/json completes the error.
type carrier struct{ err error }

func (c *carrier) UnmarshalJSONFrom(*jsontext.Decoder) error { return c.err }

// semantic is the error of version 2.
func (m *misfit) semantic() error {
	e := &jsonv2.SemanticError{ByteOffset: int64(m.offset), JSONPointer: jsontext.Pointer(m.pointer), JSONKind: jsontext.Kind(m.kind), GoType: m.typ, Err: m.err}
	if m.text != "" {
		e.JSONValue = jsontext.Value(m.text)
	}
	if inner, ok := m.err.(*jsonv2.SemanticError); ok && m.method {
		inner.ByteOffset += e.ByteOffset
		inner.JSONPointer = e.JSONPointer + inner.JSONPointer
		return inner
	}
	switch m.err {
	case errUnknown:
		e.Err = jsonv2.ErrUnknownName
	case io.EOF:
		e.Err = io.ErrUnexpectedEOF
	}
	return jsonv2.Unmarshal([]byte("0"), &carrier{e})
}

// setCause sets the cause of an error of version 1.
func setCause(e *json.UnmarshalTypeError, err error) { e.Err = err }

// badInner is the cause of the error for a string that should hold another string.
func badInner(text string) error {
	quoted, err := jsontext.AppendQuote([]byte(`{"S":`), text)
	if err != nil {
		return err
	}
	err = json.Unmarshal(append(quoted, '}'), &struct {
		S string `json:",string"`
	}{})
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return e.Err
	}
	return err
}

// syntaxError is the error for an input that is no JSON. For version 2 it reads tokens as a decoding does, and a whole value where a
// decoding does, if whole is the index behind the value's first byte. It needs no memory for values.
func syntaxError(input []byte, r rules, whole int) error {
	var v jsontext.Value
	if r&goesOn != 0 {
		return json.Unmarshal(input, &v)
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(input))
	for {
		kind, rest := dec.PeekKind(), dec.UnreadBuffer()
		if at := len(input) - len(bytes.TrimLeft(rest, " \t\r\n:,")); whole > 0 && at >= whole-1 {
			if _, err := dec.ReadValue(); err != nil && err != io.EOF {
				return err
			}
			kind = 0
		} else if _, err := dec.ReadToken(); err != nil && err != io.EOF {
			return err
		}
		if kind == 0 || dec.StackDepth() == 0 {
			return jsonv2.Unmarshal(input, &v) // It finds what stands behind the value.
		}
	}
}

// badTarget is the error for what is no pointer that is not nil.
func badTarget(v any, v2 bool) error {
	if v2 {
		return jsonv2.Unmarshal(nil, v)
	}
	return &json.InvalidUnmarshalError{Type: reflect.TypeOf(v)}
}

// movedV2 is an error of version 2 whose offset counts from so many bytes before.
func movedV2(err error, by int64) error {
	switch e := err.(type) {
	case *jsonv2.SemanticError:
		e.ByteOffset += by
	case *jsontext.SyntacticError:
		e.ByteOffset += by
	}
	return err
}

// readError is the error for a stream that begins with no JSON, by version 2.
func readError(r io.Reader) error {
	_, err := jsontext.NewDecoder(r).ReadValue()
	return err
}

// duplicateName is the error for a name that stands twice in its object.
func duplicateName(path string, i int) error {
	return &jsontext.SyntacticError{ByteOffset: int64(i), JSONPointer: jsontext.Pointer(path), Err: jsontext.ErrDuplicateName}
}
