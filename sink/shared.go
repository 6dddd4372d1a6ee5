// SPDX-License-Identifier: Apache-2.0

package sink

import (
	"context"

	"golang.org/x/sync/semaphore"

	"github.com/freehold-go/freehold/sink/block"
	"github.com/freehold-go/freehold/sink/record"
	"github.com/freehold-go/freehold/sink/source"
)

// shared is what the writers of a Sink share.
type shared struct {
	o           Options
	bySchema    bool // whether all records of an object have one schema
	stats       counters
	work        *work
	queued      *block.Budget // counts the bytes of records that wait for their writers
	compressors *compressors  // nil if content is not compressed
	uploads     *semaphore.Weighted
	source      source.Source

	ctx    context.Context // ends when all must be given up
	cancel context.CancelCauseFunc
}

// batch is records that the source has handed out.
type batch struct {
	records []record.Record
	next    source.Position
	bytes   int64
	release func()

	committed *source.Position // not nil: what was committed before the first record, and there are none
}

// end gives a batch back to the source.
func (s *shared) end(b batch) {
	b.release()
	s.o.Budget.Count(-b.bytes)
	s.queued.Count(-b.bytes)
	s.work.less()
}
