// SPDX-License-Identifier: Apache-2.0

// Package sourcetest is the conformance suite for implementations of source.Source.
//
// # Use
//
// An implementation is right if this test passes, with the race detector, too:
//
//	func TestConformance(t *testing.T) {
//		sourcetest.Suite{Open: func(t *testing.T, partitions int) sourcetest.Log { return newMine(t, partitions) }}.Run(t)
//	}
//
// # What it checks
//
// Records come complete, in the order of their offsets, with positions behind them, after their partition was assigned; their bytes stay what they are until they
// are released, in whichever order and goroutine; nothing is handed out while Ready waits; the handler's methods are called one at a time for each partition; a member goes on
// where the group has committed, and is told the metadata; several goroutines may commit; members that come and leave share the partitions, never own one at the same time, and may
// commit while they give one up; Run ends with its context, and Close leaves the group.
//
// What only a broken connection or a lost session shows, it cannot check: that Lost is called, and that Commit fails with source.ErrNotOwned.
package sourcetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/freehold-go/freehold/sink/record"
	"github.com/freehold-go/freehold/sink/source"
)

// A Log is a topic, and the group of those that read it.
type Log interface {
	// Topic is its name.
	Topic() string
	// Write appends records to a partition and returns when they can be read. Only Timestamp, Key, Value and Headers are set.
	Write(t *testing.T, partition int32, records []record.Record)
	// Member returns a source that reads the topic as a member of the group, from the start if the group has committed nothing. The suite closes it.
	Member(t *testing.T) source.Source
}

// Suite is the suite with its settings.
type Suite struct {
	// Open makes a topic without records.
	Open func(t *testing.T, partitions int) Log

	// Alone is for sources that cannot share a topic.
	Alone bool

	// Values is for sources whose records have values alone, which are lines of text: neither keys nor headers nor timestamps.
	Values bool
}

// patience is how long something may take that is to happen soon.
const patience = 5 * time.Minute

// made are the records of a partition from an offset on.
func (s Suite) made(partition int32, from, n int) []record.Record {
	records := make([]record.Record, n)
	for j := range records {
		i := from + j
		r := &records[j]
		r.Value = fmt.Appendf(nil, "%d/%d %s", partition, i, strings.Repeat("x", i*i%700))
		if s.Values {
			continue
		}
		r.Timestamp = int64(1_700_000_000_000 + i)
		r.Key = fmt.Appendf(nil, "k%d", i)
		r.Headers = []record.Header{{Key: "h", Value: fmt.Appendf(nil, "%d", i)}, {Key: "h", Value: []byte{0, 0xff}}}
		switch i % 9 {
		case 3:
			r.Key, r.Headers = nil, nil
		case 5:
			r.Value = nil
		case 7:
			r.Key, r.Value = []byte{}, []byte{}
		case 8:
			r.Headers = []record.Header{{Key: "", Value: nil}}
		}
	}
	return records
}

// differ says where a record is not what was written.
func (s Suite) differ(got, want *record.Record) string {
	same := func(a, b []byte) bool { return string(a) == string(b) && (a == nil) == (b == nil) }
	switch {
	case !same(got.Value, want.Value):
		return fmt.Sprintf("the value is %.60q, want %.60q", got.Value, want.Value)
	case s.Values:
		return ""
	case !same(got.Key, want.Key):
		return fmt.Sprintf("the key is %q, want %q", got.Key, want.Key)
	case got.Timestamp != want.Timestamp:
		return fmt.Sprintf("the timestamp is %d, want %d", got.Timestamp, want.Timestamp)
	case len(got.Headers) != len(want.Headers):
		return fmt.Sprintf("there are %d headers, want %d", len(got.Headers), len(want.Headers))
	}
	for i, h := range got.Headers {
		if w := want.Headers[i]; h.Key != w.Key || !same(h.Value, w.Value) {
			return fmt.Sprintf("header %d is %q: %q, want %q: %q", i, h.Key, h.Value, w.Key, w.Value)
		}
	}
	return ""
}
