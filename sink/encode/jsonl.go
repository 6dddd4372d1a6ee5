// SPDX-License-Identifier: Apache-2.0

package encode

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/freehold-go/freehold/sink/internal/field"
	"github.com/freehold-go/freehold/sink/record"
)

// Columns are the parts of a record that envelopes have.
var Columns = []string{"topic", "partition", "offset", "timestamp", "key", "headers", "value"}

// JSONLinesOptions are the options of JSONLines.
type JSONLinesOptions struct {
	// A value that has a schema is written as the JSON that the schema makes of it, and a framing is left out, where JSON is asked for; a string or base64 has all bytes.
	//
	// Envelope lists the members of the object that each line is, some of Columns in any order. By default there is no envelope: the line is
	// the value, which must be JSON.
	//
	// Partition, offset and timestamp are numbers; a timestamp is in milliseconds since 1970, or null if the record has none. Headers are an array of
	// objects with the members key and value, in the record's order. A key, a value or a header's value that the record does not have is null. If keys or values are
	// written as JSON, null is a text that a record may have. Then the member is left out if the record has no key or no value.
	Envelope []string
	// Key and Value say how keys and values stand in an envelope: as "json", "string" or "base64". By default keys are strings and values
	// JSON. A string must be UTF-8: otherwise the record is bad. Headers are written like keys, but never as json. With base64 a header's key that is not UTF-8 is in base64, too:
	// in the member key64 in place of key.
	Key, Value string
	// Unchecked takes it on trust that values which should be JSON are JSON. Otherwise a record whose value is none is bad. Keys are always
	// checked.
	Unchecked  bool
	Tombstones Tombstones // Written as Envelope says; without one as null, like a value with the text null.
}

