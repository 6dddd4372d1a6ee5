// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// A misfit is the error for a value that cannot become one of its variable's type. The caller gets a *json.UnmarshalTypeError for it by
// version 1, and what encoding/json/v2 has for it by version 2.
type misfit struct {
	typ     reflect.Type
	offset  int
	pointer string // To the value, in the document (RFC 6901).
	kind    byte   // The value's first byte, with '0' for every number. It is zero if the error is not about the value.
	text    string // The number, or the string in its quotes, if the error is about that.
	err     error  // The cause, or nil.
	method  bool   // err is that of a method.
}

func (m *misfit) Error() string { return "json: " + m.pointer } // Nobody sees it: report makes another error.

// where says what the offset of a misfit is, and what is known besides.
type where uint8

const (
	behind   where = 0 // By version 1 it is the end of the value, or of its bracket; by version 2 where the value begins.
	withText where = 1 // As behind, and the error is about the text.
	before   where = 2 // It is where the value begins. The error is about the variable.
	nowhere  where = 4 // With one of these: the error does not say where the value is.
)

// misfit notes that the value from i to next is none of a type. The first misfit is the document's error. By version 2 it ends decoding.
func (d *decoder) misfit(t reflect.Type, i, next int, w where, err error) int {
	if d.err != nil {
		return d.goOn(next)
	}
	m := &misfit{typ: t, offset: i, kind: d.input[i], err: err}
	if m.kind == '-' || m.kind-'0' <= 9 {
		m.kind = '0'
	}
	if w&withText != 0 && (m.kind == '0' || m.kind == '"') {
		m.text = string(d.input[i:next])
	}
	switch legacy := d.rules&goesOn != 0; {
	case w&nowhere != 0:
		m.offset = 0
	case w&before != 0 && !legacy:
		m.kind = 0
	case w&before == 0 && legacy:
		if m.offset = next; m.kind == '{' || m.kind == '[' {
			m.offset = i + 1
		}
	}
	if w&nowhere == 0 {
		m.pointer = d.path(i)
	}
	d.err = m
	return d.goOn(next)
}

// goOn is next, or ends decoding, as the version is.
func (d *decoder) goOn(next int) int {
	d.misfits++
	if d.rules&goesOn != 0 {
		return next
	}
	d.stopped = true
	return -1
}

// unfit notes that the value at i cannot be decoded into a variable, whatever it is. encoding/json/v2 does not look at the value, and
// names the object around a name.
func (d *decoder) unfit(p *plan, i int, err error) int {
	next := i
	if d.rules&goesOn != 0 || uint(i) >= uint(len(d.input)) {
		if next = d.skip(i); next < 0 {
			return next
		}
	}
	first := d.err == nil
	next = d.misfit(p.typ, i, next, before, err)
	if m, ok := d.err.(*misfit); ok && first {
		if p.rules&memberName != 0 {
			m.pointer = m.pointer[:strings.LastIndexByte(m.pointer, '/')]
		}
		if rest := d.input[i:]; p.rules&goesOn == 0 { // A comma may stand there by mistake.
			m.offset += len(rest) - len(bytes.TrimLeft(rest, " \t\r\n,:"))
		}
	}
	return next
}

// A failure is the error of a method that the caller gets as it is.
type failure struct{ error }

// fail notes the error of a value's own method about the value from i to next.
func (d *decoder) fail(p *plan, err error, i, next int) int {
	switch {
	case d.err != nil:
	case d.rules&goesOn != 0:
		if d.err = (&failure{err}); endsDecoding(err) {
			d.stopped = true
			return -1
		}
	case p.op != opUnmarshaler && isPlaced(err):
		d.err = &failure{err}
	default:
		d.misfit(p.typ, i, next, behind, err)
		d.err.(*misfit).method = true
	}
	return d.goOn(next)
}

