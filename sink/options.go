// SPDX-License-Identifier: Apache-2.0

package sink

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"time"

	"github.com/freehold-go/freehold/sink/block"
	"github.com/freehold-go/freehold/sink/compress"
	"github.com/freehold-go/freehold/sink/encode"
	"github.com/freehold-go/freehold/sink/partition"
	"github.com/freehold-go/freehold/sink/partition/objectkey"
	"github.com/freehold-go/freehold/sink/record"
	"github.com/freehold-go/freehold/sink/store"
)

// Options say what a sink writes, and where to. Store, Format, Codec, Key, Rotation and Budget are needed.
type Options struct {
	Store    store.Store
	Format   encode.Format
	Codec    compress.Codec
	Key      *objectkey.Template // of objects' keys; their extension is part of it
	Rotation Rotation
	Budget   *block.Budget // of records and objects in flight

	// Partitioner divides the records of a topic's partition into groups. Without one they go to one object after another.
	Partitioner partition.Partitioner

	// Values prepares the values of records before they are divided and encoded. nil leaves them as they are.
	Values Values

	// Bad says what happens to a record that cannot be written.
	Bad BadRecords
	// RejectFormat and RejectKey are the format and the keys of the objects for Bad: RejectToObjects.
	RejectFormat encode.Format
	RejectKey    *objectkey.Template
	// DeadLetters takes the records for Bad: RejectToTopic.
	DeadLetters DeadLetters

	// MemberBytes is how much of an object's content is compressed as one member. 0 is compress.DefaultMember.
	MemberBytes int
	// OpenBytes is how much content of a partition's open objects may wait for its member to be full; then the largest part is compressed as it is.
	// It bounds the memory of many open objects: of 1,000, each has a few KiB. 0 is 4 MiB.
	OpenBytes int64
	// Spill is where the content of open objects goes if all memory is in them. Without it the largest epoch ends early. The objects have the same bytes with it.
	Spill *block.SpillDir
	// Compressors is the number of goroutines that compress, 0 that of Go's processors. Uploads is the number of objects that
	// are written to the store at once, 0 is 8.
	Compressors, Uploads int

	// FlushOnStop ends the open epochs of a partition when the sink stops or gives the partition up, so that its records are stored
	// earlier. Without it they are read again by whoever has the partition next. It is a boundary by the clock.
	FlushOnStop bool
	// StopTimeout is how long Run waits, once its context has ended, for objects that are being stored. What is not committed then
	// is read again. 0 is 5 s.
	StopTimeout time.Duration

	Logger *slog.Logger // nil discards

	now func() time.Time
}

// BadRecords says what happens to a record that cannot be written.
type BadRecords int

const (
	// StopAtBad ends Run with an error that names the record. Nothing behind it is committed.
	StopAtBad BadRecords = iota
	// RejectToObjects writes such records to objects of their own, with the header RejectReason.
	RejectToObjects
	// RejectToTopic sends them to Options.DeadLetters, with the headers RejectReason, RejectTopic, RejectPartition and RejectOffset.
	RejectToTopic
)

// Values prepares the values of records: schema.Values does. Its methods may be called by several goroutines at once.
type Values interface {
	// Prepare changes the value of a copy of a record. A *record.Bad makes the record bad; it is rejected as it came. Another error ends
	// the sink. Prepare may wait for something that it needs, until ctx ends; then it returns an error. It keeps nothing of the record.
	//
	// The new value must be a function of the record, as far as objects are to be written exactly once.
	Prepare(ctx context.Context, r *record.Record) error
}

// Extension is what the keys of objects end with: ".jsonl.gz".
func Extension(f encode.Format, c compress.Codec) string {
	if f.Compresses() {
		return f.Extension()
	}
	return f.Extension() + c.Extension
}

// Headers of rejected records.
const (
	RejectReason    = "freehold-reason"
	RejectTopic     = "freehold-topic"
	RejectPartition = "freehold-partition"
	RejectOffset    = "freehold-offset"
)

// DeadLetters takes records that cannot be written.
type DeadLetters interface {
	// Send takes a record. It copies what it keeps.
	Send(ctx context.Context, r *record.Record) error
	// Flush waits until all records that were sent before are durable. The offsets behind them are committed afterwards.
	Flush(ctx context.Context) error
}

// bySchema reports whether the objects of the format have one schema each.
func (o *Options) bySchema() bool {
	f, ok := o.Format.(encode.BySchema)
	return ok && f.BySchema()
}

// CheckRotation checks Rotation, with Format. New does it, too.
func (o *Options) CheckRotation() error {
	if o.Rotation.Independent && o.bySchema() { // The state of groups does not know of schemas.
		return errors.New("groups cannot end by themselves if the objects of the format have one schema each, as columns of messages do")
	}
	return o.Rotation.check()
}

// complete checks the options and sets what is not set.
func (o *Options) complete() error {
	switch {
	case o.Store == nil:
		return errors.New("Options.Store is nil")
	case o.Format == nil:
		return errors.New("Options.Format is nil")
	case o.Codec.Name == "":
		return errors.New("Options.Codec is not set; use compress.Parse")
	case o.Key == nil:
		return errors.New("Options.Key is nil")
	case o.Budget == nil:
		return errors.New("Options.Budget is nil")
	case o.Bad == RejectToObjects && (o.RejectFormat == nil || o.RejectKey == nil):
		return errors.New("Options.Bad is RejectToObjects, but RejectFormat or RejectKey is nil")
	case o.Bad == RejectToTopic && o.DeadLetters == nil:
		return errors.New("Options.Bad is RejectToTopic, but DeadLetters is nil")
	}
	if err := o.CheckRotation(); err != nil {
		return err
	}
	set := func(n *int, to int) {
		if *n <= 0 {
			*n = to
		}
	}
	set(&o.MemberBytes, compress.DefaultMember)
	set(&o.Compressors, runtime.GOMAXPROCS(0))
	set(&o.Uploads, 8)
	if o.Rotation.Independent && o.Rotation.Behind == 0 {
		o.Rotation.Behind = defaultBehind
	}
	if o.OpenBytes <= 0 {
		o.OpenBytes = 4 << 20
	}
	if o.StopTimeout <= 0 {
		o.StopTimeout = 5 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.now == nil {
		o.now = time.Now
	}
	return nil
}
