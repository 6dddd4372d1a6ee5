// SPDX-License-Identifier: Apache-2.0

package kafkatest

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freehold-go/freehold/sink/internal/orders"
)

// Orders makes a topic with n events of a shop, JSON of some 1.5 KB. Event i goes to partition i modulo partitions. The events are the same each time.
func Orders(ctx context.Context, brokers []string, topic string, partitions, n int) error {
	client, err := NewProducer(brokers)
	if err != nil {
		return fmt.Errorf("kafkatest: %w", err)
	}
	defer client.Close()
	if _, err := kadm.NewClient(client).CreateTopic(ctx, int32(partitions), -1, nil, topic); err != nil {
		return fmt.Errorf("kafkatest: making the topic %s: %w", topic, err)
	}
	g := orders.New(1)
	err = Produce(ctx, client, func(yield func(*kgo.Record) bool) {
		for i := range n {
			r := &kgo.Record{Topic: topic, Partition: int32(i % partitions), Key: g.AppendKey(nil, i), Value: g.AppendValue(nil, i), Timestamp: time.UnixMilli(orders.Time(i)),
				Headers: []kgo.RecordHeader{{Key: "trace", Value: fmt.Appendf(nil, "%016x", i)}}}
			if !yield(r) {
				return
			}
		}
	})
	if err != nil {
		return fmt.Errorf("kafkatest: filling the topic %s: %w", topic, err)
	}
	return nil
}

// NewProducer makes a client that writes many records to the partitions that they name, in batches compressed by lz4.
func NewProducer(brokers []string, opts ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(brokers...), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.Lz4Compression()),
		kgo.ProducerLinger(20 * time.Millisecond), kgo.MaxBufferedRecords(50_000)}, opts...)...)
}

// Produce writes records, and waits until all of them are acknowledged. The error is the first record's.
func Produce(ctx context.Context, client *kgo.Client, records iter.Seq[*kgo.Record]) error {
	var failed atomic.Pointer[error]
	for r := range records {
		client.Produce(ctx, r, func(_ *kgo.Record, err error) {
			if err != nil {
				failed.CompareAndSwap(nil, &err)
			}
		})
	}
	if err := client.Flush(ctx); err != nil {
		return err
	}
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}
