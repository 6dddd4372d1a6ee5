// SPDX-License-Identifier: Apache-2.0

// Package source is what the sink demands of a place that records come from.
//
// Package kafka below it implements it, and sink/examples/filesource is another one. Package sourcetest is the suite that an implementation must pass.
package source

import (
	"context"
	"errors"

	"github.com/freehold-go/freehold/sink/record"
)

// Partition is a partition of a topic.
type Partition struct {
	Topic  string
	Number int32
}

// Position is a place in a partition that is committed: all records before Next are durable elsewhere.
type Position struct {
	Next     int64
	Epoch    int32  // the leader's epoch of the record before, -1 if it is not known
	Metadata string // kept beside the offset by the broker
}

// A Source hands out the records of the partitions that this process owns, in the order of their offsets.
type Source interface {
	// Run fetches until ctx is done or the source fails for good, and calls the handler. It is called once.
	Run(ctx context.Context, h Handler) error

	// Commit says that records before the positions are durable. It returns when the broker has acknowledged all positions,
	// and an error if it refused any; ErrNotOwned among its causes means that this process lost a partition. It may be called by several goroutines
	// at once, for different partitions.
	Commit(ctx context.Context, positions map[Partition]Position) error

	// Close leaves the group, after Run has returned, or without it. It gives up all partitions, whether or not it calls Revoked.
	Close() error
}

// A Handler is told what to do with partitions and their records. A source calls one method at a time for each partition.
type Handler interface {
	// Assigned says that this process owns a partition now. Batches come after Assigned has returned, from the committed position on.
	Assigned(p Partition)

	// Committed says what the group has committed of a partition, with its metadata, after Assigned and before the first Batch. A source
	// whose broker has nothing does not call it.
	Committed(p Partition, at Position)

	// Ready waits until more records are welcome, or ctx is done. A source calls it before each fetch. That is how memory stays
	// bounded: a source holds at most the records of one fetch from each broker that the handler has not got.
	Ready(ctx context.Context) error

	// Batch takes records of a partition in the order of their offsets, and does not wait. Next is the position behind them, which may lie beyond the last record's
	// successor. The handler calls release once, when it needs the records and their bytes no longer, in Batch or later,
	// from any goroutine.
	Batch(p Partition, records []record.Record, next Position, release func())

	// Revoked says that the process gives a partition up. Until Revoked returns, no other process has it, and its position may be
	// committed; afterwards it may not. Ctx ends when the group would wait no longer.
	Revoked(ctx context.Context, p Partition)

	// Lost says that another process may have the partition already. Nothing of it may be written or committed.
	Lost(p Partition)
}

// ErrNotOwned says that this process does not own a partition any more.
var ErrNotOwned = errors.New("the partition belongs to another member of the group now")
