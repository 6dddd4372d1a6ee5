// SPDX-License-Identifier: Apache-2.0

package parquet

import (
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/freehold-go/freehold/arenajson"

	"github.com/freehold-go/freehold/sink/internal/number"
	"github.com/freehold-go/freehold/sink/record"
)

// A column has a part of the record or a field of its value.
type column struct {
	name     string
	source   string // A name of encode.Columns, or a type of types.
	field    string // The name of the field, if it was inferred.
	path     int    // The index of the field's path, or -1.
	node     parquet.Node
	optional bool
	text     bool // Bytes must be UTF-8.
	index    int  // In a row.
}

// types are the types of fields.
var types = map[string]parquet.Node{
	"string": parquet.String(), "int64": parquet.Int(64), "double": parquet.Leaf(parquet.DoubleType), "bool": parquet.Leaf(parquet.BooleanType),
	"timestamp": parquet.Timestamp(parquet.Millisecond), "json": parquet.JSON(),
}

// envelope is the column with a part of the record.
func envelope(name string, text bool) (c column, ok bool) {
	c = column{name: name, source: name, path: -1, optional: true}
	switch name {
	case "topic":
		c.node, c.optional = parquet.String(), false
	case "partition":
		c.node, c.optional = parquet.Int(32), false
	case "offset":
		c.node, c.optional = parquet.Int(64), false
	case "timestamp":
		c.node = parquet.Timestamp(parquet.Millisecond)
	case "headers":
		c.node, c.optional = parquet.JSON(), false
	case "key", "value":
		c.node, c.text = parquet.Leaf(parquet.ByteArrayType), text
		if text {
			c.node = parquet.String()
		}
	default:
		return c, false
	}
	return c, true
}

// A table has the columns of objects.
type table struct {
	columns []column
	fields  map[string]int // The index in columns by the field's name, if fields were inferred.
	schema  *parquet.Schema
}

// newTable sorts the columns by name, as the library does.
func newTable(columns []column) *table {
	t := &table{columns: slices.Clone(columns), fields: map[string]int{}}
	slices.SortFunc(t.columns, func(a, b column) int { return strings.Compare(a.name, b.name) })
	group := parquet.Group{}
	for i := range t.columns {
		c := &t.columns[i]
		c.index = i
		if c.path == inferred {
			t.fields[c.field] = i
		}
		if group[c.name] = c.node; c.optional {
			group[c.name] = parquet.Optional(c.node)
		}
	}
	t.schema = parquet.NewSchema("record", group)
	return t
}

// inferred is the path of columns whose fields are found by name.
const inferred = -2

// A kinds is a set of kinds of values that a field has.
type kinds uint8

const (
	isString kinds = 1 << iota
	isBool
	isOther
	isNumber
	isWrittenAsFloat // with a point or an exponent
	isNoInt          // no integer of 64 bits
	isNoDouble       // a float64 does not keep all its digits
)

// kindOf is the kind of a value. Null and no value have none.
func kindOf(v arenajson.Value) kinds {
	switch v.Kind() {
	case arenajson.None, arenajson.Null:
		return 0
	case arenajson.String:
		return isString
	case arenajson.True, arenajson.False:
		return isBool
	case arenajson.Number:
		return kindOfNumber(string(v.Number()))
	}
	return isOther
}

func kindOfNumber(s string) kinds {
	k := isNumber
	if strings.ContainsAny(s, ".eE") {
		k |= isWrittenAsFloat
	}
	if _, ok := number.Int(s); !ok {
		k |= isNoInt
	}
	if _, ok := number.Kept(s); !ok {
		k |= isNoDouble
	}
	return k
}

// typeOf is the type of a column for fields of some kinds. Numbers have one that keeps every digit of each.
func (k kinds) typeOf() string {
	switch numeric := k&^(isNumber|isWrittenAsFloat|isNoInt|isNoDouble) == 0; {
	case k == isString:
		return "string"
	case k == isBool:
		return "bool"
	case numeric && k&isWrittenAsFloat != 0 && k&isNoDouble == 0:
		return "double"
	case numeric && k&isNumber != 0 && k&isNoInt == 0:
		return "int64"
	}
	return "json"
}

// infer is the table with columns for the fields, after those that are fixed.
func infer(fixed []column, fields map[string]kinds) *table {
	columns, taken := slices.Clone(fixed), map[string]bool{}
	for _, c := range fixed {
		taken[c.name] = true
	}
	for name := range fields {
		taken[name] = true
	}
	for name, k := range fields {
		source := k.typeOf()
		c := column{name: name, source: source, field: name, path: inferred, node: types[source], optional: true}
		if rename := name == "" || slices.ContainsFunc(fixed, func(f column) bool { return f.name == name }); rename {
			for c.name == "" || taken[c.name] {
				c.name = "value." + c.name
			}
		}
		taken[c.name] = true
		columns = append(columns, c)
	}
	if len(columns) == 0 { // A table must have one.
		columns = append(columns, column{name: "value", source: "json", field: "value", path: inferred, node: types["json"], optional: true})
	}
	return newTable(columns)
}

// bad is the error of a value that does not fit a column.
func (c *column) bad() error {
	return record.Badf("the value does not fit the column %q of the type %s", c.name, c.source)
}
