// SPDX-License-Identifier: Apache-2.0

// Package store is what the sink demands of a place that objects are written to.
//
// # Model
//
// A [Store] holds objects under keys. An object is a sequence of bytes, with an [About] that says
// which records it holds. An object appears whole or not at all, and a later one replaces it whole.
// Packages below this one implement Store: dirstore for a directory, s3store for S3 and what speaks
// its protocol, gcsstore for Google Cloud Storage, memstore for tests. Package open finds the
// implementation that a URL names.
//
// # Failures
//
// A Store does not retry. [Retry] wraps any Store and does, so that back-off, deadline and metrics
// are the same everywhere. An implementation marks the errors that no attempt can cure by
// [Permanent].
//
// # Writing another Store
//
// [CheckPut], [CheckKey], [NewReader], [Split], [Copy], [Verified], [About.Metadata] and
// [ParseMetadata] do what all implementations have in common. Package storetest is the suite that
// an implementation must pass; sink/examples/filestore is one.
package store

import (
	"context"
	"errors"
	"io"
	"iter"
)

// A Store holds objects under keys. All methods may be called by several goroutines at once.
//
// A method returns an error that wraps ctx's soon after ctx is done. Errors that may pass (a
// refused connection, status 429 or 503) are retried by Retry, which wraps any Store.
// Implementations mark the others by Permanent.
//
// Put, Get and Delete refuse a key that CheckKey refuses.
type Store interface {
	// Put writes an object and replaces an earlier one of that key atomically: readers see the old
	// object or the new one, whole, and never a part. After Put has returned nil, the object
	// survives a crash of the process and of the machine, as far as the store promises that. If Put
	// fails, the key has its old object or, if the failure came late, the new one; nothing else
	// remains that costs money or disk space. If the bytes do not have the body's checksum, the key
	// keeps its old object, and the error wraps ErrChecksum. Put does not read the body after it
	// has returned, in a failure either: its memory may be freed.
	Put(ctx context.Context, key string, body Body, about About) error

	// Get opens an object. The error wraps ErrNotFound if there is none. The bytes are those of
	// Put: a Content-Encoding is not undone. When ctx is done, reading fails. Close must be called.
	Get(ctx context.Context, key string) (io.ReadCloser, Info, error)

	// List yields the objects whose keys begin with prefix, in the keys' order as bytes, with what
	// Put was told About them. The prefix may end within a name. After an error List yields nothing
	// more. An object that is put or deleted meanwhile may be listed or not.
	List(ctx context.Context, prefix string) iter.Seq2[Info, error]

	// Delete removes an object. There is no error if there is none.
	Delete(ctx context.Context, key string) error

	// Check finds out whether objects can be written and read, without leaving one, and says in its
	// error what to do.
	Check(ctx context.Context) error

	// String names the place for people, without secrets: "s3://bucket/prefix at host".
	String() string

	// Close releases what the store holds. No other method may be called afterwards.
	Close() error
}

// Body is the content of an object: bytes of known length that can be read again from any place, so
// that an attempt can be repeated and parts can be sent at once. It stays valid until Put has
// returned.
type Body interface {
	io.ReaderAt
	Size() int64
	// CRC32C is the checksum by the Castagnoli polynomial.
	CRC32C() uint32
}

// About is what the store keeps beside an object, so that inspect need not read it. Names in the
// store's metadata are the lower-case names in brackets, with "freehold-" in front; see
// [About.Metadata].
type About struct {
	ContentType     string
	ContentEncoding string // of the whole object: "gzip", "zstd" or ""

	Topic       string // [topic]
	Partition   int32  // [partition]
	Group       string // [group] the path of values by which records are divided, "" if they are not
	FirstOffset int64  // [first] of the first record in the object
	LastOffset  int64  // [last] of the last one
	Records     int64  // [records]
	InputBytes  int64  // [bytes] of the records
	EpochFirst  int64  // [epoch] the offset from which the epoch of the object was counted: all objects of one epoch have it; or NoEpoch
	EpochNext   int64  // [next] the offset that was committed after the epoch; without one, where the object ended
	Format      string // [format] with its version and that of the compressor, for those who compare bytes
}

// NoEpoch is About.EpochFirst of an object that ended by itself, and not with all of its partition.
const NoEpoch = -1

// Info describes an object that is in the store.
type Info struct {
	Key    string
	Size   int64
	CRC32C uint32 // 0 if HasCRC is false
	HasCRC bool
	// About is what Put was told. HasAbout is false for an object that the sink did not write, or
	// whose metadata is lost.
	About    About
	HasAbout bool
}

// ErrNotFound says that there is no object of that key.
var ErrNotFound = errors.New("no such object")
