// SPDX-License-Identifier: Apache-2.0

package encode

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/freehold-go/freehold/sink/record"
)

// Newlines say what becomes of a value that has a line feed where a format has one value a line.
type Newlines string

// The choices for line feeds.
const (
	BadNewlines   Newlines = "bad"   // The record is bad. This is the default.
	SpaceNewlines Newlines = "space" // Each becomes a space.
	KeepNewlines  Newlines = "keep"  // They stay: readers see several lines.
)

// LinesOptions are the options of Lines.
type LinesOptions struct {
	Newlines   Newlines
	Tombstones Tombstones // Written as an empty line, like an empty value.
}

// Lines is the format of values with a line feed behind each. It writes values to the object as they are, without a copy.
func Lines(o LinesOptions) (Format, error) {
	var err error
	switch o.Newlines {
	case "", BadNewlines, SpaceNewlines, KeepNewlines:
	default:
		err = fmt.Errorf("newlines %q: choose bad, space or keep", string(o.Newlines))
	}
	if err = errors.Join(err, o.Tombstones.Check()); err != nil {
		return nil, fmt.Errorf("the format lines: %w", err)
	}
	return lines{o.Tombstones, o}, nil
}

type lines struct {
	Tombstones
	o LinesOptions
}

func (lines) Name() string                         { return "lines/1" }
func (lines) Extension() string                    { return ".txt" }
func (lines) ContentType() string                  { return "text/plain; charset=utf-8" }
func (lines) Compresses() bool                     { return false }
func (f lines) Begin(w io.Writer) (Encoder, error) { return &lineEncoder{out: w, o: f.o}, nil }

// direct is the part of an encoder that holds nothing.
type direct struct{}

func (direct) End() error  { return nil }
func (direct) Held() int64 { return 0 }
func (direct) Free()       {}

type lineEncoder struct {
	direct
	out io.Writer
	o   LinesOptions
}

var (
	newline     = []byte{'\n'}
	blank       = []byte{' '}
	errNewlines = &record.Bad{Err: errors.New("the value has a line feed, and the format has one value a line")}
)

func (e *lineEncoder) Append(r *record.Record) error {
	rest := r.Value
	if e.o.Newlines != KeepNewlines {
		for {
			i := bytes.IndexByte(rest, '\n')
			if i < 0 {
				break
			}
			if e.o.Newlines != SpaceNewlines {
				return errNewlines
			}
			if err := write(e.out, rest[:i], blank); err != nil {
				return err
			}
			rest = rest[i+1:]
		}
	}
	return write(e.out, rest, newline)
}

// write writes two slices.
func write(w io.Writer, a, b []byte) error {
	if len(a) > 0 {
		if _, err := w.Write(a); err != nil {
			return err
		}
	}
	_, err := w.Write(b)
	return err
}

// DelimitedOptions are the options of Delimited.
type DelimitedOptions struct {
	// Length is how the length stands in front of a value: "varint", as Protocol Buffers write streams of messages, which is the default, or
	// "uint32", four bytes with the highest first.
	Length     string
	Tombstones Tombstones // Written with the length 0, like an empty value.
}

// Delimited is the format of values with the length of each in front. It takes any bytes.
func Delimited(o DelimitedOptions) (Format, error) {
	var err error
	switch o.Length {
	case "":
		o.Length = "varint"
	case "varint", "uint32":
	default:
		err = fmt.Errorf("the length %q: choose varint or uint32", o.Length)
	}
	if err = errors.Join(err, o.Tombstones.Check()); err != nil {
		return nil, fmt.Errorf("the format delimited: %w", err)
	}
	return delimited{o.Tombstones, o}, nil
}

type delimited struct {
	Tombstones
	o DelimitedOptions
}

func (f delimited) Name() string                       { return "delimited-" + f.o.Length + "/1" }
func (delimited) Extension() string                    { return ".bin" }
func (delimited) ContentType() string                  { return "application/octet-stream" }
func (delimited) Compresses() bool                     { return false }
func (f delimited) Begin(w io.Writer) (Encoder, error) { return &delimitedEncoder{out: w, o: f.o}, nil }

type delimitedEncoder struct {
	direct
	out    io.Writer
	o      DelimitedOptions
	length [binary.MaxVarintLen64]byte
}

func (e *delimitedEncoder) Append(r *record.Record) error {
	n := 4
	if e.o.Length == "varint" {
		n = binary.PutUvarint(e.length[:], uint64(len(r.Value)))
	} else {
		if uint64(len(r.Value)) > math.MaxUint32 {
			return record.Badf("a value of %d bytes; its length must fit into 32 bits", len(r.Value))
		}
		binary.BigEndian.PutUint32(e.length[:], uint32(len(r.Value)))
	}
	if len(r.Value) == 0 {
		return write(e.out, nil, e.length[:n])
	}
	return write(e.out, e.length[:n], r.Value)
}
