// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/freehold-go/freehold/sink/encode"
	"github.com/freehold-go/freehold/sink/record"
)

// decoder reads the records of one object. Next returns io.EOF behind the last one. The record is valid until the next call.
type decoder interface {
	next() (*record.Record, error)
}

// newDecoder makes the decoder for a format's name, as it stands in the metadata of objects.
func newDecoder(name string, r io.Reader, o encode.JSONLinesOptions) (decoder, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	switch name {
	case "lines/1":
		return &lines{in: in}, nil
	case "delimited-varint/1":
		return newDelimited(in, func() (uint64, error) { return binary.ReadUvarint(in) }), nil
	case "delimited-uint32/1":
		return newDelimited(in, func() (uint64, error) {
			var b [4]byte
			_, err := io.ReadFull(in, b[:])
			return uint64(binary.BigEndian.Uint32(b[:])), err
		}), nil
	case encode.RejectedName:
		return &envelopes{lines: lines{in: in}, o: encode.RejectedOptions}, nil
	case "jsonl/1":
		if len(o.Envelope) == 0 {
			return &lines{in: in}, nil
		}
		if !slices.Contains(o.Envelope, "value") {
			return nil, errors.New("the envelope of objects.format has no value, so there is nothing to replay")
		}
		return &envelopes{lines: lines{in: in}, o: o}, nil
	}
	return nil, fmt.Errorf("the format %q does not keep records as they were; lines, length-prefixed and jsonl do", name)
}

// lines are values with a line feed behind each.
type lines struct {
	in  *bufio.Reader
	buf []byte
	r   record.Record
}

// line reads a line of any length.
func (l *lines) line() ([]byte, error) {
	l.buf = l.buf[:0]
	for {
		part, err := l.in.ReadSlice('\n')
		l.buf = append(l.buf, part...)
		switch {
		case err == nil:
			return l.buf[:len(l.buf)-1], nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(l.buf) > 0:
			return nil, errors.New("the last line has no end")
		default:
			return nil, err
		}
	}
}

func (l *lines) next() (*record.Record, error) {
	line, err := l.line()
	if err != nil {
		return nil, err
	}
	l.r = record.Record{Offset: -1, Timestamp: -1, Value: line}
	return &l.r, nil
}

// delimited are values with the length of each in front.
type delimited struct {
	in     *bufio.Reader
	length func() (uint64, error)
	buf    []byte // never nil: a value that is empty is no tombstone
	r      record.Record
}

func newDelimited(in *bufio.Reader, length func() (uint64, error)) *delimited {
	return &delimited{in: in, length: length, buf: []byte{}}
}

func (d *delimited) next() (*record.Record, error) {
	if _, err := d.in.Peek(1); err != nil {
		return nil, err
	}
	n, err := d.length()
	if err != nil {
		return nil, cut(err)
	}
	// The length may be damaged: memory grows with the bytes that are there.
	d.buf = d.buf[:0]
	for uint64(len(d.buf)) < n {
		part := int(min(n-uint64(len(d.buf)), 1<<20))
		at := len(d.buf)
		d.buf = slices.Grow(d.buf, part)[:at+part]
		if _, err := io.ReadFull(d.in, d.buf[at:]); err != nil {
			return nil, cut(err)
		}
	}
	d.r = record.Record{Offset: -1, Timestamp: -1, Value: d.buf}
	return &d.r, nil
}

func cut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the object ends within a record")
	}
	return err
}

// envelopes are objects of JSON with parts of a record.
type envelopes struct {
	lines
	o encode.JSONLinesOptions
}