// path is the JSON pointer to the value at i, or to that of the member whose name begins there. Only errors need it, so the input is read
// again up to i.
func (d *decoder) path(target int) string {
	type level struct {
		open  byte // '[' or '{'.
		index int  // Of an array's element.
		name  int  // Where a member's name begins.
	}
	s := scanner{data: d.input}
	var all []level
	for i := d.start; i >= 0 && i <= target; {
		c := s.peek(i)
		n := len(all)
		if c == '"' {
			if n > 0 && all[n-1].name < 0 {
				all[n-1].name = i
			}
			if i == target {
				break
			}
			i = s.skipText(i + 1)
			continue
		}
		if i++; i > target {
			break
		}
		switch c {
		case '[':
			all = append(all, level{open: c})
		case '{':
			all = append(all, level{open: c, name: -1})
		case ']', '}':
			all = all[:max(n-1, 0)]
		case ',':
			if n > 0 && all[n-1].open == '[' {
				all[n-1].index++
			} else if n > 0 {
				all[n-1].name = -1
			}
		}
	}
	var out strings.Builder
	for _, l := range all {
		out.WriteByte('/')
		if l.open == '[' {
			out.WriteString(strconv.Itoa(l.index))
		} else if end := s.skipText(l.name + 1); l.name >= 0 && end >= 0 {
			name, _ := unquote(d.input[l.name:end])
			out.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(string(name)))
		}
	}
	return out.String()
}

// lastName is the last name of a JSON pointer.
func lastName(pointer string) string {
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(pointer[strings.LastIndexByte(pointer, '/')+1:])
}

// errUnknown stands for a name that no field has.
var errUnknown = errors.New("unknown object member name")

var errNoInterface = errors.New("cannot derive concrete type for nil interface with finite type set")

var kindsInErrors = map[byte]string{'n': "null", '"': "string", '0': "number", 't': "bool", 'f': "bool", '[': "array", ']': "array", '{': "object"}

// typeError is the error of version 1. root is the type of the variable that the caller has given.
func (m *misfit) typeError(root reflect.Type) error {
	if m.err == errUnknown {
		return fmt.Errorf("json: unknown field %q", lastName(m.pointer))
	}
	e := &json.UnmarshalTypeError{Value: kindsInErrors[m.kind], Type: m.typ, Offset: int64(m.offset)}
	err := m.err
	if m.text != "" {
		text := m.text
		if k := m.typ.Kind(); (err == strconv.ErrRange || err == strconv.ErrSyntax) && reflect.Int <= k && k <= reflect.Float64 {
			if m.kind == '"' {
				inner, _ := unquote([]byte(text))
				text = string(inner)
			}
			e.Value, err = "number", nil
		}
		e.Value += " " + text
	}
	if m.pointer != "" && root != nil {
		e.Struct = root.Elem().Name()
		e.Field = strings.ReplaceAll(m.pointer[1:], "/", ".")
	}
	if err != errNoInterface {
		setCause(e, err)
	}
	return e
}

// A cause says what an error is about.
type cause uint8

const (
	none      cause = iota
	ofValue         // A misfit.
	ofMethod        // A method of a value has returned it.
	ofGrammar       // The input is no JSON.
	ofLimits        // All others: there is no memory, or the input is nested too deeply.
)

// report is the error that the caller gets for the document, which has one.
func (d *decoder) report() (error, cause) {
	switch e := d.err.(type) {
	case *failure:
		return methodError(e.error, d.into, d.rules), ofMethod
	case *misfit:
		c := ofValue
		if e.method {
			c = ofMethod
		}
		if d.rules&goesOn == 0 {
			return e.semantic(), c
		}
		return e.typeError(d.into), c
	}
	switch d.err {
	case errDepth:
		if d.opts.MaxDepth > 0 && d.opts.MaxDepth < maxDepth {
			return fmt.Errorf("arenajson: arrays and objects are nested more than %d deep; Options.MaxDepth allows more", d.opts.MaxDepth), ofLimits
		}
	case errSyntax, errText:
	default:
		return d.err, ofLimits
	}
	input := bytes.Clone(d.input) // encoding/json panics if another goroutine changes what it reads.
	if err := syntaxError(input, d.rules, d.whole); err != nil {
		return err, ofGrammar
	}
	return fmt.Errorf("%w, although encoding/json takes it: please report it with the input", d.err), ofLimits
}
