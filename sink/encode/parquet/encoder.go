// SPDX-License-Identifier: Apache-2.0

package parquet

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"

	"github.com/freehold-go/freehold/arenajson"

	"github.com/freehold-go/freehold/sink/internal/field"
	"github.com/freehold-go/freehold/sink/internal/number"
	"github.com/freehold-go/freehold/sink/protobuf"
	"github.com/freehold-go/freehold/sink/record"
)

// An encoder writes rows. While columns are inferred, it keeps copies of the first records.
type encoder struct {
	f       *format
	out     counter
	table   *table
	w       *parquet.GenericWriter[any]
	row     parquet.Row
	rows    [1]parquet.Row
	scratch []byte // The bytes that values of the row lead to.
	grouped int64  // Bytes of records in the row group.

	first      []record.Record
	firstBytes int64
	fields     map[string]kinds

	messages *messages // if the columns are those of messages
	shredder *protobuf.Shredder
	cells    [][]parquet.Value // the row's values by column, in messages
}

// counter counts what was written.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// begin fixes the columns.
func (e *encoder) begin(s *parquet.Schema) {
	e.w = parquet.NewGenericWriter[any](&e.out, s, parquet.Compression(e.f.codec), parquet.CreatedBy("freehold-sink", "1", ""),
		parquet.PageBufferSize(64<<10), parquet.WriteBufferSize(0))
}

func (e *encoder) Append(r *record.Record) error {
	switch {
	case e.f.o.Messages:
		return e.message(r)
	case e.table == nil:
		return e.learn(r)
	}
	return e.write(r)
}

// learn keeps a record for the time when the columns are fixed.
func (e *encoder) learn(r *record.Record) error {
	found, err := e.f.finder.Find(r)
	if err != nil {
		return err
	}
	defer found.Release()
	if err := e.learnFields(r, found.Root()); err != nil {
		return err
	}
	for _, c := range e.f.columns {
		if err := e.set(&column{source: c.source, text: c.text}, nil, r); err != nil { // What write would refuse.
			return err
		}
	}
	e.first = append(e.first, clone(r))
	e.firstBytes += int64(r.Size()) + 200
	if len(e.first) >= e.f.o.Infer || e.firstBytes >= 1<<20 {
		return e.fix()
	}
	return nil
}

// learnFields adds the fields of a value to those that are known.
func (e *encoder) learnFields(r *record.Record, root arenajson.Value) error {
	if r.Value == nil {
		return nil
	}
	if root.Kind() != arenajson.Object {
		return record.Badf("the value is %s and no object", root.Kind())
	}
	added := 0
	for name := range root.Members() {
		if _, ok := e.fields[name]; !ok {
			added++
		}
	}
	if len(e.fields)+added > most {
		return record.Badf("the values have more than %d fields", most)
	}
	if e.fields == nil {
		e.fields = map[string]kinds{}
	}
	for name := range root.Members() {
		e.fields[string([]byte(name))] |= kindOf(root.Get(name)) // Of equal names the last counts. The name is in the arena.
	}
	return nil
}

func clone(r *record.Record) record.Record {
	c := *r
	c.Key, c.Value, c.Headers = bytes.Clone(r.Key), bytes.Clone(r.Value), slices.Clone(r.Headers)
	for i := range c.Headers {
		c.Headers[i].Value = bytes.Clone(c.Headers[i].Value)
	}
	return c
}

// fix fixes the columns and writes the records that were kept.
func (e *encoder) fix() error {
	e.table = infer(e.f.columns, e.fields)
	e.begin(e.table.schema)
	for i := range e.first {
		if err := e.write(&e.first[i]); err != nil {
			return err
		}
	}
	e.first, e.firstBytes, e.fields = nil, 0, nil
	return nil
}

var errNoText = &record.Bad{Err: utf8Error{}}

type utf8Error struct{}

func (utf8Error) Error() string { return "a name, key or value that should be a string is not UTF-8" }

// write writes a row.
func (e *encoder) write(r *record.Record) error {
	var found *field.Found
	if e.f.finder != nil {
		var err error
		if found, err = e.f.finder.Find(r); err != nil {
			return err
		}
		defer found.Release()
	}
	if e.row == nil {
		e.row = make(parquet.Row, len(e.table.columns))
	}
	return e.writeRow(r, e.fill(r, found))
}

// writeRow writes the row of a record, unless there was an error.
func (e *encoder) writeRow(r *record.Record, err error) error {
	if err == nil {
		e.rows[0] = e.row
		_, err = e.w.WriteRows(e.rows[:])
		e.grouped += int64(r.Size()) + 8*int64(len(e.row))
	}
	clear(e.row)
	if e.scratch = e.scratch[:0]; cap(e.scratch) > 1<<20 {
		e.scratch = nil
	}
	if err == nil && e.grouped >= e.f.o.RowGroup {
		e.grouped = 0
		return e.w.Flush()
	}
	return err
}