func (e *envelopes) next() (*record.Record, error) {
	line, err := e.line()
	if err != nil {
		return nil, err
	}
	parts, err := members(line)
	if err != nil {
		return nil, fmt.Errorf("a line is no envelope: %w", cut(err))
	}
	e.r = record.Record{Offset: -1, Timestamp: -1}
	var headers []header
	for name, to := range map[string]any{"offset": &e.r.Offset, "timestamp": &e.r.Timestamp, "headers": &headers} {
		if text := parts[name]; text != nil { // Null changes nothing.
			if err := json.Unmarshal(text, to); err != nil {
				return nil, fmt.Errorf("the %s: %w", name, err)
			}
		}
	}
	if slices.Contains(e.o.Envelope, "key") {
		if e.r.Key, err = part(parts["key"], or(e.o.Key, "string")); err != nil {
			return nil, fmt.Errorf("the key: %w", err)
		}
	}
	if e.r.Value, err = part(parts["value"], or(e.o.Value, "json")); err != nil {
		return nil, fmt.Errorf("the value: %w", err)
	}
	if e.r.Value == nil && e.o.Tombstones != encode.WriteTombstones {
		return nil, fmt.Errorf("the value: %w", errNoMember) // A tombstone that the record was not would delete its key.
	}
	as := "string"
	if e.o.Key == "base64" {
		as = "base64"
	}
	for _, h := range headers {
		value, err := part(h.Value, as)
		if err != nil {
			return nil, fmt.Errorf("a header: %w", err)
		}
		e.r.Headers = append(e.r.Headers, record.Header{Key: h.Key + string(h.Key64), Value: value})
	}
	return &e.r, nil
}

// header is a header in an envelope.
type header struct {
	Key   string
	Key64 []byte
	Value json.RawMessage
}

// members are the parts of an envelope. Each is checked by itself: encoding/json takes values that
// are 10,000 levels deep, but not with an object around them.
func members(line []byte) (map[string]json.RawMessage, error) {
	rest, isObject := bytes.CutPrefix(bytes.TrimSpace(line), []byte{'{'})
	if !isObject {
		return nil, errors.New("it is no object")
	}
	all := map[string]json.RawMessage{}
	for sep := byte(','); sep == ','; {
		if rest = bytes.TrimSpace(rest); len(all) == 0 && len(rest) > 0 && rest[0] == '}' {
			sep, rest = '}', rest[1:]
			break
		}
		var name string
		n := valueEnd(rest)
		if err := json.Unmarshal(rest[:n], &name); err != nil {
			return nil, err
		}
		text, hasValue := bytes.CutPrefix(bytes.TrimSpace(rest[n:]), []byte{':'})
		if !hasValue {
			return nil, io.ErrUnexpectedEOF
		}
		text = bytes.TrimSpace(text)
		n = valueEnd(text)
		if !json.Valid(text[:n]) {
			return nil, fmt.Errorf("the member %s is no JSON", name)
		}
		all[name] = text[:n:n]
		if rest = bytes.TrimSpace(text[n:]); len(rest) == 0 {
			return nil, io.ErrUnexpectedEOF
		}
		if sep, rest = rest[0], rest[1:]; sep != ',' && sep != '}' {
			return nil, errors.New("a comma is missing")
		}
	}
	if len(rest) > 0 {
		return nil, errors.New("something stands behind the object")
	}
	return all, nil
}

// valueEnd is the length of the JSON value with which text begins. It finds the end of valid JSON,
// and some place in other text.
func valueEnd(text []byte) int {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			if quoted = !quoted; !quoted && depth == 0 {
				return i + 1
			}
		case quoted:
		case c == '{' || c == '[':
			depth++
		case depth == 0 && (c == ',' || c == ':' || c == '}' || c == ']' || c <= ' '):
			return i
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(text)
}

func or(s, preset string) string {
	if s == "" {
		return preset
	}
	return s
}

var errNoMember = errors.New("the line has none; the object was written with other options")

// part is the inverse of how a format writes a key, a value or a header's value.
func part(text json.RawMessage, as string) ([]byte, error) {
	switch {
	case as == "json":
		return text, nil // It is nil if the envelope has no such member: the record had none.
	case text == nil:
		return nil, errNoMember
	case string(text) == "null":
		return nil, nil
	}
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, err
	}
	if as == "base64" {
		return base64.StdEncoding.DecodeString(s)
	}
	return []byte(s), nil
}
