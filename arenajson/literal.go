// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"unicode/utf8"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// mismatch decodes the value at i where the fast way for its type found something that it does not know: null, a
// value of another kind, a number out of range, or a syntax error.
func (d *decoder) mismatch(p *plan, to pointer, i int) int {
	if p.rules != nil {
		return d.mismatchV2(p, to, i)
	}
	next := d.skip(i)
	switch c := d.peek(i); {
	case next < 0:
	case c == '{':
		d.save(&json.UnmarshalTypeError{Value: "object", Type: d.typeInError(p, i), Offset: int64(i + 1)}, i)
	case c == '[':
		d.save(&json.UnmarshalTypeError{Value: "array", Type: d.typeInError(p, i), Offset: int64(i + 1)}, i)
	case !d.literal(p, to, d.input[i:next], false, i, next):
		return -1
	}
	return next
}

// quoted decodes the value at i, a string with a literal in it or null, into a field with the option string.
func (d *decoder) quoted(p *plan, to pointer, i int) int {
	c := d.peek(i)
	next := d.skip(i)
	if next < 0 {
		return next
	}
	went := true
	switch item := d.input[i:next]; c {
	case '"':
		text, _ := unquote(item)
		went = d.literal(p, to, text, true, i, next)
	case 'n':
		went = d.literal(p, to, item, false, i, next)
	default:
		if c == '-' || c-'0' <= 9 {
			if _, err := strconv.ParseFloat(string(item), 64); err != nil && !d.opts.UseNumber {
				d.save(&json.UnmarshalTypeError{Value: "number " + string(item), Type: floatType, Offset: int64(next + 1)}, i)
			}
		}
		d.save(fmt.Errorf("json: invalid use of ,string struct tag, trying to unmarshal unquoted value into %v", p.typ), i)
	}
	if !went {
		return -1
	}
	return next
}

// unmarshaler hands the value at i to the variable's own UnmarshalJSON.
func (d *decoder) unmarshaler(p *plan, to pointer, i int) int {
	next := d.skip(i)
	if next < 0 {
		return next
	}
	d.calls++
	if err := ownJSON(p, to).UnmarshalJSON(d.input[i:next:next]); err != nil {
		return d.fail(err, i)
	}
	return next
}

func ownJSON(p *plan, to pointer) json.Unmarshaler {
	return reflect.NewAt(p.typ, to).Interface().(json.Unmarshaler)
}

// badQuoted is encoding/json's error for a string that holds no literal of the field's type.
func badQuoted(item []byte, t reflect.Type) error {
	return fmt.Errorf("json: invalid use of ,string struct tag, trying to unmarshal %q into %v", item, t)
}

// literal stores a literal, which begins at at and ends at end, by the rules of encoding/json. If quoted, it stood
// in a string and may be anything. The result is false if decoding ended.
func (d *decoder) literal(p *plan, to pointer, item []byte, quoted bool, at, end int) bool {
	outer := p.typ
	if len(item) == 0 {
		d.save(badQuoted(item, outer), at)
		return true
	}
	null := item[0] == 'n'
	for p.op == opPointer && !null {
		inner := unsafex.As[pointer](to)
		if *inner == nil {
			if *inner = d.new(p.elem.mem); *inner == nil {
				return false
			}
		}
		p, to = p.elem, *inner
	}
	switch {
	case p.op == opUnmarshaler || p.op == opRaw || p.op == opTime:
		d.calls++
		if err := ownJSON(p, to).UnmarshalJSON(item); err != nil {
			d.fail(err, at)
			return false
		}
		return true
	case p.op == opText && !null:
		return d.ownText(p, to, outer, item, quoted, at, end)
	}
	err, ends := d.store(reflect.NewAt(p.typ, to).Elem(), item, quoted, end)
	switch {
	case err != nil && ends:
		d.fail(err, at)
		return false
	case err != nil:
		d.save(err, at)
	}
	return true
}

// ownText hands a string to the variable's own UnmarshalText.
func (d *decoder) ownText(p *plan, to pointer, outer reflect.Type, item []byte, quoted bool, at, end int) bool {
	if item[0] != '"' {
		if quoted {
			d.save(badQuoted(item, outer), at)
			return true
		}
		kind := "number"
		if item[0] == 't' || item[0] == 'f' {
			kind = "bool"
		}
		d.save(&json.UnmarshalTypeError{Value: kind, Type: d.typeInError(p, at), Offset: int64(end)}, at)
		return true
	}
	text, ok := unquote(item)
	if !ok {
		d.fail(badQuoted(item, outer), at)
		return false
	}
	d.calls++
	if err := reflect.NewAt(p.typ, to).Interface().(encoding.TextUnmarshaler).UnmarshalText(text); err != nil {
		d.fail(err, at)
		return false
	}
	return true
}