// fill makes the row of a record.
func (e *encoder) fill(r *record.Record, found *field.Found) error {
	for i := range e.table.columns {
		c := &e.table.columns[i]
		e.row[i] = parquet.NullValue().Level(0, 0, i)
		var err error
		switch {
		case c.path >= 0:
			err = e.setField(c, found.Value(c.path), r.Schema != nil)
		case c.path == inferred:
		default:
			err = e.set(c, &e.row[i], r)
		}
		if err != nil {
			return err
		}
	}
	if e.f.o.Infer == 0 || r.Value == nil {
		return nil
	}
	if found.Root().Kind() != arenajson.Object {
		return record.Badf("the value is %s and no object", found.Root().Kind())
	}
	for name, v := range found.Root().Members() {
		i, ok := e.table.fields[name]
		if !ok && !e.f.o.DropNew {
			return record.Badf("the value has a field that the object has no column for; the first values had none")
		}
		if ok {
			e.row[i] = parquet.NullValue().Level(0, 0, i)
			if err := e.setField(&e.table.columns[i], v, false); err != nil && found.Root().Get(name) == v {
				return err
			}
		}
	}
	return nil
}

// set puts a part of the record into its place, or only checks it if the place is nil.
func (e *encoder) set(c *column, to *parquet.Value, r *record.Record) error {
	var v parquet.Value
	switch c.source {
	case "topic":
		v = e.bytes([]byte(r.Topic))
	case "partition":
		v = parquet.Int32Value(r.Partition)
	case "offset":
		v = parquet.Int64Value(r.Offset)
	case "timestamp":
		if r.Timestamp < 0 {
			return nil
		}
		v = parquet.Int64Value(r.Timestamp)
	case "headers":
		text, err := headers(r)
		if err != nil {
			return err
		}
		v = parquet.ByteArrayValue(text)
	case "key", "value":
		p := r.Key
		if c.source == "value" {
			p = r.Value
		}
		if c.text && !utf8.Valid(p) {
			return errNoText
		}
		if p == nil {
			return nil
		}
		v = parquet.ByteArrayValue(p)
	}
	if to != nil {
		*to = v.Level(0, c.level(), c.index)
	}
	return nil
}

// level is the definition level of a value that is there.
func (c *column) level() int {
	if c.optional {
		return 1
	}
	return 0
}

// headers are the record's as JSON. The values are bytes, and thus in base64.
func headers(r *record.Record) ([]byte, error) {
	type header struct {
		Key   string `json:"key"`
		Value []byte `json:"value"`
	}
	list := make([]header, len(r.Headers))
	for i, h := range r.Headers {
		if !utf8.ValidString(h.Key) {
			return nil, errNoText
		}
		list[i] = header(h)
	}
	return json.Marshal(list)
}

// setField puts a field into its place. If messages is set, it is one of a message's JSON, in which some numbers stand between quotes.
func (e *encoder) setField(c *column, v arenajson.Value, messages bool) error {
	kind := v.Kind()
	if kind == arenajson.None || kind == arenajson.Null {
		return nil
	}
	to, ok := parquet.Value{}, false
	switch c.source {
	case "json":
		from := len(e.scratch)
		e.scratch = v.AppendJSON(e.scratch)
		to, ok = parquet.ByteArrayValue(e.scratch[from:]), true
	case "string":
		from := len(e.scratch)
		e.scratch = append(e.scratch, v.Text()...)
		to, ok = parquet.ByteArrayValue(e.scratch[from:]), kind == arenajson.String
	case "bool":
		to, ok = parquet.BooleanValue(v.Bool()), kind == arenajson.True || kind == arenajson.False
	default:
		if kind == arenajson.Number {
			to, ok = c.number(string(v.Number()))
		} else if messages && number.Quoted(v.Text()) {
			to, ok = c.number(v.Text())
		}
	}
	if !ok {
		return c.bad()
	}
	e.row[c.index] = to.Level(0, c.level(), c.index)
	return nil
}

// number is a number in a column of numbers, if the column takes it.
func (c *column) number(s string) (parquet.Value, bool) {
	if c.source != "double" {
		n, ok := number.Int(s)
		return parquet.Int64Value(n), ok
	}
	if c.path == inferred { // Nobody asked for a type that rounds.
		f, ok := number.Kept(s)
		return parquet.DoubleValue(f), ok
	}
	f, ok := number.Float(s, 64)
	return parquet.DoubleValue(f), ok
}

// bytes is a value with a copy of p.
func (e *encoder) bytes(p []byte) parquet.Value {
	from := len(e.scratch)
	e.scratch = append(e.scratch, p...)
	return parquet.ByteArrayValue(e.scratch[from:])
}

func (e *encoder) End() error {
	if e.w == nil {
		if err := e.fix(); err != nil {
			return err
		}
	}
	return e.w.Close()
}

// Held is what records wait, and the pages of the row group, which are compressed in part.
func (e *encoder) Held() int64 {
	held := e.firstBytes + int64(cap(e.scratch))
	if e.shredder != nil {
		held += e.shredder.Held() + 2*24*int64(cap(e.row)) // The values, and the row that they are gathered in.
	}
	if e.w != nil {
		held += max(e.w.Size()-e.out.n, 0)
	}
	return held
}

func (e *encoder) Free() {
	if e.w != nil {
		e.w.Reset(io.Discard) // Gives pages back to their pool.
	}
	e.w, e.row, e.scratch, e.first, e.fields = nil, nil, nil, nil, nil
	e.shredder, e.cells = nil, nil
}