// JSONLines is the format with one JSON value a line. Line breaks between the parts of a value are left out; otherwise the bytes of
// values stay as they are.
func JSONLines(o JSONLinesOptions) (Format, error) {
	errs := []error{o.Tombstones.Check()}
	for i, name := range o.Envelope {
		if !slices.Contains(Columns, name) || slices.Contains(o.Envelope[:i], name) {
			errs = append(errs, fmt.Errorf("the envelope has %q, which there is not, or which it has before", name))
		}
	}
	if len(o.Envelope) == 0 && (o.Key != "" || o.Value != "" && o.Value != "json") {
		errs = append(errs, errors.New("key and value say how these stand in an envelope, but there is none"))
	}
	o.Key, o.Value = or(o.Key, "string"), or(o.Value, "json")
	for _, as := range []string{o.Key, o.Value} {
		if as != "json" && as != "string" && as != "base64" {
			errs = append(errs, fmt.Errorf("%q: choose json, string or base64", as))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("the format jsonl: %w", err)
	}
	o.Envelope = slices.Clone(o.Envelope)
	return jsonLines{o.Tombstones, "jsonl/1", o}, nil
}

// RejectedName is the name of Rejected. By it readers tell objects of rejected records from all others.
const RejectedName = "rejected/1"

// RejectedOptions are those of Rejected: all of a record, whatever its bytes are.
var RejectedOptions = JSONLinesOptions{Envelope: Columns, Key: "base64", Value: "base64", Tombstones: WriteTombstones}

// Rejected is the format of records that no other format takes: JSON Lines with RejectedOptions.
func Rejected() Format {
	return jsonLines{RejectedOptions.Tombstones, RejectedName, RejectedOptions}
}

func or(s, preset string) string {
	if s == "" {
		return preset
	}
	return s
}

type jsonLines struct {
	Tombstones
	name string
	o    JSONLinesOptions
}

func (f jsonLines) Name() string      { return f.name }
func (jsonLines) Extension() string   { return ".jsonl" }
func (jsonLines) ContentType() string { return "application/x-ndjson" }
func (jsonLines) Compresses() bool    { return false }
func (f jsonLines) Begin(w io.Writer) (Encoder, error) {
	return &jsonEncoder{o: f.o, out: buffered{w: w}}, nil
}

type jsonEncoder struct {
	o       JSONLinesOptions
	out     buffered
	checker field.Checker
	text    []byte // JSON that was made of a value
	made    record.Record
}

func (e *jsonEncoder) End() error  { return nil }
func (e *jsonEncoder) Held() int64 { return int64(cap(e.out.buf) + cap(e.text)) }
func (e *jsonEncoder) Free()       { e.out.buf, e.text = nil, nil }

func (e *jsonEncoder) Append(r *record.Record) error {
	if (r.Schema != nil || r.Framed > 0) && r.Value != nil && e.o.Value == "json" {
		var err error
		if r, err = e.convert(r); err != nil {
			return err
		}
	}
	if len(e.o.Envelope) == 0 {
		if err := e.check(r, "json", r.Value, r.CheckedJSON || e.o.Unchecked); err != nil {
			return err
		}
		e.value("json", r.Value)
	} else {
		if err := e.checkAll(r); err != nil {
			return err
		}
		e.envelope(r)
	}
	e.out.raw("\n")
	e.made = record.Record{}
	return e.out.flush()
}

// convert returns the record with the JSON that its schema makes of the value, in one line, or with the value behind its framing.
func (e *jsonEncoder) convert(r *record.Record) (*record.Record, error) {
	e.made = *r
	if r.Schema == nil {
		e.made.Value, e.made.Framed = r.Payload(), 0
		return &e.made, nil
	}
	if cap(e.text) > 1<<20 {
		e.text = nil
	}
	text, err := r.Schema.AppendJSON(e.text[:0], r.Payload())
	e.text = text
	if err != nil {
		return nil, err
	}
	e.made.Value, e.made.Schema, e.made.Framed, e.made.CheckedJSON = text, nil, 0, true
	return &e.made, nil
}

// check says whether a part of a record can be written: nothing of a bad record may be. Trusted parts are checked only for JSON that has
// line breaks, because these can be left out of JSON alone.
func (e *jsonEncoder) check(r *record.Record, as string, part []byte, trusted bool) error {
	switch {
	case part == nil || as == "base64":
		return nil
	case as == "string":
		if !utf8.Valid(part) {
			return errNoText
		}
		return nil
	case trusted && (r.CheckedJSON || lineBreak(part) < 0):
		return nil
	}
	return e.checker.Check(&record.Record{Value: part})
}

var errNoText = &record.Bad{Err: errors.New("a key, header or value is not UTF-8: choose base64 for it")}

func (e *jsonEncoder) checkAll(r *record.Record) error {
	for _, name := range e.o.Envelope {
		var err error
		switch name {
		case "key":
			err = e.check(&record.Record{}, e.o.Key, r.Key, false)
		case "value":
			err = e.check(r, e.o.Value, r.Value, r.CheckedJSON || e.o.Unchecked)
		case "headers":
			for i := range r.Headers {
				if h := &r.Headers[i]; e.headers() == "string" && !(utf8.ValidString(h.Key) && utf8.Valid(h.Value)) {
					err = errNoText
				}
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// headers is how values of headers are written.
func (e *jsonEncoder) headers() string {
	if e.o.Key == "base64" {
		return "base64"
	}
	return "string"
}

func (e *jsonEncoder) envelope(r *record.Record) {
	e.out.raw("{")
	between := ""
	for _, name := range e.o.Envelope {
		if name == "key" && r.Key == nil && e.o.Key == "json" || name == "value" && r.Value == nil && e.o.Value == "json" {
			continue
		}
		e.out.raw(between)
		between = ","
		e.out.raw(`"`)
		e.out.raw(name)
		e.out.raw(`":`)
		switch name {
		case "topic":
			e.out.text(r.Topic)
		case "partition":
			e.out.number(int64(r.Partition))
		case "offset":
			e.out.number(r.Offset)
		case "timestamp":
			if r.Timestamp < 0 {
				e.out.raw("null")
			} else {
				e.out.number(r.Timestamp)
			}
		case "key":
			e.value(e.o.Key, r.Key)
		case "value":
			e.value(e.o.Value, r.Value)
		case "headers":
			e.headerList(r.Headers)
		}
	}
	e.out.raw("}")
}

func (e *jsonEncoder) headerList(headers []record.Header) {
	e.out.raw("[")
	for i := range headers {
		if i > 0 {
			e.out.raw(",")
		}
		if key := headers[i].Key; utf8.ValidString(key) {
			e.out.raw(`{"key":`)
			e.out.text(key)
		} else {
			e.out.raw(`{"key64":`)
			e.out.base64([]byte(key))
		}
		e.out.raw(`,"value":`)
		e.value(e.headers(), headers[i].Value)
		e.out.raw("}")
	}
	e.out.raw("]")
}

// value writes a key or value that was checked.
func (e *jsonEncoder) value(as string, v []byte) {
	switch {
	case v == nil:
		e.out.raw("null")
	case as == "string":
		e.out.quoted(v)
	case as == "base64":
		e.out.base64(v)
	default:
		e.out.oneLine(v)
	}
}
