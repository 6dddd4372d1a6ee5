// SPDX-License-Identifier: Apache-2.0

//go:build !go1.27 || (!goexperiment.jsonv2 && !go1.28)

package arenajson

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// Go 1.26, and Go 1.27 with GOEXPERIMENT=nojsonv2, have no encoding/json/v2: no type has UnmarshalJSONFrom, and errors of version 2 have a type of this package.

func (d *decoder) unmarshalFrom(any, rules, []byte, int) error { return errors.ErrUnsupported }

func endsDecoding(error) bool { return false }

func isPlaced(err error) bool {
	_, ok := err.(*semanticError)
	return ok
}

func methodError(err error, _ reflect.Type, _ rules) error { return err }

// A semanticError is an error of version 2, with the text that it has in Go 1.27.
type semanticError struct {
	text string
	err  error
}

func (e *semanticError) Error() string { return e.text }

func (e *semanticError) Unwrap() error { return e.err }

func (m *misfit) semantic() error {
	var s strings.Builder
	s.WriteString("json: cannot unmarshal")
	if kind := kindsInErrors[m.kind]; kind == "bool" {
		s.WriteString(" JSON boolean")
	} else if kind != "" {
		s.WriteString(" JSON " + kind)
	}
	if m.text != "" && len(m.text) < 100 {
		s.WriteString(" " + m.text)
	}
	fmt.Fprintf(&s, " into Go %v", m.typ)
	switch {
	case m.err == errUnknown:
		fmt.Fprintf(&s, ": %v %q", m.err, lastName(m.pointer))
		return &semanticError{s.String(), m.err}
	case m.pointer != "":
		fmt.Fprintf(&s, " within %q", m.pointer)
	case m.offset > 0:
		fmt.Fprintf(&s, " after offset %d", m.offset)
	}
	if m.err != nil {
		fmt.Fprintf(&s, ": %v", m.err)
	}
	return &semanticError{s.String(), m.err}
}

func setCause(*json.UnmarshalTypeError, error) {}

func badInner(string) error { return errors.New("the string holds no string of JSON") }

// syntaxError is the error for an input that is no JSON.
func syntaxError(input []byte, r rules, _ int) error {
	var v json.RawMessage
	err := json.Unmarshal(input, &v)
	if err == nil && r&goesOn == 0 {
		return fmt.Errorf("%w, which version 2 refuses", errText)
	}
	return err
}

func badTarget(v any, _ bool) error { return &json.InvalidUnmarshalError{Type: reflect.TypeOf(v)} }

func movedV2(err error, _ int64) error { return err }

func readError(r io.Reader) error {
	var v json.RawMessage
	return json.NewDecoder(r).Decode(&v)
}

func duplicateName(path string, _ int) error {
	within := ""
	if outer := path[:strings.LastIndexByte(path, '/')]; outer != "" {
		within = fmt.Sprintf(" within %q", outer)
	}
	return fmt.Errorf("jsontext: duplicate object member name %q%s", lastName(path), within)
}
