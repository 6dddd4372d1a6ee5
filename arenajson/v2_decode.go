// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// valueV2 is value by the rules of version 2. Plans of the versions differ, so that neither asks for the version.
func (d *decoder) valueV2(p *plan, to pointer, i int) int {
	// SAFETY: as in value.
	switch p.op {
	case opString:
		if d.peek(i) == '"' {
			s, next := d.textV2(i + 1)
			if next >= 0 {
				*unsafex.As[string](to) = s
			}
			return next
		}
	case opStruct:
		if d.peek(i) == '{' {
			return d.structV2(p, to, i)
		}
	case opSlice:
		if d.peek(i) == '[' {
			return d.sliceV2(p, to, i)
		}
	case opPointer:
		return d.pointer(p, to, i)
	case opBool, opInt8, opInt16, opInt32, opInt64, opUint8, opUint16, opUint32, opUint64, opFloat32, opFloat64:
		return d.value(p, to, i) // A mismatch comes back to mismatchV2.
	case opAny:
		return d.anyV2(p, to, i)
	case opMap:
		if d.peek(i) == '{' {
			return d.mappingV2(p, to, i)
		}
	case opArray:
		if d.peek(i) == '[' {
			return d.arrayV2(p, to, i)
		}
	default:
		return d.otherV2(p, to, i)
	}
	return d.mismatchV2(p, to, i)
}

// otherV2 is valueV2 for rare types.
func (d *decoder) otherV2(p *plan, to pointer, i int) int {
	switch p.op {
	case opNever:
		return d.refuse(p, p.rules.never, i)
	case opBase:
		if d.peek(i) == '"' {
			return d.baseV2(p, to, i)
		}
	case opRaw:
		next := d.skipV2(i)
		if next >= 0 {
			*unsafex.As[json.RawMessage](to) = json.RawMessage(d.data[i:next:next])
		}
		return next
	case opArenaMap:
		if d.peek(i) == '{' {
			return d.mappingV2(p, to, i)
		}
	case opTime, opDuration:
		return d.timeV2(p, to, i)
	case opInterface:
		return d.anyV2(p, to, i)
	case opUnmarshaler, opFrom, opText:
		return d.methodV2(p, to, i)
	}
	return d.mismatchV2(p, to, i)
}

// refuse ends decoding with an error that is no *json.UnmarshalTypeError, about the value at i.
func (d *decoder) refuse(p *plan, err error, i int) int {
	return d.stop(fmt.Errorf("arenajson: cannot decode the value at offset %d into a %v: %w", i, p.typ, err))
}

// wrong ends decoding: the value at i, which has an end, is not one of the type.
func (d *decoder) wrong(p *plan, value string, i, end int) int {
	return d.stop(d.explained(&json.UnmarshalTypeError{Value: value, Type: p.typ, Offset: int64(end)}, i))
}

// mismatchV2 decodes the value at i where the fast way for its type found something that it does not know: null, a
// value of another kind, a number out of range or in a string, or a syntax error.
func (d *decoder) mismatchV2(p *plan, to pointer, i int) int {
	next := d.skipV2(i)
	if next < 0 {
		return next
	}
	number := p.typ.Kind() >= reflect.Int && p.typ.Kind() <= reflect.Float64
	switch c := d.peek(i); c {
	case 'n':
		p.zero(to)
		return next
	case '{':
		return d.wrong(p, "object", i, i+1)
	case '[':
		return d.wrong(p, "array", i, i+1)
	case 't', 'f':
		return d.wrong(p, "bool", i, next)
	case '"':
		text := []byte(d.nameAt(i, next))
		v := reflect.NewAt(p.typ, to).Elem()
		switch {
		case p.op == opNumber && validNumber(text):
			v.SetString(string(text))
			return next
		case p.rules.nonfinite && setNonfinite(v, string(text)):
			return next
		case p.op == opQuoted && (!v.CanFloat() || validNumber(text)):
			return d.numberV2(p, v, text, "string "+string(text), i, next)
		}
		return d.wrong(p, "string", i, next)
	}
	text := d.input[i:next]
	switch v := reflect.NewAt(p.typ, to).Elem(); {
	case p.op == opNumber && !p.rules.quoted:
		v.SetString(string(text))
		return next
	case number && p.op != opQuoted && p.op != opDuration:
		return d.numberV2(p, v, text, "number "+string(text), i, next)
	}
	return d.wrong(p, "number", i, next)
}

