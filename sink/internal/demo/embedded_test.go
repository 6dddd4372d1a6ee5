// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"bytes"
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/freehold-go/freehold/sink/config"
	"github.com/freehold-go/freehold/sink/service"
)

// TestEmbeddedBroker runs the service on the embedded broker until all orders are stored.
func TestEmbeddedBroker(t *testing.T) {
	c := config.Default()
	c.Kafka.Brokers, c.Kafka.Topics = []string{Embedded}, []string{"orders", "payments"}
	c.Store.URL = "mem://"
	c.HTTP.Listen = ""
	var said bytes.Buffer
	c, stop, err := WithBroker(t.Context(), &said, c)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	if !strings.Contains(said.String(), "An embedded broker serves at "+c.Kafka.Brokers[0]) || !strings.Contains(said.String(), "let rotate.records be 100") {
		t.Error(said.String())
	}
	var checked bytes.Buffer
	if err := service.Describe(t.Context(), &checked, c, true); err != nil || !strings.Contains(checked.String(), "partitions   4\n") {
		t.Error(err, checked.String())
	}
	c.Stop.Flush = true
	s, err := service.New(t.Context(), c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Run(ctx) }()
	for s.Stats().Records < 2*embeddedOrders {
		select {
		case err := <-done:
			t.Fatal(err)
		case <-time.After(5 * time.Millisecond):
		}
	}
	end()
	if err := <-done; err != nil || s.Stats().Objects != 4 || s.Stats().Rejected != 0 {
		t.Errorf("%v, %+v", err, s.Stats())
	}
}

func TestEmbeddedBrokerRefuses(t *testing.T) {
	for want, change := range map[string]func(*config.Config){
		"stands alone":       func(c *config.Config) { c.Kafka.Brokers = append(c.Kafka.Brokers, "a:1") },
		"kafka.topics is":    func(c *config.Config) { c.Kafka.Topics = nil },
		"neither TLS":        func(c *config.Config) { c.Kafka.TLS.Enabled = true },
		"nor SASL":           func(c *config.Config) { c.Kafka.SASL.Mechanism = "plain" },
		"values.framing":     func(c *config.Config) { c.Values.Framing = "strip" },
		"values.type be tex": func(c *config.Config) { c.Values.Type = "protobuf" },
	} {
		c := config.Default()
		c.Kafka.Brokers, c.Kafka.Topics = []string{Embedded}, []string{"orders"}
		change(&c)
		if _, _, err := WithBroker(t.Context(), new(bytes.Buffer), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	c := config.Default()
	c.Kafka.Brokers = []string{"localhost:9092"}
	if same, stop, err := WithBroker(t.Context(), new(bytes.Buffer), c); err != nil || same.Kafka.Brokers[0] != "localhost:9092" {
		t.Error(same, err)
	} else {
		stop()
	}
}

// TestKeep: a kept directory is new, stays, and the demo says how to look at it.
func TestKeep(t *testing.T) {
	name := filepath.Join(t.TempDir(), "kept")
	dir, remove, err := folder(name)
	if err != nil || dir != name {
		t.Fatal(dir, err)
	}
	remove()
	if _, _, err := folder(name); err == nil || !strings.Contains(err.Error(), "-keep takes a new directory") {
		t.Errorf("a directory that is there, as it must be: %v", err)
	}
	var out bytes.Buffer
	lookAt(&out, "/tmp/go-build1/freehold-sink", name)
	if !strings.Contains(out.String(), "go run ./sink/cmd/freehold-sink inspect -config "+name+"/objects.yaml") {
		t.Error(out.String())
	}
	dir, remove, err = folder("")
	if err != nil {
		t.Fatal(err)
	}
	remove()
	if _, _, err := folder(dir); err != nil {
		t.Errorf("a temporary directory was not removed: %v", err)
	}
}
