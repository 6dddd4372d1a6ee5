// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freehold-go/freehold/sink"
	"github.com/freehold-go/freehold/sink/config"
	"github.com/freehold-go/freehold/sink/encode"
	"github.com/freehold-go/freehold/sink/record"
	"github.com/freehold-go/freehold/sink/replay"
	"github.com/freehold-go/freehold/sink/source/kafka"
	"github.com/freehold-go/freehold/sink/store"
)

// ReplayOptions are the options of Replay.
type ReplayOptions struct {
	From, To       string // the topic that the objects are of, and the one that records are sent to
	Rejected       bool   // replay the objects of rejected records, without the reason
	KeepPartitions bool   // send records to the partition of the same number; by default the key chooses it
	FromOffset     int64
	ToOffset       int64  // 0 is no bound
	After          string // key of the last object that an earlier replay has sent whole
}

// between says in words which epochs a replay leaves out.
func between(o ReplayOptions) string {
	switch {
	case o.FromOffset > 0 && o.ToOffset > 0:
		return fmt.Sprintf(" from offset %d to %d", o.FromOffset, o.ToOffset)
	case o.FromOffset > 0:
		return fmt.Sprintf(" from offset %d on", o.FromOffset)
	case o.ToOffset > 0:
		return fmt.Sprintf(" before offset %d", o.ToOffset)
	}
	return ""
}

// Replay sends the records of objects to a topic, and reports to w. Each object's records are acknowledged by all replicas before the next object
// is read. If it fails, the error says how to go on; the records of one object may then be in the topic twice.
func Replay(ctx context.Context, w io.Writer, c config.Config, o ReplayOptions) error {
	if o.From == "" || o.To == "" || o.From == o.To {
		return errors.New("replay needs the topic of the objects and another one that records are sent to")
	}
	made, err := options(c)
	if err != nil {
		return err
	}
	f := c.Objects.Format
	r := replay.Options{Topic: o.From, Rejected: o.Rejected, From: o.FromOffset, To: o.ToOffset, After: o.After}
	r.Format = encode.JSONLinesOptions{Envelope: f.Envelope, Key: f.Key, Value: f.Value, Tombstones: encode.Tombstones(f.Tombstones)}
	key := made.Key
	if o.Rejected {
		if c.Bad.Action != "objects" {
			return errors.New("bad_records.action is not objects, so there are no objects of rejected records")
		}
		key = made.RejectKey
	}
	r.Prefix = string(key.Prefix(nil, o.From))
	if r.Store, err = openStore(ctx, c.Store, func(store.Attempt) {}); err != nil {
		return err
	}
	defer r.Store.Close()
	target := c
	target.Kafka.Topics = []string{o.To}
	if _, err := ask(ctx, target); err != nil {
		return err
	}
	connect, err := client(c.Kafka)
	if err != nil {
		return err
	}
	if o.KeepPartitions {
		connect = append(connect, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	}
	p, err := kafka.NewProducer(c.Kafka.Brokers, o.To, connect...)
	if err != nil {
		return err
	}
	defer p.Close()
	send := func(r *record.Record) error {
		if n := len(r.Headers); o.Rejected && n > 0 && r.Headers[n-1].Key == sink.RejectReason {
			r.Headers = r.Headers[:n-1] // The sink has put it there.
		}
		return p.Send(ctx, r)
	}
	done, err := replay.Run(ctx, r, send, func() error { return p.Flush(ctx) })
	if err == nil && done.Objects == 0 && o.After == "" {
		return fmt.Errorf("%v has no objects of the topic %s under %q%s; freehold-sink inspect lists what there is", r.Store, o.From, r.Prefix, between(o))
	}
	fmt.Fprintf(w, "%d records of %d objects were sent to %s\n", done.Records, done.Objects, o.To)
	if done.Foreign > 0 {
		fmt.Fprintf(w, "%d objects under the same prefix were not written by freehold-sink, or lack its metadata\n", done.Foreign)
	}
	if err != nil && done.Last != "" {
		return fmt.Errorf("%w; to go on behind the last whole object, add -after %q", err, done.Last)
	}
	return err
}
