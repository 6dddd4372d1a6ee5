// SPDX-License-Identifier: Apache-2.0

package sink

import (
	"errors"
	"time"

	"github.com/freehold-go/freehold/sink/record"
)

// Rotation says where an epoch ends, or, with Independent, an object. The first boundary that is reached counts; zero is no boundary. The first three depend on the
// records alone. The others depend on the clock, see "Exactly once".
type Rotation struct {
	// Records is the number of records of the partition in an epoch, those that were rejected or skipped included.
	Records int64
	// Bytes of input: an epoch ends with the record whose key, value and headers reach it. Compression does not count, so that another compressor
	// changes no boundary.
	Bytes int64
	// Span is the time between the timestamps of the first record and of a record that begins the next epoch.
	Span time.Duration

	// Age is the time by the clock since the epoch's first record came.
	Age time.Duration
	// Every ends epochs at multiples of this time of day in UTC: an hour ends them at each full hour.
	Every time.Duration

	// Independent lets each group's object end by itself: the boundaries look at the records of one object. So many groups do not make small
	// objects. The committed offset is that of the oldest record in an open object.
	Independent bool
	// Behind ends an object when a record comes so many offsets behind its first one, with Independent. It bounds how much is read again after a restart. 0
	// is 1,000,000.
	Behind int64
}

// defaultBehind is Rotation.Behind, if that is 0.
const defaultBehind = 1_000_000

// Deterministic reports whether the boundaries depend on the records alone.
func (r Rotation) Deterministic() bool { return r.Age == 0 && r.Every == 0 }

func (r Rotation) check() error {
	if r.Records < 0 || r.Bytes < 0 || r.Span < 0 || r.Age < 0 || r.Every < 0 || r.Behind < 0 {
		return errors.New("a boundary of Rotation is negative; 0 means none")
	}
	if r.Behind > 0 && !r.Independent {
		return errors.New("Rotation has Behind without Independent")
	}
	if r.Records == 0 && r.Bytes == 0 && r.Span == 0 && r.Age == 0 && r.Every == 0 {
		return errors.New("Rotation has no boundary, so no object would ever be finished; set Records, Bytes or Span")
	}
	return nil
}

// extent is what a rotation looks at: the records of an epoch so far.
type extent struct {
	records, bytes int64
	first          int64     // timestamp of the first record, in milliseconds
	began          time.Time // when the first record came
}

// add counts a record.
func (e *extent) add(r *record.Record, now func() time.Time) {
	if e.records == 0 {
		e.first, e.began = r.Timestamp, now()
	}
	e.records++
	e.bytes += int64(r.Size())
}

// before reports whether the epoch ends before a record.
func (r Rotation) before(e *extent, next *record.Record) bool {
	return r.Span > 0 && e.records > 0 && next.Timestamp >= 0 && e.first >= 0 && next.Timestamp-e.first >= r.Span.Milliseconds()
}

// after reports whether the epoch ends after the records that it has.
func (r Rotation) after(e *extent) bool {
	return r.Records > 0 && e.records >= r.Records || r.Bytes > 0 && e.bytes >= r.Bytes
}

// deadline is the time at which the clock ends the epoch, or zero.
func (r Rotation) deadline(e *extent) time.Time {
	var at time.Time
	if e.records == 0 {
		return at
	}
	if r.Age > 0 {
		at = e.began.Add(r.Age)
	}
	if r.Every > 0 {
		if next := e.began.Truncate(r.Every).Add(r.Every); at.IsZero() || next.Before(at) {
			at = next
		}
	}
	return at
}
