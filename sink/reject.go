// SPDX-License-Identifier: Apache-2.0

package sink

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/freehold-go/freehold/sink/partition/objectkey"
	"github.com/freehold-go/freehold/sink/record"
)

// reject does with a record that cannot be written what Options.Bad says. It returns the object that has the record now, nil if none has.
func (e *epoch) reject(ctx context.Context, r *record.Record, bad *record.Bad) (*object, error) {
	s := e.shared
	if r.Value == nil && !strings.Contains(bad.Error(), "tombstone") {
		// What it lacks follows from that.
		bad = record.Badf("the record is a tombstone, which has no value: %w", bad)
	}
	if s.o.Bad == StopAtBad {
		return nil, fmt.Errorf("the record at offset %d cannot be written: %w; choose another way for bad records (bad_records.action), or commit the offset %d for the group to leave it out",
			r.Offset, bad, r.Offset+1)
	}
	s.stats.rejected.Add(1)
	s.o.Logger.Warn("record rejected", "topic", r.Topic, "partition", r.Partition, "offset", r.Offset, "reason", bad)
	rejected := *r
	rejected.Headers = append(slices.Clip(r.Headers), record.Header{Key: RejectReason, Value: []byte(bad.Error())})
	if s.o.Bad == RejectToTopic {
		rejected.Headers = append(rejected.Headers,
			record.Header{Key: RejectTopic, Value: []byte(r.Topic)},
			record.Header{Key: RejectPartition, Value: strconv.AppendInt(nil, int64(r.Partition), 10)},
			record.Header{Key: RejectOffset, Value: strconv.AppendInt(nil, r.Offset, 10)})
		if err := s.o.DeadLetters.Send(ctx, &rejected); err != nil {
			return nil, fmt.Errorf("sending the record at offset %d to the dead-letter topic: %w", r.Offset, err)
		}
		return nil, nil
	}
	if e.rejects == nil {
		key := s.o.RejectKey.Append(nil, objectkey.Object{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset})
		var err error
		if e.rejects, err = e.open(string(key), "", s.o.RejectFormat, r.Offset); err != nil {
			return nil, err
		}
	}
	if err := e.rejects.append(&rejected); err != nil {
		return nil, fmt.Errorf("the record at offset %d can be written neither as it should nor as a rejected one: %w", r.Offset, err)
	}
	return e.rejects, nil
}