// zero makes the variable zero.
func (p *plan) zero(to pointer) { reflect.NewAt(p.typ, to).Elem().SetZero() }

func setNonfinite(v reflect.Value, s string) bool {
	switch s {
	case "NaN":
		v.SetFloat(math.NaN())
	case "Infinity":
		v.SetFloat(math.Inf(1))
	case "-Infinity":
		v.SetFloat(math.Inf(-1))
	default:
		return false
	}
	return true
}

// numberV2 stores a number as it is written. shown is what an error shows.
func (d *decoder) numberV2(p *plan, v reflect.Value, text []byte, shown string, i, next int) int {
	switch {
	case v.CanFloat():
		f, err := strconv.ParseFloat(string(text), v.Type().Bits())
		if err == nil {
			v.SetFloat(f)
			return next
		}
		most := math.MaxFloat64
		if v.Type().Bits() == 32 {
			most = math.MaxFloat32
		}
		v.SetFloat(math.Copysign(most, f))
	case !plainInteger(text):
	case v.CanInt():
		if n, err := strconv.ParseInt(string(text), 10, v.Type().Bits()); err == nil {
			v.SetInt(n)
			return next
		}
	default:
		if n, err := strconv.ParseUint(string(text), 10, v.Type().Bits()); err == nil {
			v.SetUint(n)
			return next
		}
	}
	return d.wrong(p, shown, i, next)
}

// plainInteger reports whether text is an integer of JSON without fraction and exponent.
func plainInteger(text []byte) bool {
	if len(text) > 0 && text[0] == '-' {
		text = text[1:]
	}
	for _, c := range text {
		if c-'0' > 9 {
			return false
		}
	}
	return len(text) == 1 || len(text) > 1 && text[0] != '0'
}

// methodV2 hands the value at i to the variable's own method.
func (d *decoder) methodV2(p *plan, to pointer, i int) int {
	next := d.skipV2(i)
	if next < 0 {
		return next
	}
	var err error
	d.calls++
	text := d.input[i:next:next]
	switch v := reflect.NewAt(p.typ, to); {
	case p.op == opUnmarshaler:
		err = v.Interface().(json.Unmarshaler).UnmarshalJSON(text)
	case p.op == opFrom:
		err = fromV2(v.Interface(), text, p.rules.quoted, false)
	case text[0] == 'n':
		v.Elem().SetZero()
	case text[0] != '"':
		return d.mismatchText(p, text[0], i, next)
	default:
		s, _ := unquote(text)
		err = v.Interface().(encoding.TextUnmarshaler).UnmarshalText(s)
	}
	if err != nil {
		return d.fail(err, i)
	}
	return next
}

// mismatchText ends decoding: a type with UnmarshalText takes strings.
func (d *decoder) mismatchText(p *plan, first byte, i, next int) int {
	switch first {
	case '{':
		return d.wrong(p, "object", i, i+1)
	case '[':
		return d.wrong(p, "array", i, i+1)
	case 't', 'f':
		return d.wrong(p, "bool", i, next)
	}
	return d.wrong(p, "number", i, next)
}

// Set in programs built with GOEXPERIMENT=jsonv2: the type of UnmarshalerFrom, and a call of its method. name says that the
// text is a name of an object.
var (
	fromTypeV2 reflect.Type
	fromV2     func(v any, text []byte, quoted, name bool) error
)
