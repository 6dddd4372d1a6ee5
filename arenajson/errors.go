// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
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
// UnmarshalText it is the type before any pointer was followed.
func (d *decoder) typeInError(p *plan, i int) reflect.Type {
	if p.op == opText {
		if _, _, outer := d.place(i); outer != nil {
			return outer
		}
	}
	return p.typ
}

// place is where the decoder is when it is at i: the innermost struct, the names of the fields that lead there, and the
// type of the variable, as far as they are known. Only errors need them, so the input is read again up to i.
func (d *decoder) place(i int) (in reflect.Type, path []string, outer reflect.Type) {
	w := walker{scanner: scanner{data: d.input, depth: maxDepth}}
	frames := append([]frame{{d.root, d.start}}, d.frames...)
	for k, f := range frames {
		w.target = i
		if k+1 < len(frames) {
			w.target = frames[k+1].at
		}
		if w.outer = nil; k == 0 && w.target == f.at {
			w.outer = d.into
		} else if k == 0 || f.at != i {
			w.walk(f.plan, f.at)
		}
	}
	return w.in, w.path, w.outer
}

// A walker follows a document to the value at target.
type walker struct {
	scanner
	target int
	in     reflect.Type
	path   []string
	outer  reflect.Type
}

func (w *walker) walk(p *plan, i int) {
	outer := p
	for p.op == opPointer {
		p = p.elem
	}
	if i == w.target {
		w.outer = outer.typ
		return
	}
	op := p.op
	if op == opText {
		op = p.base
	}
	switch {
	case w.peek(i) == '[' && (op == opSlice || op == opArray || op == opBytes):
		w.member(i, func(_, value int) { w.walk(p.elem, value) })
	case w.peek(i) == '{' && op == opMap:
		w.member(i, func(_, value int) {
			if w.target >= value {
				w.walk(p.elem, value)
			}
		})
	case w.peek(i) == '{' && op == opStruct:
		w.member(i, func(name, value int) { w.field(p, name, value) })
	}
}

// member calls f for the element of the array, or the member of the object, at i that target lies in: with where it
// begins, and where its value does.
func (w *walker) member(i int, f func(begin, value int)) {
	object := w.data[i] == '{'
	for {
		i = w.space(i + 1)
		begin := i
		if object {
			if i = w.skipText(i + 1); i < 0 {
				return
			}
			if i = w.colon(i); i < 0 {
				return
			}
		}
		end := w.skip(i)
		if end < 0 || w.target < end {
			f(begin, i)
			return
		}
		if i = w.space(end); w.peek(i) != ',' {
			return
		}
	}
}

// field goes on with the member of a struct's object whose name and value begin there.
func (w *walker) field(p *plan, begin, value int) {
	name, ok := unquote(w.data[begin:w.skipText(begin+1)])
	at := p.object.names.find(p.object.fields, name)
	if !ok || at < 0 || w.target < value {
		return
	}
	f := &p.object.fields[at]
	w.in, w.path = p.typ, append(append(w.path, f.path...), f.name)
	w.walk(f.plan, value)
}

// report is the error that the caller gets for the document.
func (d *decoder) report() error {
	switch {
	case !d.stopped || d.err != errSyntax && d.err != errDepth:
		return d.err
	case d.err == errDepth && d.opts.MaxDepth > 0 && d.opts.MaxDepth < maxDepth:
		return fmt.Errorf("arenajson: arrays and objects are nested more than %d deep; Options.MaxDepth allows more", d.opts.MaxDepth)
	}
	var v json.RawMessage
	if err := json.Unmarshal(d.input, &v); err != nil {
		return err
	}
	return fmt.Errorf("%w, although encoding/json takes it: please report it with the input", d.err)
}
