// SPDX-License-Identifier: Apache-2.0

package parquet

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/parquet-go/parquet-go"

	"github.com/freehold-go/freehold/sink/protobuf"
	"github.com/freehold-go/freehold/sink/record"
)

// messages has the columns of objects whose records are messages of one type.
type messages struct {
	of      *protobuf.Type
	columns *protobuf.Columns // nil for records without a schema
	fixed   []column          // parts of the record, with their index
	leaves  []leaf            // of the message, in the order of columns.Leaves
	count   int               // of all columns
	schema  *parquet.Schema
}

// A leaf is a column of a message's field.
type leaf struct {
	kind  protobuf.Kind
	index int // of the column
}

var (
	errNoSchema    = &record.Bad{Err: errors.New("the record has no message of Protocol Buffers, which the columns are made of")}
	errOtherSchema = &record.Bad{Err: errors.New("the record has another schema than the object")}
)

// messageTable returns the columns for a type. Nil is that of records without a schema.
func (f *format) messageTable(t *protobuf.Type) (*messages, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if m := f.messages[t]; m != nil {
		return m, nil
	}
	m, err := newMessages(f.columns, t)
	if err != nil {
		return nil, &record.Bad{Err: err}
	}
	if f.messages == nil {
		f.messages = map[*protobuf.Type]*messages{}
	}
	f.messages[t] = m
	return m, nil
}

func newMessages(fixed []column, t *protobuf.Type) (m *messages, err error) {
	m = &messages{of: t, fixed: slices.Clone(fixed)}
	group := parquet.Group{}
	for _, c := range fixed {
		if group[c.name] = c.node; c.optional {
			group[c.name] = parquet.Optional(c.node)
		}
	}
	var paths [][]string
	if t != nil {
		if m.columns, err = t.Columns(); err != nil {
			return nil, err
		}
		paths = make([][]string, len(m.columns.Leaves))
		for _, c := range m.columns.Top {
			name := c.Name
			for group[name] != nil { // The envelope has it.
				name = "value." + name
			}
			group[name] = node(c, []string{name}, paths)
		}
	}
	if len(group) == 0 {
		return nil, errNoSchema
	}
	m.schema = parquet.NewSchema("record", group)
	m.count = len(m.schema.Columns())
	for i := range m.fixed {
		found, _ := m.schema.Lookup(m.fixed[i].name)
		m.fixed[i].index = found.ColumnIndex
	}
	for i, path := range paths {
		found, ok := m.schema.Lookup(path...)
		if !ok {
			return nil, fmt.Errorf("the schema of the file lacks the column %q", path)
		}
		m.leaves = append(m.leaves, leaf{m.columns.Leaves[i].Kind, found.ColumnIndex})
	}
	return m, nil
}

// node is the schema of a field, and notes the paths of its leaves.
func node(c *protobuf.Column, path []string, paths [][]string) parquet.Node {
	switch {
	case c.Kind == protobuf.Map:
		at := append(slices.Clip(path), "key_value")
		return parquet.Map(content(c.Children[0], append(slices.Clip(at), "key"), paths), content(c.Children[1], append(slices.Clip(at), "value"), paths))
	case c.List:
		return parquet.List(content(c, append(slices.Clip(path), "list", "element"), paths))
	}
	return parquet.Optional(content(c, path, paths))
}

// content is the schema of a value of a field.
func content(c *protobuf.Column, path []string, paths [][]string) parquet.Node {
	if c.Kind == protobuf.Message {
		group := parquet.Group{}
		for _, child := range c.Children {
			group[child.Name] = node(child, append(slices.Clip(path), child.Name), paths)
		}
		return group
	}
	paths[c.Leaf] = path
	return leafNodes[c.Kind]
}

