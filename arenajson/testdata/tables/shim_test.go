// SPDX-License-Identifier: Apache-2.0

// Package json stands beside the tests of encoding/json, which TestStandardTables has copied and changed: what they call in place of
// the standard decoder is arenajson.
package json

import (
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"unsafe"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/arenajson"
)

var tables = arena.NewArena() // Not reset: some tests compare what they have decoded later.

func unmarshalHere(data []byte, v any) error { return arenajson.UnmarshalInto(tables, data, v) }

// A decoderHere is an arenajson.Decoder with the methods that set options of a json.Decoder.
type decoderHere struct {
	r       io.Reader
	options arenajson.Options
	decoder *arenajson.Decoder
}

func newDecoderHere(r io.Reader) *decoderHere { return &decoderHere{r: r} }

func (d *decoderHere) UseNumber() { d.options.UseNumber = true }

func (d *decoderHere) DisallowUnknownFields() { d.options.DisallowUnknownFields = true }

func (d *decoderHere) open() *arenajson.Decoder {
	if d.decoder == nil {
		d.decoder = arenajson.NewDecoder(tables, d.r, d.options)
	}
	return d.decoder
}

func (d *decoderHere) Decode(v any) error { return d.open().Decode(v) }

func (d *decoderHere) More() bool { return d.open().More() }

func (d *decoderHere) Token() (json.Token, error) { return d.open().Token() }

func (d *decoderHere) Buffered() io.Reader { return d.open().Buffered() }

func (d *decoderHere) InputOffset() int64 { return d.open().InputOffset() }

// syntaxErrorHere is a SyntaxError with a message, which a test of another package cannot set.
func syntaxErrorHere(message string, offset int64) *json.SyntaxError {
	e := &json.SyntaxError{Offset: offset}
	f := reflect.ValueOf(e).Elem().FieldByName("msg")
	*(*string)(unsafe.Pointer(f.UnsafeAddr())) = message
	return e
}

var errUnexpectedEndHere = errors.New("unexpected end of JSON input")

func checkValid(b []byte) error {
	var v json.RawMessage
	return json.Unmarshal(b, &v)
}

var jsonBig []byte
