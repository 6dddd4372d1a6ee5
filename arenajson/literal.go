// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"encoding"
	"encoding/json"
	"errors"
	"reflect"
	"strconv"
	"time"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// mismatch decodes the value at i where the fast way for its type found something that it does not know: null, a
// value of another kind, a number out of range, or a syntax error.
func (d *decoder) mismatch(p *plan, to pointer, i int) int {
	c := d.peek(i)
	if (c == '{' || c == '[') && d.rules&goesOn == 0 && (p.op == opBool || opStruct <= p.op && p.op <= opArenaMap) {
		return d.misfit(p.typ, i, i+1, behind, nil) // encoding/json/v2 reads no further.
	}
	next := d.skip(i)
	switch number := c == '-' || c-'0' <= 9; {
	case next < 0:
	case c == 'n':
		p.null(to)
	case number && opInt8 <= p.op && p.op <= opFloat64:
		return d.number(p, p.op, to, view(d.input[i:next]), i, next)
	default:
		return d.misfit(p.typ, i, next, behind, nil)
	}
	return next
}

// null decodes null. By version 1 it leaves variables that cannot be nil, and those with UnmarshalText.
func (p *plan) null(to pointer) {
	if p.rules&merges != 0 {
		switch k := p.typ.Kind(); {
		case p.op == opText, k != reflect.Interface && k != reflect.Pointer && k != reflect.Map && k != reflect.Slice:
			return
		}
	}
	p.zero(to)
}

// zero makes the variable zero.
func (p *plan) zero(to pointer) { reflect.NewAt(p.typ, to).Elem().SetZero() }

// number stores a number as it is written, by the rules for a type's op.
func (d *decoder) number(p *plan, o op, to pointer, text string, i, next int) int {
	err := error(strconv.ErrSyntax)
	v := reflect.NewAt(p.typ, to).Elem()
	loose := p.op == opQuoted && p.rules&quotesAll != 0 // Then what strconv takes is a number.
	switch {
	case o >= opFloat32:
		var f float64
		if loose || validNumber(text) {
			if f, err = strconv.ParseFloat(text, v.Type().Bits()); err == nil {
				v.SetFloat(f)
			}
		}
	case !loose && !plainInteger(text, v.CanInt()):
	case v.CanInt():
		var n int64
		if n, err = strconv.ParseInt(text, 10, v.Type().Bits()); err == nil {
			v.SetInt(n)
		}
	default:
		var n uint64
		if n, err = strconv.ParseUint(text, 10, v.Type().Bits()); err == nil {
			v.SetUint(n)
		}
	}
	switch {
	case err == nil || loose && text == "null":
		return next
	case errors.Unwrap(err) != nil:
		err = errors.Unwrap(err)
	}
	return d.misfit(p.typ, i, next, withText, err)
}

// plainInteger reports whether text is an integer of JSON without fraction and exponent.
func plainInteger(text string, signed bool) bool {
	if signed && len(text) > 0 && text[0] == '-' {
		text = text[1:]
	}
	for i := range len(text) {
		if text[i]-'0' > 9 {
			return false
		}
	}
	return len(text) == 1 || len(text) > 1 && text[0] != '0'
}

// validNumber reports whether text is a number of JSON.
func validNumber(text string) bool {
	s := scanner{data: bytesOf(text)}
	return s.skipNumber(0) == len(text)
}

// quoted decodes the value at i, a string with a literal in it or null.
func (d *decoder) quoted(p *plan, to pointer, i int) int {
	c := d.peek(i)
	if c == '"' && opInt8 <= p.base && p.base <= opUint64 {
		v, neg, end := d.integer(i + 1)
		if end > 0 && d.peek(end) == '"' && (p.base < opUint8 && putInt(p.base, to, v, neg) || p.base >= opUint8 && !neg && putUint(p.base, to, v)) {
			return end + 1
		}
	}
	next := d.skip(i)
	switch {
	case next < 0:
		return next
	case c == 'n':
		p.null(to)
		return next
	case c != '"':
		return d.misfit(p.typ, i, next, behind, nil)
	}
	text := d.textAt(i, next)
	switch p.base {
	case opString:
		if text == "null" {
			return next
		}
		inner, ok := unquoteAll(text)
		if !ok {
			return d.misfit(p.typ, i, next, behind, badInner(text))
		}
		*unsafex.As[string](to) = inner
	case opBool:
		if text != "true" && text != "false" && text != "null" {
			return d.misfit(p.typ, i, next, withText, strconv.ErrSyntax)
		}
		if text != "null" {
			*unsafex.As[bool](to) = text == "true"
		}
	default:
		return d.number(p, p.base, to, text, i, next)
	}
	return next
}

