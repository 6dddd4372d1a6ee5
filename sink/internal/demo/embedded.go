// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freehold-go/freehold/sink/config"
	"github.com/freehold-go/freehold/sink/internal/orders"
)

// Embedded is the name in kafka.brokers that stands for a broker in this process.
const Embedded = "embedded"

// What the embedded broker has in each topic.
const (
	embeddedOrders     = 1000
	embeddedPartitions = 2
)

// WithBroker starts a broker in this process if a configuration names the embedded one. It returns
// the configuration with the broker's address. The broker has the topics of the configuration, with
// orders in JSON, and is reported to w. Its records are lost when stop is called.
func WithBroker(ctx context.Context, w io.Writer, c config.Config) (_ config.Config, stop func(), err error) {
	if !slices.Contains(c.Kafka.Brokers, Embedded) {
		return c, func() {}, nil
	}
	if err := fits(c); err != nil {
		return c, nil, err
	}
	topics := slices.Clone(c.Kafka.Topics)
	if c.Bad.Action == "topic" {
		topics = append(topics, c.Bad.Topic)
	}
	broker, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(embeddedPartitions, topics...))
	if err != nil {
		return c, nil, fmt.Errorf("the embedded broker: %w", err)
	}
	c.Kafka.Brokers = broker.ListenAddrs()
	if err := produce(ctx, c.Kafka.Brokers, c.Kafka.Topics); err != nil {
		broker.Close()
		return c, nil, fmt.Errorf("the embedded broker: %w", err)
	}
	fmt.Fprintf(w, "An embedded broker serves at %s, with %d demo orders in each of the topics %q. Its records and offsets are lost at the end.\n", c.Kafka.Brokers[0], embeddedOrders, c.Kafka.Topics)
	if r := c.Rotate; (r.Records == 0 || r.Records > embeddedOrders/embeddedPartitions/2) && r.Age == 0 && r.Every == 0 && !c.Stop.Flush {
		fmt.Fprintln(w, "No object ends before them: let rotate.records be 100, or stop.flush true, to see objects.")
	}
	return c, broker.Close, nil
}

// fits returns an error if the embedded broker cannot serve a configuration.
func fits(c config.Config) error {
	switch {
	case len(c.Kafka.Brokers) > 1:
		return fmt.Errorf("kafka.brokers is %q; %s stands alone", c.Kafka.Brokers, Embedded)
	case len(c.Kafka.Topics) == 0 || slices.Contains(c.Kafka.Topics, ""):
		return errors.New("kafka.topics is missing")
	case c.Kafka.TLS.Enabled || c.Kafka.SASL.Mechanism != "":
		return errors.New("the embedded broker has neither TLS nor SASL: leave kafka.tls and kafka.sasl out")
	case c.Values.Type == "protobuf" || c.Values.Framing != "none":
		return errors.New("the embedded broker has orders in JSON without framing: let values.type be text and values.framing none")
	}
	return nil
}

// produce writes demo orders to topics.
func produce(ctx context.Context, brokers, topics []string) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...))
	if err != nil {
		return err
	}
	defer client.Close()
	g := orders.New(1)
	var records []*kgo.Record
	for _, topic := range topics {
		for i := range embeddedOrders {
			records = append(records, &kgo.Record{Topic: topic, Key: g.AppendKey(nil, i), Value: g.AppendValue(nil, i), Timestamp: time.UnixMilli(orders.Time(i))})
		}
	}
	return client.ProduceSync(ctx, records...).FirstErr()
}
