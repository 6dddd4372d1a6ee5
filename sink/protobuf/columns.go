// SPDX-License-Identifier: Apache-2.0

package protobuf

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// A Kind says what a column holds.
type Kind int8

// The kinds of columns. Message and Map have columns within; the others are leaves.
const (
	Message Kind = iota
	Map
	Bool
	Int32
	Int64
	Uint32
	Uint64
	Float
	Double
	Text      // strings, names of enums, durations, field masks
	Bytes     // bytes
	Timestamp // microseconds since 1970; nanoseconds are cut off
	JSON      // what has no columns of its own: google.protobuf.Struct and Any, messages that contain themselves
)

// A Column has the values of a field.
//
// A field that is neither a list nor a map is optional, and null if it is not there; a field without presence is zero then. The elements of a list, and the keys and values of a map are
// required. Lists and maps themselves are required, too: a list that is not there is empty.
type Column struct {
	Name     string
	Kind     Kind
	List     bool
	Children []*Column // of a message its fields, of a map the key and the value
	Leaf     int       // the index among the leaves, -1 if there are columns within

	at       int // the index of the field in its message
	f        *field
	of       *Type // of a message
	rep, def int   // the levels of elements of a list or entries of a map, otherwise of a value that is there
}

// Columns are the columns of the messages of a type.
type Columns struct {
	Top    []*Column
	Leaves []*Column
	t      *Type
}

// mostLeaves and mostNested bound the columns of a type. Messages beyond are columns of JSON.
const mostLeaves, mostNested = 1000, 30

// Columns makes the columns of the messages of a type, one for each field.
func (t *Type) Columns() (*Columns, error) {
	if t.known != 0 || len(t.fields) == 0 {
		return nil, fmt.Errorf("protobuf: messages of the type %s have no columns", t.name)
	}
	c := &Columns{t: t}
	c.Top = c.fields(t, []*Type{t}, 0, 0)
	return c, nil
}

// fields makes the columns of the fields of a message, which stands in messages of the types above, and has these levels.
func (c *Columns) fields(t *Type, above []*Type, rep, def int) (all []*Column) {
	for i := range t.fields {
		f := &t.fields[i]
		col := &Column{Name: f.name, at: i, f: f, List: f.list, Leaf: -1, rep: rep, def: def + 1}
		if f.list || f.entry != nil {
			col.rep++
		}
		if f.entry != nil {
			col.Kind = Map
			for j, name := range []string{"key", "value"} {
				part := &Column{Name: name, f: &f.entry[j], Leaf: -1, rep: col.rep, def: col.def}
				c.content(part, above)
				col.Children = append(col.Children, part)
			}
		} else {
			c.content(col, above)
		}
		all = append(all, col)
	}
	return all
}

// content fills in the kind of a column, and the columns within.
func (c *Columns) content(col *Column, above []*Type) {
	m := col.f.message
	if m != nil && m.known == 0 && len(m.fields) > 0 && !slices.Contains(above, m) && len(above) < mostNested && len(c.Leaves) < mostLeaves {
		col.of = m
		col.Children = c.fields(m, append(slices.Clip(above), m), col.rep, col.def)
		return
	}
	col.Kind = col.f.columnKind()
	col.Leaf = len(c.Leaves)
	c.Leaves = append(c.Leaves, col)
}

var columnKinds = map[protoreflect.Kind]Kind{
	protoreflect.BoolKind: Bool, protoreflect.Int32Kind: Int32, protoreflect.Sint32Kind: Int32, protoreflect.Sfixed32Kind: Int32, protoreflect.Int64Kind: Int64,
	protoreflect.Sint64Kind: Int64, protoreflect.Sfixed64Kind: Int64, protoreflect.Uint32Kind: Uint32, protoreflect.Fixed32Kind: Uint32, protoreflect.Uint64Kind: Uint64,
	protoreflect.Fixed64Kind: Uint64, protoreflect.FloatKind: Float, protoreflect.DoubleKind: Double, protoreflect.StringKind: Text, protoreflect.EnumKind: Text, protoreflect.BytesKind: Bytes,
}

func (f *field) columnKind() Kind {
	if f.message == nil {
		return columnKinds[f.kind]
	}
	switch f.message.known {
	case isTimestamp:
		return Timestamp
	case isDuration, isMask:
		return Text
	case isWrapper:
		return f.message.fields[0].columnKind()
	}
	return JSON
}
