// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"sync"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// Unmarshal decodes a document into a new T in a. T and all that it leads to lie in a, and are valid as long as a's
// values are. With a nil a they lie on the Go heap, in memory that belongs to this document alone.
//
// The meaning of the document is that of [json.Unmarshal] in Go 1.27, and so are the errors: a *[json.SyntaxError] if the input is
// no JSON, a *[json.UnmarshalTypeError] if a value does not fit its variable. A value that does not fit, and an error of a method,
// do not end decoding: the result has all other values. After errors that do end decoding the result is nil. If a limit of a
// refuses memory, the error wraps [offheap.ErrLimit]. All memory that a decoding took stays in a until a is reset.
//
// The input is copied to a once, and strings are parts of the copy. The caller may change the input afterwards, unless
// [Options.AliasInput] is set.
func Unmarshal[T any](a *arena.Arena, data []byte, o ...Options) (*T, error) {
	v, err, _ := unmarshal[T](a, data, o)
	return v, err
}

// unmarshal is Unmarshal that says what the error is about.
func unmarshal[T any](a *arena.Arena, data []byte, o []Options) (v *T, err error, c cause) {
	d, err := newDecoder(a, data, o)
	if err != nil {
		return nil, err, ofLimits
	}
	p := d.planFor(reflect.TypeFor[T]())
	to := d.new(p.mem)
	if to != nil && (!p.foreign || d.opts.V2 || d.wellFormed()) {
		d.document(p, reflect.TypeFor[*T](), to)
	}
	err, c, stopped := d.end()
	if stopped {
		return nil, err, c
	}
	// SAFETY: to is a new T.
	return unsafex.As[T](to), err, c
}

// unmarshalLine is unmarshal for a line of a stream, which may be no document. If the result is false, the line must be
// decoded in another way. So this calls no methods of the program, which could tell that they are called again: all that it
// leaves is values in a. There is at most one Options.
func unmarshalLine[T any](d *decoder, a *arena.Arena, line []byte, o []Options) (v *T, err error, c cause, ok bool) {
	d.begin(a, line, o)
	p := d.planFor(reflect.TypeFor[T]())
	if !p.foreign {
		if to := d.new(p.mem); to != nil {
			d.document(p, reflect.TypeFor[*T](), to)
			// SAFETY: to is a new T.
			v = unsafex.As[T](to)
		}
	}
	if ok = !p.foreign && !d.stopped; ok && d.err != nil {
		err, c = d.report()
	}
	d.clear()
	return v, err, c, ok
}

// UnmarshalInto decodes a document into *v, as [json.Unmarshal] does: what is there is kept where the document
// does not mention it. New values lie in a. v must be a pointer that is not nil; it may lie anywhere. If the input is
// no JSON, *v does not change; with [Options.V2] it has what was decoded up to the error.
func UnmarshalInto(a *arena.Arena, data []byte, v any, o ...Options) error {
	rv := reflect.ValueOf(v)
	if rv.Kind() != reflect.Pointer || rv.IsNil() {
		return badTarget(v, len(o) == 1 && o[0].V2)
	}
	d, err := newDecoder(a, data, o)
	if err != nil {
		return err
	}
	p := d.planFor(rv.Type().Elem())
	fresh := rv.Elem().IsZero()
	if d.opts.V2 || fresh && !p.foreign || d.wellFormed() {
		d.document(p, rv.Type(), rv.UnsafePointer())
	}
	if fresh && !d.opts.V2 && d.stopped && (d.err == errSyntax || d.err == errDepth) {
		rv.Elem().SetZero()
	}
	err, _, _ = d.end()
	return err
}

// unmarshalFresh is UnmarshalInto for a zero *v and a text that may be no document. If the result is false, *v is zero, and the text
// must be decoded in another way. So this calls no methods of the program, which could tell that they are called again.
func unmarshalFresh(a *arena.Arena, text []byte, v any, o []Options) (err error, ok bool) {
	rv := reflect.ValueOf(v)
	if rv.Kind() != reflect.Pointer || rv.IsNil() || !rv.Elem().IsZero() || len(o) > 1 {
		return nil, false
	}
	d, err := newDecoder(a, text, o)
	if err != nil {
		return nil, false
	}
	if p := d.planFor(rv.Type().Elem()); !p.foreign {
		d.document(p, rv.Type(), rv.UnsafePointer())
		if ok = !d.stopped; !ok {
			rv.Elem().SetZero()
		} else if d.err != nil {
			err, _ = d.report()
		}
	}
	d.clear()
	decoders.Put(d)
	return err, ok
}

