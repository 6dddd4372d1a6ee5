// SPDX-License-Identifier: Apache-2.0

package encode

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/freehold-go/freehold/arenajson"

	"github.com/freehold-go/freehold/sink/internal/field"
	"github.com/freehold-go/freehold/sink/record"
)

// CSVOptions are the options of CSV.
type CSVOptions struct {
	// Columns lists what the columns have: topic, partition, offset, timestamp (milliseconds since 1970), key, value, "header." with the key of
	// a header behind it, of which the last one counts, or "value." with the path of a field behind it: "value.user.id". With such a column values must be JSON.
	Columns []string
	// Names are the names of the columns in the first line. By default they are those of Columns, and of fields the path.
	Names []string
	// NoHeader leaves the first line out.
	NoHeader bool
	// Checked makes a record bad if its value is not JSON to its end. Otherwise values are read no further than to the fields.
	Checked    bool
	Tombstones Tombstones // Written with nothing in the columns of the value.
}

// CSV is the format of RFC 4180: commas between columns, CRLF behind lines, quotes around what has a comma, a quote, a line break or a space at an end. What a
// record does not have, and null, is nothing; an empty string is "". Numbers stay as they are written; objects and arrays are their JSON.
// Keys, values and headers must be UTF-8; otherwise the record is bad. In fields a byte that is not UTF-8 becomes U+FFFD, as in encoding/json.
func CSV(o CSVOptions) (Format, error) {
	f := &csv{Tombstones: o.Tombstones, o: o}
	errs := []error{o.Tombstones.Check()}
	var paths []field.Path
	for i, name := range o.Columns {
		c := csvColumn{source: name, path: -1}
		title := name
		if path, ok := strings.CutPrefix(name, "value."); ok {
			p, err := field.ParsePath(path)
			errs = append(errs, err)
			c.source, c.path, title = "field", len(paths), path
			paths = append(paths, p)
		} else if key, ok := strings.CutPrefix(name, "header."); ok {
			c.source, c.header = "header", key
		} else if name == "headers" || !slices.Contains(Columns, name) {
			errs = append(errs, fmt.Errorf("no column is called %q", name))
		}
		if i < len(o.Names) {
			title = o.Names[i]
		}
		f.columns, f.titles = append(f.columns, c), append(f.titles, title)
	}
	if len(o.Columns) == 0 {
		errs = append(errs, errors.New("there are no columns"))
	}
	if len(o.Names) > 0 && len(o.Names) != len(o.Columns) {
		errs = append(errs, fmt.Errorf("%d names for %d columns", len(o.Names), len(o.Columns)))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("the format csv: %w", err)
	}
	if len(paths) > 0 || o.Checked {
		f.finder = field.NewFinder(o.Checked, paths...)
	}
	return f, nil
}

type csv struct {
	Tombstones
	o       CSVOptions
	columns []csvColumn
	titles  []string
	finder  *field.Finder // Nil if no column needs the value's fields.
}

type csvColumn struct {
	source, header string
	path           int
}

func (*csv) Name() string        { return "csv/1" }
func (*csv) Extension() string   { return ".csv" }
func (*csv) ContentType() string { return "text/csv; charset=utf-8" }
func (*csv) Compresses() bool    { return false }

func (f *csv) Begin(w io.Writer) (Encoder, error) {
	e := &csvEncoder{f: f, out: buffered{w: w}, tmp: []byte{}}
	if f.o.NoHeader {
		return e, nil
	}
	for i, title := range f.titles {
		if i > 0 {
			e.out.raw(",")
		}
		e.cell([]byte(title))
	}
	e.out.raw("\r\n")
	return e, e.out.flush()
}

type csvEncoder struct {
	f   *csv
	out buffered
	tmp []byte // Never nil: a nil cell is null.
}

func (e *csvEncoder) End() error  { return nil }
func (e *csvEncoder) Held() int64 { return int64(cap(e.out.buf) + cap(e.tmp)) }
func (e *csvEncoder) Free()       { e.out.buf, e.tmp = nil, nil }

func (e *csvEncoder) Append(r *record.Record) error {
	if e.f.finder == nil {
		return e.append(r, nil)
	}
	found, err := e.f.finder.Find(r)
	if err != nil {
		return err
	}
	err = e.append(r, found)
	found.Release()
	return err
}

func (e *csvEncoder) append(r *record.Record, found *field.Found) error {
	for _, c := range e.f.columns {
		if !utf8.Valid(bytesOf(r, c)) {
			return errNoText
		}
	}
	for i, c := range e.f.columns {
		if i > 0 {
			e.out.raw(",")
		}
		switch c.source {
		case "topic":
			e.out.raw(r.Topic)
		case "partition":
			e.out.number(int64(r.Partition))
		case "offset":
			e.out.number(r.Offset)
		case "timestamp":
			if r.Timestamp >= 0 {
				e.out.number(r.Timestamp)
			}
		case "field":
			e.field(found.Value(c.path))
		default:
			e.cell(bytesOf(r, c))
		}
	}
	e.out.raw("\r\n")
	return e.out.flush()
}

// bytesOf is the part of a record that is bytes.
func bytesOf(r *record.Record, c csvColumn) []byte {
	switch c.source {
	case "key":
		return r.Key
	case "value":
		return r.Value
	case "header":
		for i := len(r.Headers) - 1; i >= 0; i-- {
			if r.Headers[i].Key == c.header {
				return r.Headers[i].Value
			}
		}
	}
	return nil
}

func (e *csvEncoder) field(v arenajson.Value) {
	switch v.Kind() {
	case arenajson.String:
		e.tmp = append(e.tmp[:0], v.Text()...)
		e.cell(e.tmp)
	case arenajson.None, arenajson.Null:
	default:
		e.tmp = v.AppendJSON(e.tmp[:0])
		e.cell(e.tmp)
	}
	if cap(e.tmp) > 1<<20 {
		e.tmp = []byte{}
	}
}

// cell writes a column. A nil one is nothing.
func (e *csvEncoder) cell(p []byte) {
	switch {
	case p == nil:
		return
	case len(p) > 0 && !bytes.ContainsAny(p, "\",\r\n") && p[0] != ' ' && p[len(p)-1] != ' ':
		e.out.bytes(p)
		return
	}
	e.out.raw(`"`)
	for {
		i := bytes.IndexByte(p, '"')
		if i < 0 {
			break
		}
		e.out.bytes(p[:i])
		e.out.raw(`""`)
		p = p[i+1:]
		if len(e.out.buf) >= gathered {
			e.out.flush()
		}
	}
	e.out.bytes(p)
	e.out.raw(`"`)
}
