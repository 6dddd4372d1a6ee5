// SPDX-License-Identifier: Apache-2.0

// Package encode writes records as the content of objects: lines, JSON Lines, length-prefixed, CSV, Parquet, Avro.
//
// Package encodetest checks any implementation.
package encode

import (
	"errors"
	"fmt"
	"io"

	"github.com/freehold-go/freehold/sink/record"
)

// A Format makes the encoders of one configuration. Its methods may be called by several goroutines at once.
//
// The bytes of an object must be a function of the configuration and of the records alone: no clock, no chance, no order of a map.
// This is what makes an object that is written twice the same object.
type Format interface {
	// Name is the format with the version of its layout, as it stands in the metadata of objects: "lines/1".
	Name() string
	// Extension goes to the end of keys, before the compressor's: ".jsonl".
	Extension() string
	ContentType() string
	// Refuse returns ErrSkip or a *record.Bad for a record that the configuration wants in no object because of what it is, whatever its group: a
	// tombstone. The sink asks before it looks for the record's group.
	Refuse(r *record.Record) error
	// Compresses reports whether the format compresses within (Parquet, Avro). Then the sink does not compress its output.
	Compresses() bool
	// Begin starts an object. All output goes to w, at the latest when the encoder ends. The size of the writes means nothing.
	Begin(w io.Writer) (Encoder, error)
}

// A BySchema is a format whose objects have the layout of a schema: all records of an object have the same record.Schema.
type BySchema interface {
	Format
	// BySchema reports whether the configuration makes such objects.
	BySchema() bool
}

// An Encoder writes the records of one object. It serves one goroutine at a time.
type Encoder interface {
	// Append writes a record that Refuse did not refuse. If the error is a *record.Bad, the record is not in the object, which is as it was before; after any
	// other error the object is lost. Append keeps nothing of the record but copies.
	Append(r *record.Record) error
	// End writes what is left. Nothing is called afterwards but Free.
	End() error
	// Held is the number of bytes that the encoder holds besides what it has written. It counts as memory in flight.
	Held() int64
	// Free gives up the encoder's memory, whether End was called or not. It is called once.
	Free()
}

// ErrSkip says that the configuration leaves a record out of objects: a tombstone. The sink counts such records and goes on behind them.
var ErrSkip = errors.New("the configuration leaves the record out")

// Tombstones say what becomes of records without a value.
type Tombstones string

// The choices for tombstones.
const (
	BadTombstones   Tombstones = "bad"   // They are bad records. This is the default.
	SkipTombstones  Tombstones = "skip"  // They are left out: Refuse returns ErrSkip.
	WriteTombstones Tombstones = "write" // They are written as the format can.
)

var errTombstone = &record.Bad{Err: errors.New("the record has no value (a tombstone)")}

// Check says in its error which choices there are.
func (t Tombstones) Check() error {
	switch t {
	case "", BadTombstones, SkipTombstones, WriteTombstones:
		return nil
	}
	return fmt.Errorf("tombstones %q: choose bad, skip or write", string(t))
}

// Refuse implements Format.
func (t Tombstones) Refuse(r *record.Record) error {
	switch {
	case r.Value != nil || t == WriteTombstones:
		return nil
	case t == SkipTombstones:
		return ErrSkip
	}
	return errTombstone
}