var leafNodes = map[protobuf.Kind]parquet.Node{
	protobuf.Bool: parquet.Leaf(parquet.BooleanType), protobuf.Int32: parquet.Int(32), protobuf.Int64: parquet.Int(64), protobuf.Uint32: parquet.Uint(32), protobuf.Uint64: parquet.Uint(64),
	protobuf.Float: parquet.Leaf(parquet.FloatType), protobuf.Double: parquet.Leaf(parquet.DoubleType), protobuf.Text: parquet.String(), protobuf.Bytes: parquet.Leaf(parquet.ByteArrayType),
	protobuf.Timestamp: parquet.Timestamp(parquet.Microsecond), protobuf.JSON: parquet.JSON(),
}

// message writes a record by the columns of its message.
func (e *encoder) message(r *record.Record) error {
	var of *protobuf.Type
	if r.Schema != nil {
		t, ok := r.Schema.(*protobuf.Type)
		if !ok {
			return errNoSchema
		}
		of = t
	}
	fresh := e.messages == nil
	switch {
	case r.Value != nil && of == nil:
		return errNoSchema
	case fresh:
		if err := e.open(of); err != nil {
			return err
		}
	case e.messages.of != of:
		return errOtherSchema
	}
	err := e.shred(r)
	if err != nil && fresh { // Nothing of the record is in the object, its columns neither.
		e.w, e.messages, e.shredder, e.cells, e.row = nil, nil, nil, nil, nil
		return err
	}
	err = e.writeRow(r, err)
	if cap(e.row) > mostKept { // A record with long lists.
		e.row, e.cells = nil, make([][]parquet.Value, e.messages.count)
	}
	return err
}

// mostKept bounds the values whose memory is kept for the next record.
const mostKept = 1 << 15

// open begins an object of messages of a type.
func (e *encoder) open(of *protobuf.Type) error {
	m, err := e.f.messageTable(of)
	if err != nil {
		return err
	}
	e.begin(m.schema)
	e.messages = m
	e.cells = make([][]parquet.Value, m.count)
	if m.columns != nil {
		e.shredder = m.columns.NewShredder(cells{e})
	}
	return nil
}

// shred makes the row of a record.
func (e *encoder) shred(r *record.Record) error {
	for i := range e.cells {
		clear(e.cells[i])
		e.cells[i] = e.cells[i][:0]
	}
	e.row = e.row[:0]
	for i := range e.messages.fixed {
		c := &e.messages.fixed[i]
		v := parquet.NullValue().Level(0, 0, c.index)
		if err := e.set(c, &v, r); err != nil {
			return err
		}
		e.cells[c.index] = append(e.cells[c.index], v)
	}
	switch {
	case e.shredder == nil:
	case r.Value == nil:
		e.shredder.Null()
	default:
		if err := e.shredder.Shred(r.Payload()); err != nil {
			return err
		}
	}
	for _, values := range e.cells {
		e.row = append(e.row, values...)
	}
	return nil
}

// cells takes the values of a message.
type cells struct{ *encoder }

func (e cells) add(at, rep, def int, v parquet.Value) {
	i := e.messages.leaves[at].index
	e.cells[i] = append(e.cells[i], v.Level(rep, def, i))
}

func (e cells) Null(at, rep, def int) { e.add(at, rep, def, parquet.NullValue()) }

func (e cells) Bytes(at, rep, def int, b []byte) {
	e.add(at, rep, def, parquet.ByteArrayValue(b))
}

func (e cells) Number(at, rep, def int, bits uint64) {
	var v parquet.Value
	switch e.messages.leaves[at].kind {
	case protobuf.Bool:
		v = parquet.BooleanValue(bits != 0)
	case protobuf.Int32, protobuf.Uint32:
		v = parquet.Int32Value(int32(bits))
	case protobuf.Float:
		v = parquet.FloatValue(math.Float32frombits(uint32(bits)))
	case protobuf.Double:
		v = parquet.DoubleValue(math.Float64frombits(bits))
	default:
		v = parquet.Int64Value(int64(bits))
	}
	e.add(at, rep, def, v)
}
