// Command nats embeds a NATS server with JetStream.
//
// Each of 16 connections publishes telemetry of 200 to 500 bytes, which four subscribers of its
// region receive, and stores events in a stream in memory of at most 50,000 events. Now and then it
// fetches a batch of events from the stream.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/freehold-go/freehold/benchmarks/foreign/load"
)

const (
	connections = 16
	regions     = 4
	events      = 50_000 // in the stream, before the oldest are dropped
	published   = 20     // messages of a request
	fetched     = 100    // events of a batch
)

func main() {
	load.Serve(load.Service{Ops: 15_000, Connections: connections, Start: start, Prepare: prepare, Dial: dial})
}

func start(bool) (load.Server, error) {
	dir, err := os.MkdirTemp("", "nats")
	if err != nil {
		return load.Server{}, err
	}
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: dir, NoSigs: true})
	if err != nil {
		return load.Server{}, err
	}
	s.Start()
	if !s.ReadyForConnections(time.Minute) {
		return load.Server{}, fmt.Errorf("the server is not ready after a minute")
	}
	return load.Server{Address: s.ClientURL(), Stop: func() {
		s.Shutdown()
		s.WaitForShutdown()
		os.RemoveAll(dir)
	}}, nil
}

// prepare makes the stream and fills it.
func prepare(address string) error {
	c, err := nats.Connect(address)
	if err != nil {
		return err
	}
	defer c.Close()
	js, err := jetstream.New(c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "EVENTS", Subjects: []string{"events.>"},
		Storage: jetstream.MemoryStorage, MaxMsgs: events, Discard: jetstream.DiscardOld}); err != nil {
		return err
	}
	for i := range events {
		if _, err := js.PublishAsync(eventSubject(i), payload(i)); err != nil {
			return err
		}
	}
	select {
	case <-js.PublishAsyncComplete():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func eventSubject(i int) string { return fmt.Sprintf("events.device-%04d.state", i*7919%5000) }

// payload is a reading in JSON.
func payload(i int) []byte {
	text := fmt.Appendf(nil, `{"id":%d,"at":"2026-03-01T12:00:00Z","device":"device-%04d","values":[`, i, i*7919%5000)
	for k := range 20 + i%40 {
		text = fmt.Appendf(text, "%d.%02d,", (i+k)%90, (i*k)%100)
	}
	return append(text, "0]}"...)
}

func dial(address string, connection int) (load.Request, error) {
	c, err := nats.Connect(address)
	if err != nil {
		return nil, err
	}
	subject := fmt.Sprintf("telemetry.region-%d", connection%regions)
	if _, err := c.Subscribe(subject+".>", func(*nats.Msg) {}); err != nil {
		return nil, err
	}
	if err := c.Flush(); err != nil {
		return nil, err
	}
	js, err := jetstream.New(c)
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	consumer, err := js.CreateConsumer(ctx, "EVENTS", jetstream.ConsumerConfig{AckPolicy: jetstream.AckNonePolicy, InactiveThreshold: time.Minute})
	if err != nil {
		return nil, err
	}
	return func(i int) error {
		for k := range published {
			if err := c.Publish(fmt.Sprintf("%s.device-%04d", subject, (i+k)%5000), payload(i+k)); err != nil {
				return err
			}
		}
		if _, err := js.Publish(ctx, eventSubject(i), payload(i)); err != nil {
			return err
		}
		if i%100 == 0 {
			return fetch(consumer)
		}
		return nil
	}, nil
}

func fetch(consumer jetstream.Consumer) error {
	messages, err := consumer.Fetch(fetched, jetstream.FetchMaxWait(10*time.Second))
	if err != nil {
		return err
	}
	n := 0
	for range messages.Messages() {
		n++
	}
	if n == 0 {
		return fmt.Errorf("fetched no event: %w", messages.Error())
	}
	return nil
}
