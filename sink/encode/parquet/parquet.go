// SPDX-License-Identifier: Apache-2.0

// Package parquet writes records as Parquet files.
//
// A file is a flat table. Its columns are parts of the records (topic, offset, key and so on), fields of values that are JSON and are listed in the options, or the
// fields of the first values of each object. Objects and arrays within values become columns of JSON. Equal records make equal bytes.
//
// Parquet is written by columns, so the rows of a row group are in memory until it is full. Encoder.Held counts them.
package parquet

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"

	"github.com/freehold-go/freehold/sink/encode"
	"github.com/freehold-go/freehold/sink/internal/field"
	"github.com/freehold-go/freehold/sink/protobuf"
)

// A Field is a column with a field of values, which are JSON. It is null if the value lacks the field.
type Field struct {
	// Path leads to the field: names with dots between them. A dot that belongs to a name has a backslash in front.
	Path string
	// Name is the column's. It is the path by default.
	Name string
	// Type is "string", "int64", "double", "bool", "timestamp" (an integer of milliseconds since 1970) or "json", which takes any value. A value of
	// another type makes the record bad. Integers may be written in any way: 1e3 and 1000.0 are integers. A double rounds a number to the nearest one, and refuses one
	// beyond its range. Of messages these columns also take the numbers that ProtoJSON has between quotes.
	Type string
}

// Options are the options of New. By default the columns are all of encode.Columns.
type Options struct {
	// Envelope lists the parts of records that are columns, some of encode.Columns. Key and value are bytes, a timestamp is one in milliseconds, headers are a JSON
	// array of objects with the members key and value, the latter in base64.
	Envelope []string
	// Text makes key and value strings. A record in which they are not UTF-8 is bad.
	Text bool
	// Fields are columns with fields of values.
	Fields []Field
	// Infer makes columns of all fields of the first so many values of an object, as far as these have 1 MiB. So the columns depend on the records of the
	// object alone, and two objects may have different columns. Values must be objects. A column is bool, string or one of numbers if
	// the field has this type in all these values, and json otherwise. Infer excludes Fields.
	//
	// A column of numbers keeps every digit of these values. It is int64 if all are integers that fit. But if one is written with a point or an exponent, it is
	// double if a double keeps them all: printed with as many digits as the number has, it is the number. So it is for numbers of at most 15 digits, and for those
	// that a program printed from a double. Otherwise (integers beyond int64, long decimals) it is json, with the numbers as they are written.
	//
	// Later values that do not fit their column make their record bad: of another type, or with digits that the column would lose.
	Infer int
	// Messages makes columns of the fields of messages, as the records' schema has them (protobuf.Type): structs, lists and maps of Parquet. Then all records of an
	// object have one schema; see encode.BySchema. A message that contains itself, google.protobuf.Struct and Any are columns of JSON. A time is in
	// microseconds. Messages excludes Fields and Infer.
	Messages bool
	// DropNew leaves fields out that come after the columns were inferred. Otherwise their records are bad.
	DropNew bool

	// RowGroup is the number of bytes of records in a row group, 8 MiB by default.
	RowGroup int64
	// Codec compresses pages: "zstd", which is the default, "snappy", "gzip" or "none".
	Codec string

	Tombstones encode.Tombstones // Written with null in all columns of the value.
}

// most is the number of columns that are inferred.
const most = 1000

// New makes a format.
func New(o Options) (encode.Format, error) {
	f := &format{Tombstones: o.Tombstones, o: o}
	errs := []error{o.Tombstones.Check()}
	if len(o.Envelope)+len(o.Fields) == 0 && o.Infer == 0 && !o.Messages {
		f.o.Envelope = encode.Columns
	}
	if o.RowGroup == 0 {
		f.o.RowGroup = 8 << 20
	}
	if o.RowGroup < 0 || o.Infer < 0 || o.Infer > 0 && len(o.Fields) > 0 || o.DropNew && o.Infer == 0 {
		errs = append(errs, errors.New("a negative option, or fields that are listed and inferred, or DropNew without Infer"))
	}
	if o.Messages && (o.Infer > 0 || len(o.Fields) > 0) {
		errs = append(errs, errors.New("the columns are those of messages, but there are fields that are listed or inferred"))
	}
	for _, name := range f.o.Envelope {
		c, ok := envelope(name, o.Text)
		if !ok {
			errs = append(errs, fmt.Errorf("the envelope has %q, which there is not", name))
		}
		f.columns = append(f.columns, c)
	}
	var paths []field.Path
	for i, given := range o.Fields {
		path, err := field.ParsePath(given.Path)
		node, ok := types[given.Type]
		if !ok {
			err = errors.Join(err, fmt.Errorf("the field %s has the type %q: choose string, int64, double, bool, timestamp or json", given.Path, given.Type))
		}
		name := given.Name
		if name == "" {
			name = given.Path
		}
		errs, paths = append(errs, err), append(paths, path)
		f.columns = append(f.columns, column{name: name, source: given.Type, path: i, node: node, optional: true})
	}
	for i, c := range f.columns {
		if slices.ContainsFunc(f.columns[:i], func(d column) bool { return c.name == d.name }) {
			errs = append(errs, fmt.Errorf("two columns are called %q", c.name))
		}
	}
	var err error
	f.codec, err = codec(o.Codec)
	if err = errors.Join(append(errs, err)...); err != nil {
		return nil, fmt.Errorf("the format parquet: %w", err)
	}
	switch {
	case o.Infer > 0:
		f.finder = field.NewRootFinder(paths...)
	case len(paths) > 0:
		f.finder = field.NewFinder(false, paths...)
	}
	if o.Infer == 0 && !o.Messages {
		f.table = newTable(f.columns)
	}
	return f, nil
}

func codec(name string) (compress.Codec, error) {
	switch name {
	case "", "zstd":
		return &parquet.Zstd, nil
	case "snappy":
		return &parquet.Snappy, nil
	case "gzip":
		return &parquet.Gzip, nil
	case "none":
		return &parquet.Uncompressed, nil
	}
	return nil, fmt.Errorf("the codec %q: choose zstd, snappy, gzip or none", name)
}

type format struct {
	encode.Tombstones
	o       Options
	columns []column // Those that do not depend on an object's records.
	table   *table   // Nil if columns are inferred.
	finder  *field.Finder
	codec   compress.Codec

	mu       sync.Mutex
	messages map[*protobuf.Type]*messages // By the type; nil has the columns of records without a schema.
}

func (*format) Name() string        { return "parquet/1" }
func (*format) Extension() string   { return ".parquet" }
func (*format) ContentType() string { return "application/vnd.apache.parquet" }
func (*format) Compresses() bool    { return true }

// BySchema implements encode.BySchema.
func (f *format) BySchema() bool { return f.o.Messages }

func (f *format) Begin(w io.Writer) (encode.Encoder, error) {
	e := &encoder{f: f, out: counter{w: w}}
	if f.table != nil {
		e.begin(f.table.schema)
		e.table = f.table
	}
	return e, nil
}
