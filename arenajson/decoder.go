// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"

	"github.com/freehold-go/freehold/arena"
)

// A Decoder decodes the values of a stream, as [json.Decoder] does, into an arena. All values lie in the arena until it
// is reset or rewound, which the caller does; [Each] and [EachElement] do so for every value, and are faster for arrays.
//
// A value that has a line to itself is read once, if *v is zero and no methods of the program decode it. Other values are read
// two or three times: to find their end, to see that they are JSON before *v changes, and to decode them. A Decoder that has met a line
// with anything but one value looks for no more lines: the attempt has taken memory of the arena.
//
// A Decoder serves one goroutine at a time.
type Decoder struct {
	a    *arena.Arena
	opts []Options
	s    stream
	done int64 // Where the last value ended.

	// Tokens, and all that is not a sequence of values, are encoding/json's: std has the rest of the stream then,
	// which begins at base.
	std  *json.Decoder
	base int64
}

// NewDecoder makes a Decoder for the values in r. It may read further than to the end of a value. [Options.AliasInput] has
// no meaning here.
func NewDecoder(a *arena.Arena, r io.Reader, o ...Options) *Decoder {
	d := &Decoder{}
	d.Reset(a, r, o...)
	return d
}

// Reset makes d a new Decoder, which keeps the buffer.
func (d *Decoder) Reset(a *arena.Arena, r io.Reader, o ...Options) {
	a.Round() // Panics if a was freed: the stream may have no values.
	*d = Decoder{a: a, opts: copied(slices.Clone(o)), s: stream{r: r, buf: d.s.buf[:0]}}
}

// Decode decodes the next value into *v, as [UnmarshalInto] does. At the end of the stream the error is io.EOF. After an
// error of syntax or of the reader, all later calls return it, too.
func (d *Decoder) Decode(v any) error {
	if d.std == nil {
		if err, ok := d.decodeNext(v); ok {
			return err
		}
		if len(d.opts) == 1 && d.opts[0].V2 && d.s.at < len(d.s.buf) {
			if err := d.s.failed(nil, d.opts); err != nil {
				return err
			}
		}
		d.handOver()
	}
	in := into{d: d, v: v}
	if err := d.std.Decode(&in); !in.found {
		return moved(err, d.base)
	}
	return in.err // Its offset counts from where the value begins, as encoding/json's does.
}

// decodeNext decodes the next value, if that is all that is left of its line, or else if it is as long as its brackets and quotes
// say and its end shows. If the result is false, encoding/json must decode it: nothing was read, and *v has not changed.
func (d *Decoder) decodeNext(v any) (err error, ok bool) {
	if _, ok := d.s.peek(); !ok {
		return nil, false
	}
	if line := bytes.TrimRight(d.s.line(), " \t\r"); len(line) > 0 { // A comma may stand behind the blanks.
		if err, ok = d.decode(line, v); ok {
			d.s.took(line)
			d.done = d.s.position()
			return err, true
		}
		d.s.misses = mostMisses // What the line has taken of the arena is lost. So there is only one.
	}
	text, err := d.s.value()
	if n := len(text); err == nil && (d.s.at < len(d.s.buf) || text[n-1] == '}' || text[n-1] == ']' || text[n-1] == '"') {
		if err, ok = d.decode(text, v); ok {
			d.done = d.s.position()
			return err, true
		}
	}
	d.s.at -= len(text)
	return nil, false
}

// decode decodes text into *v. If it is not one value, the result is false, and *v has not changed.
func (d *Decoder) decode(text []byte, v any) (err error, ok bool) {
	if err, ok = unmarshalFresh(d.a, text, v, d.opts); ok {
		return err, true
	}
	if c := (scanner{data: text, depth: maxDepth}); c.skip(0) != len(text) {
		return nil, false
	}
	return UnmarshalInto(d.a, text, v, d.opts...), true
}

// into lets encoding/json find a value, and decodes it.
type into struct {
	d     *Decoder
	v     any
	found bool
	err   error
}

// UnmarshalJSON decodes the value that encoding/json has found.
func (i *into) UnmarshalJSON(text []byte) error {
	i.found = true
	i.err = UnmarshalInto(i.d.a, text, i.v, i.d.opts...)
	return nil
}

// handOver leaves the rest of the stream to encoding/json.
func (d *Decoder) handOver() {
	if d.std != nil {
		return
	}
	d.base = d.s.position()
	rest := io.Reader(bytes.NewReader(d.s.buf[d.s.at:]))
	if d.s.err == nil {
		rest = io.MultiReader(rest, d.s.r)
	} else if d.s.err != io.EOF {
		rest = io.MultiReader(rest, failing{d.s.err})
	}
	d.std = json.NewDecoder(rest)
	if len(d.opts) == 1 && d.opts[0].UseNumber {
		d.std.UseNumber()
	}
}

// Token is [json.Decoder.Token]. Its strings lie on the Go heap.
func (d *Decoder) Token() (json.Token, error) {
	d.handOver()
	t, err := d.std.Token()
	return t, moved(err, d.base)
}

// More is [json.Decoder.More].
func (d *Decoder) More() bool {
	d.handOver()
	more := d.std.More()
	if d.std.InputOffset() == 0 && d.s.at < len(d.s.buf) { // The next value begins at the first byte that encoding/json got.
		d.done = d.base
	}
	return more
}

// Buffered is the part of the stream that was read, but not decoded. It is valid until the next call of another method.
func (d *Decoder) Buffered() io.Reader {
	if d.std != nil {
		return d.std.Buffered()
	}
	return bytes.NewReader(d.s.buf[d.s.at:])
}

// InputOffset is how many bytes of the stream were decoded.
func (d *Decoder) InputOffset() int64 {
	if d.std != nil && d.std.InputOffset() > 0 {
		return d.base + d.std.InputOffset()
	}
	return d.done
}
