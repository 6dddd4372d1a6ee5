// SPDX-License-Identifier: Apache-2.0

// Package service makes a running sink of a configuration: the parts, the server of metrics and health, and the bounds of memory.
package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/freehold-go/freehold/sink"
	"github.com/freehold-go/freehold/sink/block"
	"github.com/freehold-go/freehold/sink/config"
	"github.com/freehold-go/freehold/sink/schema"
	"github.com/freehold-go/freehold/sink/source/kafka"
	"github.com/freehold-go/freehold/sink/store"
)

// A Service is a sink with all that it needs. Its methods may be called by several goroutines at once, but Run only once.
type Service struct {
	config   config.Config
	log      *slog.Logger
	store    store.Store
	source   *kafka.Source
	sink     *sink.Sink
	dead     *kafka.Producer // nil if bad records do not go to a topic
	listener net.Listener    // nil if nothing is served
	metrics  *metrics
	started  time.Time
	registry *schema.Registry // nil if there is none
	running  atomic.Bool
	closed   bool // whether the sink has closed the source

	unreadable atomic.Int64 // topics that the brokers did not serve when they were asked
	looks      struct{ first, next time.Duration }
}

// When watchTopics asks for the topics: soon after the start, then again and again.
const (
	firstLook = 2 * time.Second
	nextLook  = 30 * time.Second
)

// New checks a configuration and makes the parts. It opens the store and listens for HTTP, but connects to no broker.
func New(ctx context.Context, c config.Config, log *slog.Logger) (s *Service, err error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	t, err := messageType(c.Values)
	if err != nil {
		return nil, err
	}
	if err := checkPaths(c.Objects, t); err != nil {
		return nil, err
	}
	o, err := options(c)
	if err != nil {
		return nil, err
	}
	if o.Spill, err = spillDir(c.Memory); err != nil {
		return nil, err
	}
	s = &Service{config: c, log: log, metrics: newMetrics(), started: time.Now()}
	s.looks.first, s.looks.next = firstLook, nextLook
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if s.source, err = newSource(c.Kafka, log); err != nil {
		return s, err
	}
	if o.Bad == sink.RejectToTopic {
		opts, err := client(c.Kafka)
		if err != nil {
			return s, err
		}
		if s.dead, err = kafka.NewProducer(c.Kafka.Brokers, c.Bad.Topic, opts...); err != nil {
			return s, err
		}
		o.DeadLetters = s.dead
	}
	if s.store, err = openStore(ctx, c.Store, s.attempt); err != nil {
		return s, err
	}
	if s.registry, err = registry(c.Values, s.asked); err != nil {
		return s, err
	}
	if o.Values, err = values(c.Values, t, s.registry); err != nil {
		return s, err
	}
	o.Store, o.Logger = s.store, log
	o.Budget = block.NewBudget("sink/in flight", int64(c.Memory.InFlight))
	if s.sink, err = sink.New(o); err != nil {
		return s, err
	}
	if c.HTTP.Listen != "" {
		if s.listener, err = net.Listen("tcp", c.HTTP.Listen); err != nil {
			return s, fmt.Errorf("http.listen: %w; another instance may have the address, or set it to an empty text to serve nothing", err)
		}
	}
	return s, nil
}

// attempt notes an attempt of the store.
func (s *Service) attempt(a store.Attempt) {
	s.metrics.attempt(a)
	if a.Err != nil && !a.Last && !errors.Is(a.Err, context.Canceled) {
		s.log.Warn("the store refused, will be repeated", "op", a.Op, "key", a.Key, "attempt", a.N, "wait", a.Wait, "error", a.Err)
	}
}

// Stats are the sink's figures.
func (s *Service) Stats() sink.Stats { return s.sink.Stats() }

// Address is where HTTP is served, "" if nowhere.
func (s *Service) Address() string {
	if s.listener == nil {
		return ""
	}
	return s.listener.Addr().String()
}

// close closes the parts that are there.
func (s *Service) close() (err error) {
	if s.source != nil && !s.closed {
		err = s.source.Close()
	}
	if s.dead != nil {
		s.dead.Close()
	}
	if s.store != nil {
		err = errors.Join(err, s.store.Close())
	}
	if s.registry != nil {
		s.registry.Close()
	}
	if s.listener != nil {
		s.listener.Close() // The server may have closed it.
	}
	return err
}
