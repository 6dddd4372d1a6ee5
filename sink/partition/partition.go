// SPDX-License-Identifier: Apache-2.0

// Package partition divides records into groups by their time, a field, a header or their key.
//
// The records of a topic's partition that have one group go to one object after another. The group is the path of the object in the store, as
// "dt=2026-01-31/hour=15/type=order". Package objectkey makes the rest of the key. Package partitiontest checks any implementation of
// Partitioner.
//
// Values that come from records are escaped, so that none leaves its place in the path: see AppendEscaped. A group is a function of the
// record: none of the partitioners here looks at a clock. Their methods may be called by several goroutines at once and allocate
// nothing on the Go heap, but for the reason of a bad record.
package partition

import "github.com/freehold-go/freehold/sink/record"

// A Partitioner divides the records of a topic's partition into groups. Records of one group go to one object after another. Its
// methods may be called by several goroutines at once.
//
// The group must be a function of the configuration and of the record alone: no clock and no chance.
type Partitioner interface {
	// Group appends the path of a record's group to dst: "dt=2026-01-31/type=order", or nothing. The path has no slash at its ends, no
	// empty name, none that is "." or "..", no control characters, at most MaxGroup bytes, and is UTF-8. The error is a *record.Bad if the
	// record has no group; then the result is dst as it was. Group keeps nothing of the record. It changes nothing in it, except that a partitioner that
	// has checked the value may set CheckedJSON.
	Group(dst []byte, r *record.Record) ([]byte, error)
}

// MaxGroup is the number of bytes that a group may have. Keys of objects may have 1,024 in most stores.
const MaxGroup = 512

// None makes one group, with the empty path, of all records.
func None() Partitioner { return none{} }

type none struct{}

func (none) Group(dst []byte, _ *record.Record) ([]byte, error) { return dst, nil }

// IsNone reports whether p is known to make one group of all records.
func IsNone(p Partitioner) bool {
	_, ok := p.(none)
	return ok
}

// appendName appends "name=", or nothing if the name is empty.
func appendName(dst []byte, name string) []byte {
	if name == "" {
		return dst
	}
	return append(append(dst, name...), '=')
}
