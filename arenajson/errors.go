// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// fail ends decoding with an error of a value's own method, at i.
func (d *decoder) fail(err error, i int) int {
	if !d.stopped {
		d.err, d.stopped, d.failed = d.explained(err, i), true, true
	}
	return -1
}

// save notes an error of the value at i. The first one is reported when all is decoded.
func (d *decoder) save(err error, i int) {
	if d.err == nil {
		d.err = d.explained(err, i)
	}
}

// explained adds to an error of type where in the Go values it is.
func (d *decoder) explained(err error, i int) error {
	e, ok := err.(*json.UnmarshalTypeError)
	if !ok {
		return err
	}
	in, path, _ := d.place(i)
	if in == nil {
		return err
	}
	e.Struct = in.Name()
	if e.Field != "" {
		path = append(path, e.Field)
	}
	e.Field = strings.Join(path, ".")
	return e
}

// typeInError is the type that encoding/json names in an error about the value at i, which has plan p: for types with
// UnmarshalText it is the type before any pointer was followed. Only the first error needs it.
func (d *decoder) typeInError(p *plan, i int) reflect.Type {
	if p.op == opText && d.err == nil {
		if _, _, outer := d.place(i); outer != nil {
			return outer
		}
	}
	return p.typ
}

// place is where the decoder is when it is at i: the innermost struct, the names of the fields that lead there, and the
// type of the variable, as far as they are known. Only errors need them, so the input is read again up to i.
func (d *decoder) place(i int) (in reflect.Type, path []string, outer reflect.Type) {
	w := walker{scanner: scanner{data: d.input}, outer: d.into}
	frames := append([]frame{{plan: d.root, at: d.start}}, d.frames...)
	for k, f := range frames {
		if k > 0 && f.at == i { // The variable is the interface, or what the caller gave.
			break
		}
		target := i
		if k+1 < len(frames) {
			target = frames[k+1].at
		}
		if k > 0 || target != f.at {
			w.outer = nil
			w.walk(f.plan, f.at, target)
		}
	}
	return w.in, w.path, w.outer
}

// A walker follows a document to a value.
type walker struct {
	scanner
	in    reflect.Type
	path  []string
	outer reflect.Type
}

// A level is an array or object that a place in a document lies in.
type level struct {
	open  byte // '[' or '{'.
	name  int  // Of an object: where the name of the member begins.
	value bool // The place is the member's value or in it, not its name.
}

// levels are the arrays and objects around target, the outermost first, in the value that begins at i. The input is
// read once.
func (w *walker) levels(i, target int) []level {
	var all []level
	for i >= 0 && i < target {
		c := w.data[i]
		i++
		switch c {
		case '[', '{':
			all = append(all, level{open: c, value: c == '['})
			continue
		case '"':
			if n := len(all); n > 0 && !all[n-1].value {
				all[n-1].name = i - 1
			}
			i = w.skipText(i)
			continue
		}
		n := len(all)
		if n == 0 {
			continue
		}
		switch c {
		case ']', '}':
			all = all[:n-1]
		case ',':
			all[n-1].value = all[n-1].open == '['
		case ':':
			all[n-1].value = true
		}
	}
	return all
}

// walk goes from the variable with plan p, whose value begins at i, to the one at target.
func (w *walker) walk(p *plan, i, target int) {
	outer := p
	for _, l := range w.levels(i, target) {
		for p.op == opPointer {
			p = p.elem
		}
		op := p.op
		if op == opText {
			op = p.base
		}
		switch {
		case !l.value:
			return
		case l.open == '[' && (op == opSlice || op == opArray || op == opBytes), l.open == '{' && (op == opMap || op == opArenaMap):
			p = p.elem
		case l.open == '{' && op == opStruct:
			if p = w.field(p, l.name); p == nil {
				return
			}
		default:
			return
		}
		outer = p
	}
	w.outer = outer.typ
}

// field notes the field whose name begins at an index, and returns its plan, or nil if there is none.
func (w *walker) field(p *plan, begin int) *plan {
	end := w.skipText(begin + 1)
	if end < 0 {
		return nil
	}
	name, ok := unquote(w.data[begin:end])
	at := p.object.names.find(p.object.fields, name)
	if !ok || at < 0 {
		return nil
	}
	f := &p.object.fields[at]
	w.in, w.path = p.typ, append(append(w.path, f.path...), f.name)
	return f.plan
}

// report is the error that the caller gets for the document.
func (d *decoder) report() error {
	switch {
	case !d.stopped || d.err != errSyntax && d.err != errDepth:
		return d.err
	case d.err == errDepth && d.opts.MaxDepth > 0 && d.opts.MaxDepth < maxDepth:
		return fmt.Errorf("arenajson: arrays and objects are nested more than %d deep; Options.MaxDepth allows more", d.opts.MaxDepth)
	}
	// Of a copy: encoding/json panics if another goroutine changes what it reads.
	var v json.RawMessage
	if err := json.Unmarshal(bytes.Clone(d.input), &v); err != nil {
		return err
	}
	return fmt.Errorf("%w, although encoding/json takes it: please report it with the input", d.err)
}
