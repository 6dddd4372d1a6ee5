// SPDX-License-Identifier: Apache-2.0

package partition

import (
	"errors"
	"fmt"
	"slices"

	"github.com/freehold-go/freehold/arenajson"

	"github.com/freehold-go/freehold/sink/internal/field"
	"github.com/freehold-go/freehold/sink/record"
)

// FieldOptions say how records are divided by a field of their values.
type FieldOptions struct {
	// Field is the path of the field: names with dots between them, "user.country". A dot that belongs to a name has a backslash in front.
	// The value must be a string, a number, true or false. Numbers stay as they are written, so that 1 and 1.0 are two groups.
	Field string
	// Name stands in front of the value: "type" makes "type=order". It is the last name of the path by default, and "-" leaves it out.
	Name string
	// Missing is the group of records whose value lacks the field, has null, an object or an array there, or is a tombstone: "type=unknown". By
	// default these records are bad.
	Missing string
}

// Field divides records by a field of their values, which are JSON. A value that is no JSON, as far as it is read, makes a record bad.
func Field(o FieldOptions) (Partitioner, error) {
	path, err := field.ParsePath(o.Field)
	if err != nil {
		return nil, fmt.Errorf("partition by a field: %w", err)
	}
	name, err := nameOr(o.Name, path.Name())
	if err = errors.Join(err, checkFallback("missing", o.Missing)); err != nil {
		return nil, fmt.Errorf("partition by the field %s: %w", o.Field, err)
	}
	p := &byField{at: path, name: name, missing: o.Missing}
	p.lacks = record.Badf("the value has no string, number or bool in the field %s", o.Field)
	return single(p), nil
}

// nameOr is the name of an option.
func nameOr(name, preset string) (string, error) {
	switch name {
	case "":
		name = string(AppendEscaped(nil, []byte(preset)))
		if len(name) > 64 {
			return "", fmt.Errorf("the name %q is too long: choose another", name)
		}
		return name, nil
	case "-":
		return "", nil
	}
	return name, checkName(name)
}

type byField struct {
	at            field.Path
	name, missing string
	lacks         *record.Bad
}

func (p *byField) path() field.Path { return p.at }

func (p *byField) group(dst []byte, _ *record.Record, v arenajson.Value) ([]byte, error) {
	switch v.Kind() {
	case arenajson.String:
		return appendEscapedText(appendName(dst, p.name), v.Text()), nil
	case arenajson.Number:
		return appendEscapedText(appendName(dst, p.name), string(v.Number())), nil
	case arenajson.True:
		return append(appendName(dst, p.name), "true"...), nil
	case arenajson.False:
		return append(appendName(dst, p.name), "false"...), nil
	}
	return orMissing(dst, p.missing, p.lacks)
}

// orMissing is the group of a record that lacks something.
func orMissing(dst []byte, missing string, bad *record.Bad) ([]byte, error) {
	if missing == "" {
		return dst, bad
	}
	return append(dst, missing...), nil
}

// appendEscapedText is AppendEscaped for a string. The string is copied behind the place where the escaped value goes, so that dst is the only
// memory that grows.
func appendEscapedText(dst []byte, s string) []byte {
	const gap = MaxValue + 16 // AppendEscaped writes at most the escapes of one character more than MaxValue bytes.
	dst = slices.Grow(dst, gap+len(s))
	raw := append(dst[:len(dst)+gap], s...)[len(dst)+gap:]
	return AppendEscaped(dst, raw)
}

// KeyOptions say how records are divided by their keys.
type KeyOptions struct {
	Name    string // In front of the key: "user" makes "user=17". Nothing by default.
	Missing string // The group of records without a key. By default they are bad.
}

// Key divides records by their keys. Keep in mind that each key has objects of its own.
func Key(o KeyOptions) (Partitioner, error) {
	if err := errors.Join(checkName(o.Name), checkFallback("missing", o.Missing)); err != nil {
		return nil, fmt.Errorf("partition by the key: %w", err)
	}
	return &byKey{o, record.Badf("the record has no key")}, nil
}

type byKey struct {
	o     KeyOptions
	lacks *record.Bad
}

// Group implements Partitioner.
func (p *byKey) Group(dst []byte, r *record.Record) ([]byte, error) {
	if r.Key == nil {
		return orMissing(dst, p.o.Missing, p.lacks)
	}
	return AppendEscaped(appendName(dst, p.o.Name), r.Key), nil
}

// HeaderOptions say how records are divided by a header.
type HeaderOptions struct {
	Header  string // The header's key. If a record has several, the last one counts.
	Name    string // In front of the value. It is the header's key by default, and "-" leaves it out.
	Missing string // The group of records without the header or with a null one. By default they are bad.
}

// Header divides records by the value of a header.
func Header(o HeaderOptions) (Partitioner, error) {
	if o.Header == "" {
		return nil, errors.New("partition by a header: the header's key is empty")
	}
	name, err := nameOr(o.Name, o.Header)
	if err = errors.Join(err, checkFallback("missing", o.Missing)); err != nil {
		return nil, fmt.Errorf("partition by the header %s: %w", o.Header, err)
	}
	o.Name = name
	return &byHeader{o, record.Badf("the record has no header %s", o.Header)}, nil
}

type byHeader struct {
	o     HeaderOptions
	lacks *record.Bad
}

// Group implements Partitioner.
func (p *byHeader) Group(dst []byte, r *record.Record) ([]byte, error) {
	for i := len(r.Headers) - 1; i >= 0; i-- {
		if h := &r.Headers[i]; h.Key == p.o.Header {
			if h.Value == nil {
				break
			}
			return AppendEscaped(appendName(dst, p.o.Name), h.Value), nil
		}
	}
	return orMissing(dst, p.o.Missing, p.lacks)
}