// store stores a literal in v, which is no pointer. ends says that the error ends decoding.
func (d *decoder) store(v reflect.Value, item []byte, quoted bool, end int) (err error, ends bool) {
	wrong := func(kind string) error {
		return &json.UnmarshalTypeError{Value: kind, Type: v.Type(), Offset: int64(end)}
	}
	switch c := item[0]; {
	case c == 'n':
		if quoted && string(item) != "null" {
			return badQuoted(item, v.Type()), false
		}
		switch v.Kind() {
		case reflect.Interface, reflect.Pointer, reflect.Map, reflect.Slice:
			v.SetZero()
		}
	case c == 't' || c == 'f':
		switch {
		case quoted && string(item) != "true" && string(item) != "false":
			return badQuoted(item, v.Type()), false
		case v.Kind() == reflect.Bool:
			v.SetBool(c == 't')
		case quoted && v.Kind() != reflect.Interface:
			return badQuoted(item, v.Type()), false
		default:
			return wrong("bool"), false
		}
	case c == '"':
		return storeText(v, item, wrong)
	case c == '-' || c-'0' <= 9:
		return storeNumber(v, item, quoted, d.opts.UseNumber, wrong)
	default: // The string of a quoted one.
		return badQuoted(item, v.Type()), true
	}
	return nil, false
}

func storeText(v reflect.Value, item []byte, wrong func(string) error) (err error, ends bool) {
	text, ok := unquote(item)
	switch {
	case !ok:
		return badQuoted(item, v.Type()), true
	case v.Kind() == reflect.String:
		if v.Type() == numberType && !validNumber(text) {
			return fmt.Errorf("json: invalid number literal, trying to unmarshal %q into Number", item), true
		}
		v.SetString(string(text))
	default:
		return wrong("string"), false
	}
	return nil, false
}

func storeNumber(v reflect.Value, item []byte, quoted, useNumber bool, wrong func(string) error) (err error, ends bool) {
	s := string(item)
	switch {
	case v.Type() == numberType:
		v.SetString(s)
		return nil, false
	case v.CanInt():
		if n, err := strconv.ParseInt(s, 10, 64); err == nil && !v.OverflowInt(n) {
			v.SetInt(n)
			return nil, false
		}
	case v.CanUint():
		if n, err := strconv.ParseUint(s, 10, 64); err == nil && !v.OverflowUint(n) {
			v.SetUint(n)
			return nil, false
		}
	case v.CanFloat():
		if f, err := strconv.ParseFloat(s, v.Type().Bits()); err == nil && !v.OverflowFloat(f) {
			v.SetFloat(f)
			return nil, false
		}
	case v.Kind() == reflect.Interface:
		if _, err := strconv.ParseFloat(s, 64); err != nil && !useNumber {
			e := wrong("number " + s).(*json.UnmarshalTypeError)
			e.Type = floatType
			e.Offset++
			return e, false
		}
		return wrong("number"), false
	case quoted:
		return badQuoted(item, v.Type()), true
	default:
		return wrong("number"), false
	}
	return wrong("number " + s), false
}

// unquote is a JSON string without quotes and escapes, or false if it is none. Within the option string a
// document can have strings that are none; encoding/json takes \' there.
func unquote(s []byte) ([]byte, bool) {
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		return nil, false
	}
	s = s[1 : len(s)-1]
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s) && s[i+1] == '\'':
			out = append(out, '\'')
			i += 2
		case c == '\\':
			r, next := escaped(s, i)
			if next < 0 {
				return nil, false
			}
			out, i = utf8.AppendRune(out, r), next
		case c == '"' || c < ' ':
			return nil, false
		default:
			r, size := utf8.DecodeRune(s[i:])
			out, i = utf8.AppendRune(out, r), i+size
		}
	}
	return out, true
}

// validNumber reports whether text is a number of JSON, or empty.
func validNumber(text []byte) bool {
	s := scanner{data: text}
	return len(text) > 0 && s.skipNumber(0) == len(text)
}
