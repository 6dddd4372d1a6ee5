// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/freehold-go/freehold/gctune"
)

// heapGrowth bounds the Go heap, whose live part is some 10 MiB: the process is to stay as small as it is with little memory, and a million records
// allocate some 110 MB. With gctune.Balanced, a live heap below 11 MiB would grow by less.
const heapGrowth = 44 << 20

// Run writes until ctx ends or something fails for good; see sink.Run. It closes all parts.
func (s *Service) Run(ctx context.Context) error {
	tuning, untune := context.WithCancel(context.WithoutCancel(ctx))
	defer untune()
	tune := gctune.Options{Logger: slog.New(&onceInfo{Handler: s.log.Handler()}), Policy: gctune.Throughput, MaxGrowth: heapGrowth}
	if limit := int64(s.config.Memory.Limit); limit > 0 {
		tune.Limit = func() (int64, error) { return limit, nil }
	}
	tuner, err := gctune.Start(tuning, tune)
	if err != nil {
		return errors.Join(fmt.Errorf("the limit of memory: %w", err), s.close())
	}
	defer func() {
		untune()
		<-tuner.Done()
	}()
	stop := func() {}
	if s.listener != nil {
		stop = s.serve()
		s.log.Info("serving metrics and health", "address", "http://"+s.listener.Addr().String())
	}
	s.log.Info("started", "topics", s.config.Kafka.Topics, "group", s.config.Kafka.Group, "store", s.store.String())
	s.running.Store(true)
	ctx, end := context.WithCancelCause(ctx)
	stopping := context.AfterFunc(ctx, func() { s.running.Store(false) }) // It is not ready while it finishes what it has.
	var watch sync.WaitGroup
	var missing error
	watch.Go(func() { s.watchTopics(ctx, func(err error) { missing = err; end(err) }) })
	err = s.sink.Run(ctx, s.source)
	end(nil)
	watch.Wait()
	err = errors.Join(missing, err)
	stopping()
	s.running.Store(false)
	figures := s.sink.Stats()
	s.log.Info("stopped", "records", figures.Records, "objects", figures.Objects, "stored_bytes", figures.StoredBytes)
	s.closed = true
	stop()
	return errors.Join(err, s.close())
}

// onceInfo lets the first message of level info pass, and makes the next ones debug. The limit of memory may change each second if it is the machine's,
// because other processes take memory and give it back.
type onceInfo struct {
	slog.Handler
	said atomic.Bool
}

// Enabled implements slog.Handler.
func (h *onceInfo) Enabled(ctx context.Context, l slog.Level) bool {
	return h.Handler.Enabled(ctx, h.level(l))
}

// Handle implements slog.Handler.
func (h *onceInfo) Handle(ctx context.Context, r slog.Record) error {
	info := r.Level == slog.LevelInfo
	if r.Level = h.level(r.Level); info {
		h.said.Store(true)
	}
	return h.Handler.Handle(ctx, r)
}

func (h *onceInfo) level(l slog.Level) slog.Level {
	if l == slog.LevelInfo && h.said.Load() {
		return slog.LevelDebug
	}
	return l
}
