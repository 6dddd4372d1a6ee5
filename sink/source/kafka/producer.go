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

// Producer sends records to a topic: bad records, or those of a replay. Its methods may be called by several goroutines at once.
type Producer struct {
	client *kgo.Client
	topic  string

	mu     sync.Mutex
	failed error // of a record that was sent and not flushed
}

// producerBytes bounds the records that are sent and not acknowledged. Send waits beyond it.
const producerBytes = 32 << 20

// NewProducer makes a producer for a topic, which must be there. Client has further options of the client: TLS, SASL, and
// kgo.RecordPartitioner(kgo.ManualPartitioner()) to keep the records' partitions. By default keys choose them.
func NewProducer(brokers []string, topic string, client ...kgo.Opt) (*Producer, error) {
	opts := append([]kgo.Opt{
		kgo.SeedBrokers(brokers...), kgo.ClientID("freehold-sink"), kgo.DefaultProduceTopic(topic),
		kgo.RequiredAcks(kgo.AllISRAcks()), kgo.ProducerBatchCompression(kgo.ZstdCompression(), kgo.NoCompression()),
		kgo.MaxBufferedBytes(producerBytes),
		// No RecordDeliveryTimeout: the client counts it from a record's timestamp, which may be old. As long as the brokers do not answer, Flush waits.
	}, client...)
	c, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, fmt.Errorf("kafka: producing to the topic %s: %w", topic, err)
	}
	return &Producer{client: c, topic: topic}, nil
}

// Send sends a copy of a record, and waits only if many are on their way already.
func (p *Producer) Send(ctx context.Context, r *record.Record) error {
	k := &kgo.Record{Partition: r.Partition, Key: bytes.Clone(r.Key), Value: bytes.Clone(r.Value)}
	if r.Timestamp >= 0 {
		k.Timestamp = time.UnixMilli(r.Timestamp)
	}
	for _, h := range r.Headers {
		k.Headers = append(k.Headers, kgo.RecordHeader{Key: h.Key, Value: bytes.Clone(h.Value)})
	}
	p.client.Produce(ctx, k, func(_ *kgo.Record, err error) {
		if err != nil {
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.failed == nil {
				p.failed = fmt.Errorf("sending a record to the topic %s: %w", p.topic, err)
			}
		}
	})
	return nil
}

// Flush waits until all records that were sent are acknowledged by all replicas. An error of any record since the first Flush stays: records
// behind it must not be committed.
func (p *Producer) Flush(ctx context.Context) error {
	if err := p.client.Flush(ctx); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}

// Close ends the producer. What was not flushed may be lost.
func (p *Producer) Close() { p.client.Close() }
