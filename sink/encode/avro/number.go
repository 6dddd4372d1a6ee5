// SPDX-License-Identifier: Apache-2.0

package avro

import (
	"encoding/json"
	"errors"
	"math/big"
	"reflect"

	"github.com/twmb/avro"

	"github.com/freehold-go/freehold/sink/internal/number"
)

// errNumber makes the record bad, or has a union try its next branch. Append gives the reason for people.
var errNumber = errors.New("the number does not fit")

// numbers has the encoder of the module ask package number for each number of JSON. The module itself makes infinities of numbers beyond double and float.
var numbers = avro.CustomType{GoType: reflect.TypeFor[json.Number](), Encode: func(v any, node *avro.SchemaNode) (any, error) {
	return convert(string(v.(json.Number)), node)
}}

// quoted reads the numbers that stand between quotes in the JSON of messages.
var quoted = avro.CustomType{GoType: reflect.TypeFor[string](), Encode: func(v any, node *avro.SchemaNode) (any, error) {
	if s := v.(string); number.Quoted(s) {
		switch node.Type {
		case "int", "long", "float", "double":
			return convert(s, node)
		}
	}
	return nil, avro.ErrSkipCustomType
}}

// convert is a number in a type of the schema. The module knows which types take no numbers.
func convert(s string, node *avro.SchemaNode) (n any, err error) {
	ok := true
	switch {
	case node.Type == "int":
		i, fits := number.Int(s)
		n, ok = i, fits && int64(int32(i)) == i
	case node.Type == "long":
		n, ok = number.Int(s)
	case node.Type == "float":
		f, fits := number.Float(s, 32)
		n, ok = float32(f), fits
	case node.Type == "double":
		n, ok = number.Float(s, 64)
	case node.LogicalType == "decimal" && node.Precision > 0:
		if s, ok = number.Decimal(s, node.Precision, node.Scale); ok {
			n, ok = new(big.Rat).SetString(s) // Short, so this is cheap.
		}
	default:
		return nil, avro.ErrSkipCustomType
	}
	if !ok {
		return nil, errNumber
	}
	return n, nil
}
