// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freehold-go/freehold/sink/record"
)

// DeadLetters sends records to a topic. Its methods may be called by several goroutines at once.
type DeadLetters struct {
	client *kgo.Client
	topic  string

	mu     sync.Mutex
	failed error // of a record that was sent and not flushed
}

// NewDeadLetters makes a producer for a topic, which must be there. Client has further options of the client: TLS, SASL.
func NewDeadLetters(brokers []string, topic string, client ...kgo.Opt) (*DeadLetters, error) {
	opts := append([]kgo.Opt{
		kgo.SeedBrokers(brokers...), kgo.ClientID("freehold-sink"), kgo.DefaultProduceTopic(topic),
		kgo.RequiredAcks(kgo.AllISRAcks()), kgo.ProducerBatchCompression(kgo.ZstdCompression(), kgo.NoCompression()),
		// No RecordDeliveryTimeout: the client counts it from a record's timestamp, which may be old. As long as the brokers do not answer, Flush waits.
	}, client...)
	c, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, fmt.Errorf("kafka: the dead-letter topic: %w", err)
	}
	return &DeadLetters{client: c, topic: topic}, nil
}

// Send sends a copy of a record, and waits only if many are on their way already.
func (d *DeadLetters) Send(ctx context.Context, r *record.Record) error {
	k := &kgo.Record{Key: bytes.Clone(r.Key), Value: bytes.Clone(r.Value)}
	if r.Timestamp >= 0 {
		k.Timestamp = time.UnixMilli(r.Timestamp)
	}
	for _, h := range r.Headers {
		k.Headers = append(k.Headers, kgo.RecordHeader{Key: h.Key, Value: bytes.Clone(h.Value)})
	}
	d.client.Produce(ctx, k, func(_ *kgo.Record, err error) {
		if err != nil {
			d.mu.Lock()
			defer d.mu.Unlock()
			if d.failed == nil {
				d.failed = fmt.Errorf("sending a rejected record to the topic %s: %w", d.topic, err)
			}
		}
	})
	return nil
}

// Flush waits until all records that were sent are acknowledged by all replicas. An error of any record since the first Flush stays: records
// behind it must not be committed.
func (d *DeadLetters) Flush(ctx context.Context) error {
	if err := d.client.Flush(ctx); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failed
}

// Close ends the producer. What was not flushed may be lost.
func (d *DeadLetters) Close() { d.client.Close() }
