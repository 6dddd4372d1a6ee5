// SPDX-License-Identifier: Apache-2.0

// Package avro writes records as Avro object container files.
//
// Each object has its schema, so that any reader of Avro reads it. Records stand in an envelope by default, with key and value as they are. With
// a schema given, values are JSON and become records of the schema. Equal records make equal bytes: the sync marker between blocks is a
// hash of the schema and of the first record's topic, partition and offset.
package avro

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/twmb/avro"

	"github.com/freehold-go/freehold/sink/encode"
)

// Options are the options of New.
type Options struct {
	// Schema is a schema of Avro in JSON, of which each value becomes one datum. Values are JSON. A field of the schema that a value lacks has its default, or
	// makes the record bad. So does a field of the value that the schema does not have, unless DropUnknown is set.
	//
	// Numbers may be written in any way: 1e3 and 1000.0 are integers. An int, a long, a decimal and a time take a number exactly, and a float and a double take the
	// nearest one. A number that does not fit makes the record bad. In a union it goes to the first type that takes it.
	Schema string
	// DropUnknown leaves out the fields of values that the schema does not have.
	DropUnknown bool

	// Envelope lists the fields of the record that each datum is if no schema is given, some of encode.Columns. By default it has all of them.
	// Keys, values and values of headers are bytes, or null.
	Envelope []string
	// Text makes values strings. A value that is not UTF-8 makes its record bad.
	Text bool

	// Codec compresses blocks: "deflate", "zstandard", "snappy" or "null". It is zstandard by default.
	Codec string
	// Block is the number of bytes that a block has uncompressed, 64 KiB by default. A datum that is larger has a block of its own.
	Block int

	Tombstones encode.Tombstones // Written in an envelope as null. With a schema they cannot be written, unless null belongs to it.
}

// New makes a format.
func New(o Options) (encode.Format, error) {
	f := &format{Tombstones: o.Tombstones, o: o, text: o.Schema}
	errs := []error{o.Tombstones.Check()}
	if o.Block < 0 || o.Block > 16<<20 {
		errs = append(errs, fmt.Errorf("a block of %d bytes: choose up to 16 MiB", o.Block))
	}
	if f.o.Block == 0 {
		f.o.Block = 64 << 10
	}
	if o.Schema == "" {
		if len(o.Envelope) == 0 {
			f.o.Envelope = encode.Columns
		}
		for i, name := range f.o.Envelope {
			if !slices.Contains(encode.Columns, name) || slices.Contains(f.o.Envelope[:i], name) {
				errs = append(errs, fmt.Errorf("the envelope has %q, which there is not, or which it has before", name))
			}
		}
		f.text = envelopeSchema(f.o)
	} else if len(o.Envelope) > 0 || o.Text {
		errs = append(errs, errors.New("the options Envelope and Text are for objects without a schema that is given"))
	}
	if errors.Join(errs...) == nil {
		var err error
		if f.schema, err = avro.Parse(f.text, numbers); err != nil {
			errs = append(errs, err)
		} else if f.ofMessages, err = avro.Parse(f.text, numbers, quoted); err != nil {
			errs = append(errs, err)
		} else if o.Schema != "" && !o.DropUnknown {
			f.shape = newShape(f.schema)
		}
	}
	var err error
	f.codecs, err = newCodecs(o.Codec)
	if err = errors.Join(append(errs, err)...); err != nil {
		return nil, fmt.Errorf("the format avro: %w", err)
	}
	return f, nil
}

type format struct {
	encode.Tombstones
	o      Options
	text   string // Of the schema.
	schema *avro.Schema
	// ofMessages is the schema for the JSON of messages, in which some numbers stand between quotes.
	ofMessages *avro.Schema
	shape      *shape // nil if values may have fields that the schema does not have
	codecs     *codecs
}

func (f *format) Name() string      { return "avro-" + f.codecs.name + "/1" }
func (*format) Extension() string   { return ".avro" }
func (*format) ContentType() string { return "application/vnd.apache.avro" }
func (*format) Compresses() bool    { return true }

func (f *format) Begin(w io.Writer) (encode.Encoder, error) {
	return &encoder{f: f, out: w}, nil
}

// envelopeSchema is the schema of the fields that an envelope has.
func envelopeSchema(o Options) string {
	type object = map[string]any
	value := "bytes"
	if o.Text {
		value = "string"
	}
	types := object{
		"topic": "string", "partition": "int", "offset": "long",
		"timestamp": []any{"null", object{"type": "long", "logicalType": "timestamp-millis"}},
		"key":       []any{"null", "bytes"}, "value": []any{"null", value},
		"headers": object{"type": "array", "items": object{"type": "record", "name": "Header", "fields": []any{
			object{"name": "key", "type": "string"}, object{"name": "value", "type": []any{"null", "bytes"}}}}},
	}
	fields := []any{}
	for _, name := range o.Envelope {
		fields = append(fields, object{"name": name, "type": types[name]})
	}
	text, err := json.Marshal(object{"type": "record", "name": "Record", "namespace": "freehold.sink", "fields": fields})
	if err != nil {
		panic(err) // All of it is text.
	}
	return string(text) // Marshal sorts names.
}