// quotedPointer decodes the value at i into what a pointer in a field with the option string leads to. By version 1 null in a string makes
// the pointer nil, whatever it has been decoded into.
func (d *decoder) quotedPointer(p *plan, to pointer, i int) int {
	misfits := d.misfits
	next := d.value(p.elem, *unsafex.As[pointer](to), i)
	if next >= 0 && p.rules&quotesAll != 0 && p.elem.rules&stringTag != 0 && misfits == d.misfits && string(d.input[i:next]) == `"null"` {
		p.zero(to)
	}
	return next
}

// jsonNumber decodes the value at i into a json.Number, as the method that this type has in Go 1.27 does.
func (d *decoder) jsonNumber(p *plan, to pointer, i int) int {
	c, where, err := d.peek(i), behind, error(nil)
	var text string
	var next int
	if c == '"' {
		if text, next = d.text(i + 1); next >= 0 && !validNumber(text) {
			where, err = withText, strconv.ErrSyntax
		}
	} else if next = d.skip(i); next >= 0 {
		text = view(d.data[i:next])
	}
	switch number := c == '-' || c-'0' <= 9; {
	case next < 0:
		return next
	case c == 'n':
		p.null(to)
		return next
	case c == '"' && err == nil, number && p.rules&(stringTag|memberName) == 0:
		*unsafex.As[string](to) = text
		return next
	}
	if p.rules&goesOn != 0 { // The error is one of a method, which version 1 leaves as it is.
		where |= nowhere
	}
	return d.misfit(p.typ, i, next, where, err)
}

// time decodes the value at i into a time.Time.
func (d *decoder) time(p *plan, to pointer, i int) int {
	next := d.skip(i)
	if next < 0 {
		return next
	}
	switch d.peek(i) {
	case 'n':
		p.null(to)
		return next
	case '"':
		text := bytesOf(d.textAt(i, next))
		var t time.Time
		err := t.UnmarshalText(text)
		if err == nil && p.rules&looseTimes == 0 {
			err = strictTime(string(text))
		}
		if err != nil {
			return d.fail(p, err, i, next)
		}
		*unsafex.As[time.Time](to) = t
		return next
	}
	return d.misfit(p.typ, i, next, behind, nil)
}

// strictTime is the error for a time that package time takes, but RFC 3339 does not.
func strictTime(text string) error {
	e := &time.ParseError{Layout: time.RFC3339, Value: text, LayoutElem: "Z07:00", ValueElem: text[len(text)-min(6, len(text)):]}
	switch zone := e.ValueElem; {
	case text[len("2006-01-02T1")] == ':':
		e.LayoutElem, e.ValueElem = "15", text[len("2006-01-02T"):][:1]
	case text[len("2006-01-02T15:04:05")] == ',':
		e.LayoutElem, e.ValueElem = ".", ","
	case zone[len(zone)-1] == 'Z':
		return nil
	case zone[1:3] >= "24":
		e.Message = ": timezone hour out of range"
	case zone[4:] >= "60":
		e.Message = ": timezone minute out of range"
	default:
		return nil
	}
	return e
}

// method hands the value at i to the variable's own method.
func (d *decoder) method(p *plan, to pointer, i int) int {
	next := d.skip(i)
	if next < 0 {
		return next
	}
	v, item := reflect.NewAt(p.typ, to), d.input[i:next:next]
	var err error
	switch {
	case p.op == opUnmarshaler:
		d.calls++
		err = notUnsupported(v.Interface().(json.Unmarshaler).UnmarshalJSON(item), "UnmarshalJSON")
	case p.op == opFrom:
		d.calls++
		err = d.unmarshalFrom(v.Interface(), p.rules, item, i)
	case item[0] == 'n':
		p.null(to)
	case item[0] != '"':
		return d.misfit(p.typ, i, next, behind, errNoString)
	default:
		d.calls++
		text, _ := unquote(item)
		err = notUnsupported(v.Interface().(encoding.TextUnmarshaler).UnmarshalText(text), "UnmarshalText")
	}
	if err != nil {
		return d.fail(p, err, i, next)
	}
	return next
}

var errNoString = errors.New("JSON value must be string type")

// notUnsupported replaces an error that has a meaning for UnmarshalJSONFrom alone.
func notUnsupported(err error, method string) error {
	if err != nil && errors.Is(err, errors.ErrUnsupported) {
		return errors.New(method + " method may not return errors.ErrUnsupported")
	}
	return err
}

// unquoteAll is a text that is a string of JSON by version 2, without quotes and escapes.
func unquoteAll(text string) (string, bool) {
	d := decoder{scanner: scanner{data: bytesOf(text)}, input: bytesOf(text), strict: true}
	if d.peek(0) != '"' || d.skip(0) != len(text) {
		return "", false
	}
	out, ok := unquote(d.input)
	return string(out), ok
}