// decoders have scratch memory that the next document can use.
var decoders = sync.Pool{New: func() any { return &decoder{scratch: scratch{slabs: new(arena.UnsafeSlabs)}} }}

// newDecoder is one for a document.
func newDecoder(a *arena.Arena, data []byte, o []Options) (*decoder, error) {
	if len(o) > 1 {
		return nil, fmt.Errorf("arenajson: %d Options; there can be one", len(o))
	}
	a.Round() // Panics if a was freed: a document need not take memory.
	d := decoders.Get().(*decoder)
	d.begin(a, data, o)
	return d, nil
}

// begin prepares a decoder for a document. There is at most one Options.
func (d *decoder) begin(a *arena.Arena, data []byte, o []Options) {
	d.a, d.input, d.rules, d.strict = a, data, version1, false
	if len(o) == 1 {
		if d.opts = o[0]; d.opts.V2 {
			d.rules, d.strict = version2, true
		}
	}
	if d.depth = d.opts.MaxDepth; d.depth <= 0 || d.depth > maxDepth {
		d.depth = maxDepth
	}
}

// planFor is the plan of a type for the version that the options choose.
func (d *decoder) planFor(t reflect.Type) *plan {
	if k := (planKey{t, d.rules}); k != d.last || d.lastPlan == nil {
		d.last, d.lastPlan = k, nil
		d.lastPlan = planFor(k)
	}
	return d.lastPlan
}

// padding is how many zeros stand behind a copy of the input, so that its last bytes are read as a word, too.
const padding = 8

// copyInput makes the input ready to be decoded: unless it may be aliased, a copy of it. A zero is no part of any value and no
// white space, so no value goes on in the padding.
func (d *decoder) copyInput() bool {
	d.data = d.input
	n := len(d.input)
	if d.opts.AliasInput || n == 0 {
		return true
	}
	b := d.bytes(n + padding)
	if b == nil {
		return false
	}
	binary.LittleEndian.PutUint64(b[copy(b, d.input):], 0)
	d.data, d.own = b, true
	return true
}

// ends reports whether the document, whose last value ends at i, has nothing else but white space.
func (d *decoder) ends(i int) bool { return d.space(i) == len(d.input) }

// document decodes all of the input into a variable.
func (d *decoder) document(p *plan, into reflect.Type, to pointer) {
	d.into = into
	if !d.copyInput() {
		return
	}
	d.start = d.space(0)
	if i := d.value(p, to, d.start); i >= 0 && !d.ends(i) {
		d.syntax()
	}
}

// wellFormed reports whether the input is JSON.
func (d *decoder) wellFormed() bool {
	d.data = d.input
	depth := d.depth
	if i := d.skip(d.space(0)); i >= 0 && !d.ends(i) {
		d.syntax()
	}
	d.depth = depth
	return !d.stopped
}

// end is the document's error, what it is about, and whether it ended decoding. It leaves the decoder to the next document.
func (d *decoder) end() (err error, c cause, stopped bool) {
	if stopped = d.stopped; d.err != nil {
		err, c = d.report()
	}
	d.clear()
	decoders.Put(d)
	return err, c, stopped
}

// clear makes the decoder ready for the next document. It clears the fields one by one: to copy a decoder costs as much as to
// decode a few members.
func (d *decoder) clear() {
	if d.a == nil {
		d.slabs.End()
	}
	d.data, d.err, d.stopped = nil, nil, false // The next document is mostly indented as this one was.
	d.input, d.own, d.a, d.opts = nil, false, nil, Options{}
	d.into, d.frames, d.whole = nil, nil, 0
	d.calls, d.misfits = 0, 0
	if d.used() {
		d.scratch.tidy()
	}
}

// used reports whether a document may have left something in the scratch memory.
func (s *scratch) used() bool {
	return s.made|len(s.names.sets)|cap(s.stack.items)|cap(s.values.items)|cap(s.members.items) != 0
}

// tidy leaves nothing of a document in s, and not too much memory.
func (s *scratch) tidy() {
	if s.made > mostEntries {
		s.entries, s.made = nil, 0
	}
	if len(s.names.sets) > 0 {
		s.names = s.names.emptied()
	}
	s.stack, s.values, s.members = s.stack.emptied(), s.values.emptied(), s.members.emptied()
}

const mostEntries = 1 << 8 // Kept for the next document.
