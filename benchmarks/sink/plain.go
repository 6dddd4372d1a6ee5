package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"cloud.google.com/go/storage"
	"github.com/klauspost/compress/gzip"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/api/option"
)

// plain is the sink that a Go programmer writes in a day, with good libraries: franz-go, klauspost's gzip and the client of Google Cloud Storage, each
// as it is by default. It compresses as messages come, and commits an object's end when the object is stored. It does nothing about faults.
type plain struct {
	Brokers      []string
	Topic, Group string
	Store        string // address
	Level        int
	Check        bool // whether values are checked by encoding/json.Valid
}

func (o plain) run() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	client, err := storage.NewClient(ctx, option.WithEndpoint("http://"+o.Store+"/storage/v1/"), option.WithoutAuthentication())
	if err != nil {
		return err
	}
	p := &pipelines{o: o, bucket: client.Bucket(storeBucket), by: map[int32]chan []*kgo.Record{}}
	p.kafka, err = kgo.NewClient(kgo.SeedBrokers(o.Brokers...), kgo.ConsumerGroup(o.Group), kgo.ConsumeTopics(o.Topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableAutoCommit())
	if err != nil {
		return err
	}
	defer p.kafka.Close()
	for ctx.Err() == nil {
		p.kafka.PollFetches(ctx).EachPartition(func(f kgo.FetchTopicPartition) {
			if len(f.Records) > 0 {
				p.of(ctx, f.Partition) <- f.Records
			}
		})
	}
	return nil
}

// pipelines has a goroutine for each partition.
type pipelines struct {
	o      plain
	kafka  *kgo.Client
	bucket *storage.BucketHandle
	mu     sync.Mutex
	by     map[int32]chan []*kgo.Record
}

func (p *pipelines) of(ctx context.Context, partition int32) chan []*kgo.Record {
	c := p.by[partition]
	if c == nil {
		c = make(chan []*kgo.Record, 2)
		p.by[partition] = c
		go func() {
			if err := p.write(ctx, c); err != nil && ctx.Err() == nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}()
	}
	return c
}

// write writes a partition's records to one object after the other.
func (p *pipelines) write(ctx context.Context, from chan []*kgo.Record) error {
	z, err := gzip.NewWriterLevel(nil, p.o.Level)
	if err != nil {
		return err
	}
	var object *storage.Writer
	n := 0
	for records := range from {
		for _, r := range records {
			if p.o.Check && !json.Valid(r.Value) {
				return fmt.Errorf("offset %d is no JSON", r.Offset)
			}
			if n == 0 {
				object = p.bucket.Object(fmt.Sprintf("%s/%d-%020d.jsonl.gz", r.Topic, r.Partition, r.Offset)).NewWriter(ctx)
				z.Reset(object)
			}
			z.Write(r.Value)
			if _, err := z.Write([]byte{'\n'}); err != nil {
				return err
			}
			if n++; n < perObject {
				continue
			}
			n = 0
			if err := z.Close(); err != nil {
				return err
			}
			if err := object.Close(); err != nil {
				return err
			}
			if err := p.kafka.CommitRecords(ctx, r); err != nil {
				return err
			}
		}
	}
	return nil
}
