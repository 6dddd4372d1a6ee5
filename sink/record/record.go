// SPDX-License-Identifier: Apache-2.0

// Package record has the one type that all parts of the sink pass along: a message of a topic.
package record

import "fmt"

// Record is a message of a topic. Its bytes belong to whoever handed it out, and are valid until the call that received it
// returns. They usually lie outside the Go heap: keep a copy, not the slice.
type Record struct {
	Topic     string
	Partition int32
	Offset    int64
	// LeaderEpoch is the epoch of the partition's leader that took the message, -1 if it is not known.
	LeaderEpoch int32

	// Timestamp is in milliseconds since 1970, and negative if the message has none. It is the producer's time, or, with
	// AppendTime, the broker's.
	Timestamp  int64
	AppendTime bool

	// Key and Value are nil if the message has none. A message without a value is a tombstone: it says that the key is deleted.
	// An empty key or value is not nil.
	Key, Value []byte

	Headers []Header

	// Schema says how to read Value if it is neither JSON nor text; otherwise it is nil. Equal schemas are the same value. Framed is the number of bytes at the
	// beginning of Value that are the framing of a schema registry. JSON, fields and what the schema describes are behind them. Sources leave both unset.
	Schema Schema
	Framed int

	// CheckedJSON says that the value behind its framing was found to be one JSON value. A partitioner that checks values sets it, so that a format
	// need not check them again. Sources leave it unset.
	CheckedJSON bool
}

// A Schema reads values that are neither JSON nor text. Its methods may be called by several goroutines at once.
type Schema interface {
	// AppendJSON appends a value as JSON, in one line. If the error is not nil, the result is dst as it was. A *Bad is the value's fault.
	AppendJSON(dst, value []byte) ([]byte, error)
	// AppendField appends the field at a path as JSON, or nothing if the value lacks it. Rest is the number of names at the path's end that lead on
	// within what was appended. It need not check what it does not read.
	AppendField(dst, value []byte, path []string) (result []byte, rest int, err error)
}

// Payload is the value without its framing. It is nil if the record has no value.
func (r *Record) Payload() []byte {
	if r.Value == nil {
		return nil
	}
	return r.Value[r.Framed:]
}

// Header is a header of a message. A key may come several times. Value is nil if the header has none.
type Header struct {
	Key   string
	Value []byte
}

// Size is the number of bytes of the key, the value and the headers. Limits of input bytes count it.
func (r *Record) Size() int {
	n := len(r.Key) + len(r.Value)
	for i := range r.Headers {
		n += len(r.Headers[i].Key) + len(r.Headers[i].Value)
	}
	return n
}

// Bad is the error of a message that cannot be written as the configuration demands: a value that is no JSON, a missing field,
// a timestamp that is out of range. Another error of the same call means that the sink itself failed.
// What happens to such a message is the configuration's choice (bad_records), and never that it is dropped in silence.
type Bad struct {
	Err error // the reason for people, with no part of the message's content
}

// Error is the reason.
func (b *Bad) Error() string { return b.Err.Error() }

// Unwrap is the reason as an error.
func (b *Bad) Unwrap() error { return b.Err }

// Badf is fmt.Errorf for a Bad.
func Badf(format string, args ...any) *Bad { return &Bad{fmt.Errorf(format, args...)} }
