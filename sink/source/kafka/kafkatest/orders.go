// SPDX-License-Identifier: Apache-2.0

package kafkatest

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freehold-go/freehold/sink/internal/orders"
)

// Orders makes a topic with n events of a shop, JSON of some 1.5 KB. Event i goes to partition i modulo partitions. The events are the same each time.
func Orders(ctx context.Context, brokers []string, topic string, partitions, n int) error {
	return LargeOrders(ctx, brokers, topic, partitions, n, 0)
}

// LargeOrders is Orders, but if size is not 0, the event in the middle of each partition has so many bytes, which can be compressed to half at best.
func LargeOrders(ctx context.Context, brokers []string, topic string, partitions, n, size int) error {
	client, err := NewProducer(brokers)
	if err != nil {
		return fmt.Errorf("kafkatest: %w", err)
	}
	defer client.Close()
	largest := fmt.Sprint(size + 1<<20)
	if _, err := kadm.NewClient(client).CreateTopic(ctx, int32(partitions), -1, map[string]*string{"max.message.bytes": &largest}, topic); err != nil {
		return fmt.Errorf("kafkatest: making the topic %s: %w", topic, err)
	}
	middle := 0
	if size > 0 {
		middle = n / partitions / 2 * partitions
	}
	g := orders.New(1)
	events := func(from, to int) iter.Seq[*kgo.Record] {
		return func(yield func(*kgo.Record) bool) {
			for i := from; i < to; i++ {
				r := &kgo.Record{Topic: topic, Partition: int32(i % partitions), Key: g.AppendKey(nil, i), Value: g.AppendValue(nil, i), Timestamp: time.UnixMilli(orders.Time(i)),
					Headers: []kgo.RecordHeader{{Key: "trace", Value: fmt.Appendf(nil, "%016x", i)}}}
				if !yield(r) {
					return
				}
			}
		}
	}
	err = Produce(ctx, client, events(0, middle))
	if err == nil && size > 0 {
		err = produceLarge(ctx, brokers, topic, partitions, size)
		middle += partitions
	}
	if err == nil {
		err = Produce(ctx, client, events(middle, n))
	}
	if err != nil {
		return fmt.Errorf("kafkatest: filling the topic %s: %w", topic, err)
	}
	return nil
}

// produceLarge writes a large value to each partition, by a client of its own: the batches of the others are to be small.
func produceLarge(ctx context.Context, brokers []string, topic string, partitions, size int) error {
	client, err := NewProducer(brokers, kgo.ProducerBatchMaxBytes(int32(size+1<<20)))
	if err != nil {
		return err
	}
	defer client.Close()
	for p := range partitions {
		if err := client.ProduceSync(ctx, &kgo.Record{Topic: topic, Partition: int32(p), Value: large(p, size)}).FirstErr(); err != nil {
			return err
		}
	}
	return nil
}

// large is a JSON value of some bytes. Hexadecimal digits of chance are compressed to half.
func large(i, size int) []byte {
	noise := make([]byte, size/2)
	rand.NewChaCha8([32]byte{byte(i)}).Read(noise)
	return fmt.Appendf(nil, `{"event_type":"large","text":"%x"}`, noise)
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
