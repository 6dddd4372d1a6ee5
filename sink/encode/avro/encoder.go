// SPDX-License-Identifier: Apache-2.0

package avro

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/twmb/avro"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/arenajson"
	"github.com/freehold-go/freehold/sink/record"
)

// An encoder gathers data in a block, and writes the block when it is full.
type encoder struct {
	f     *format
	out   io.Writer
	block []byte
	count int64
	begun bool
	sync  [16]byte
	arena *arena.Arena // Of the values that are being encoded, if there is a schema.
	text  []byte       // JSON that was made of a value
}

func (e *encoder) Append(r *record.Record) error {
	before := len(e.block)
	if err := e.datum(r); err != nil {
		e.block = e.block[:before]
		return err
	}
	if !e.begun {
		if err := e.begin(r); err != nil {
			return err
		}
	}
	// A datum that does not fit goes to a block of its own, so that the size of blocks depends on the data alone.
	if len(e.block) > e.f.o.Block && before > 0 {
		if err := e.write(e.block[:before], e.count); err != nil {
			return err
		}
		e.block, e.count = append(e.block[:0], e.block[before:]...), 0
	}
	e.count++
	if len(e.block) >= e.f.o.Block {
		return e.flush()
	}
	return nil
}

// datum appends a record to the block.
func (e *encoder) datum(r *record.Record) error {
	if e.f.o.Schema == "" {
		return e.envelope(r)
	}
	if r.Value == nil {
		return e.encode(e.f.schema, nil)
	}
	if e.arena == nil {
		e.arena = arena.NewArena()
	}
	var v any
	defer e.arena.Reset(arena.KeepUpTo(1 << 20))
	value, schema := r.Payload(), e.f.schema
	if r.Schema != nil {
		schema = e.f.ofMessages
		var err error
		if e.text, err = r.Schema.AppendJSON(e.text[:0], r.Payload()); err != nil {
			return err
		}
		value = e.text
	}
	if err := arenajson.UnmarshalInto(e.arena, value, &v, arenajson.Options{UseNumber: true}); err != nil {
		return record.Badf("the value is no JSON: %w", err)
	}
	return e.encode(schema, v)
}

// encode appends a datum of the schema.
func (e *encoder) encode(schema *avro.Schema, v any) error {
	if e.f.shape != nil && !e.f.shape.has(v) {
		return errUnknown
	}
	block, err := schema.AppendEncode(e.block, v)
	if err != nil {
		return &record.Bad{Err: errors.New("the value does not fit the schema")}
	}
	e.block = block
	return nil
}

var errUnknown = &record.Bad{Err: errors.New("the value has a field that the schema does not have")}

var errNoText = &record.Bad{Err: errors.New("a key or value that should be a string is not UTF-8")}

// envelope appends a record by the schema of envelopeSchema.
func (e *encoder) envelope(r *record.Record) error {
	for _, name := range e.f.o.Envelope {
		switch name {
		case "topic":
			e.bytes([]byte(r.Topic))
		case "partition":
			e.long(int64(r.Partition))
		case "offset":
			e.long(r.Offset)
		case "timestamp":
			if r.Timestamp < 0 {
				e.long(0)
			} else {
				e.long(1)
				e.long(r.Timestamp)
			}
		case "key":
			e.optional(r.Key)
		case "value":
			if e.f.o.Text && !utf8.Valid(r.Value) {
				return errNoText
			}
			e.optional(r.Value)
		case "headers":
			if len(r.Headers) > 0 {
				e.long(int64(len(r.Headers)))
			}
			for _, h := range r.Headers {
				if !utf8.ValidString(h.Key) {
					return errNoText
				}
				e.long(int64(len(h.Key)))
				e.block = append(e.block, h.Key...)
				e.optional(h.Value)
			}
			e.long(0) // No more blocks of the array.
		}
	}
	return nil
}

func (e *encoder) long(n int64) { e.block = binary.AppendVarint(e.block, n) }

func (e *encoder) bytes(p []byte) {
	e.long(int64(len(p)))
	e.block = append(e.block, p...)
}

// optional appends a union of null and bytes.
func (e *encoder) optional(p []byte) {
	if p == nil {
		e.long(0)
		return
	}
	e.long(1)
	e.bytes(p)
}

// begin writes the header of the object whose first record is r.
func (e *encoder) begin(r *record.Record) error {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%d\n%d", e.f.text, r.Topic, r.Partition, r.Offset))
	e.begun = true
	copy(e.sync[:], sum[:])
	header := []byte("Obj\x01")
	header = binary.AppendVarint(header, 2)
	for _, text := range []string{"avro.schema", e.f.text, "avro.codec", e.f.codecs.name} {
		header = append(binary.AppendVarint(header, int64(len(text))), text...)
	}
	header = append(header, 0)
	_, err := e.out.Write(append(header, e.sync[:]...))
	return err
}

func (e *encoder) flush() error {
	err := e.write(e.block, e.count)
	e.block, e.count = e.block[:0], 0
	if cap(e.block) > 4*e.f.o.Block {
		e.block = nil // After a large datum.
	}
	return err
}

// write writes a block.
func (e *encoder) write(data []byte, count int64) error {
	body, err := e.f.codecs.compress(data)
	if err != nil {
		return err
	}
	defer e.f.codecs.release(body)
	var head [2 * binary.MaxVarintLen64]byte
	n := binary.PutVarint(head[:], count)
	n += binary.PutVarint(head[n:], int64(len(body.out)))
	for _, p := range [][]byte{head[:n], body.out, e.sync[:]} {
		if _, err := e.out.Write(p); err != nil {
			return err
		}
	}
	return nil
}

func (e *encoder) End() error {
	if !e.begun {
		if err := e.begin(&record.Record{}); err != nil {
			return err
		}
	}
	if e.count == 0 {
		return nil
	}
	return e.flush()
}

func (e *encoder) Held() int64 { return int64(cap(e.block) + cap(e.text)) }

func (e *encoder) Free() {
	e.block, e.text = nil, nil
	if e.arena != nil {
		e.arena.Free()
	}
}
