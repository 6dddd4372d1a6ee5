// SPDX-License-Identifier: Apache-2.0

package sink

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/freehold-go/freehold/sink/block"
	"github.com/freehold-go/freehold/sink/internal/failpoint"
	"github.com/freehold-go/freehold/sink/record"
	"github.com/freehold-go/freehold/sink/source"
)

// A Sink writes the records of a source to a store. Its methods may be called by several goroutines at once, but Run only once.
type Sink struct {
	shared

	mu      sync.Mutex
	writers map[source.Partition]*writer // nil once the sink stops
	alive   sync.WaitGroup               // goroutines of writers, of those that are being retired, too
}

// queuedBytes bounds the records that wait for their writers, at a quarter of the budget at most. A source is usually faster than the
// compressors. Without a bound of its own, the queue would fill the budget all the time, and memory would be at its peak for nothing.
const queuedBytes = 16 << 20

// New makes a sink. The error names the option that is wrong.
func New(o Options) (*Sink, error) {
	if err := o.complete(); err != nil {
		return nil, fmt.Errorf("sink: %w", err)
	}
	queued := block.NewBudget("sink/queued", min(queuedBytes, o.Budget.Limit()/4))
	return &Sink{shared: shared{o: o, bySchema: o.bySchema(), uploads: semaphore.NewWeighted(int64(o.Uploads)), work: newWork(), queued: queued}, writers: map[source.Partition]*writer{}}, nil
}

// Run writes what the source has until ctx ends, or something fails that the next attempt would meet, too. Once ctx has ended, Run finishes
// what is being stored within Options.StopTimeout and returns nil. It closes the source.
func (s *Sink) Run(ctx context.Context, src source.Source) (err error) {
	s.source = src
	s.ctx, s.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	if s.o.Codec.Name != "none" {
		if s.compressors, err = startCompressors(s.o, s.work); err != nil {
			return errors.Join(err, src.Close())
		}
		defer s.compressors.stop()
	}
	fetching, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(s.ctx, stop)()
	err = src.Run(fetching, handler{s})
	if ctx.Err() != nil || s.ctx.Err() != nil {
		err = nil // The source was told to stop, and its error says no more than that.
	}
	s.stop()
	if cause := context.Cause(s.ctx); cause != nil && !errors.Is(cause, errStopped) {
		err = errors.Join(cause, err)
	}
	return errors.Join(err, src.Close())
}

// errStopped ends the writers when all of them have ended.
var errStopped = errors.New("the sink has stopped")

// stop retires all writers.
func (s *Sink) stop() {
	within, cancel := context.WithTimeout(s.ctx, s.o.StopTimeout)
	defer cancel()
	s.mu.Lock()
	writers := s.writers
	s.writers = nil
	s.mu.Unlock()
	var all sync.WaitGroup
	for _, w := range writers {
		all.Go(func() { w.retire(within) })
	}
	all.Wait()
	// Others may be being retired because their partition is revoked.
	ended := make(chan struct{})
	go func() {
		s.alive.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-within.Done():
	}
	s.cancel(errStopped)
	<-ended
}

// handler is what the source sees of a Sink.
type handler struct{ *Sink }

func (h handler) Assigned(p source.Partition) {
	h.mu.Lock()
	if h.writers == nil { // The group may still assign partitions to a source whose Run has returned.
		h.mu.Unlock()
		return
	}
	w := newWriter(&h.shared, p)
	before := h.writers[p]
	h.writers[p] = w
	h.alive.Go(w.run)
	h.mu.Unlock()
	if before != nil {
		before.giveUp()
	}
	failpoint.At(failpoint.Assigned)
	h.o.Logger.Info("partition assigned", "topic", p.Topic, "partition", p.Number)
}

// remove returns the writer of a partition that is given up.
func (h handler) remove(p source.Partition) *writer {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.writers[p]
	delete(h.writers, p)
	return w
}

func (h handler) Revoked(ctx context.Context, p source.Partition) {
	if w := h.remove(p); w != nil {
		failpoint.At(failpoint.Revoke)
		w.retire(ctx)
		failpoint.At(failpoint.Revoked)
		h.o.Logger.Info("partition revoked", "topic", p.Topic, "partition", p.Number)
	}
}

func (h handler) Lost(p source.Partition) {
	if w := h.remove(p); w != nil {
		w.giveUp()
		h.o.Logger.Warn("partition lost", "topic", p.Topic, "partition", p.Number)
	}
}

func (h handler) Committed(p source.Partition, at source.Position) {
	h.give(p, batch{committed: &at, release: func() {}})
}

func (h handler) Batch(p source.Partition, records []record.Record, next source.Position, release func()) {
	b := batch{records: records, next: next, release: release}
	for i := range records {
		b.bytes += int64(records[i].Size())
	}
	h.give(p, b)
}

// give hands a batch to the writer of a partition.
func (h handler) give(p source.Partition, b batch) {
	h.mu.Lock()
	w := h.writers[p]
	h.mu.Unlock()
	h.work.more()
	h.o.Budget.Count(b.bytes)
	h.queued.Count(b.bytes)
	if w == nil || !w.push(b) { // The partition was given up meanwhile.
		h.end(b)
	}
}

func (h handler) Ready(ctx context.Context) error {
	if !h.o.Budget.Over() && !h.queued.Over() {
		return ctx.Err()
	}
	h.stats.waits.Add(1)
	began := h.o.now()
	defer func() { h.stats.waited.Add(int64(h.o.now().Sub(began))) }()
	if err := h.queued.Wait(ctx, nil); err != nil { // As long as records wait, their writers work.
		return err
	}
	for {
		if h.work.none() && h.o.Budget.Over() && !h.relieve() {
			return ctx.Err() // Nothing that the sink could end holds the memory.
		}
		if err := h.o.Budget.Wait(ctx, h.work.idle); !errors.Is(err, block.ErrWoken) {
			return err
		}
	}
}

// relieve has the largest open epoch spilled or ended, because nothing else would ever free memory. It reports whether there is one.
func (s *Sink) relieve() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	var largest *writer
	for _, w := range s.writers {
		if w.open.Load() > 0 && (largest == nil || w.open.Load() > largest.open.Load()) {
			largest = w
		}
	}
	if largest == nil {
		return false
	}
	s.work.more() // The writer takes it away again.
	select {
	case largest.flush <- struct{}{}:
	default:
		s.work.less()
	}
	return true
}

// Stats returns the sink's figures. It costs some nanoseconds.
func (s *Sink) Stats() Stats {
	c, onDisk := &s.stats, int64(0)
	if d := s.o.Spill; d != nil {
		onDisk = d.Used()
	}
	return Stats{
		Records: c.records.Load(), InputBytes: c.inputBytes.Load(), Rejected: c.rejected.Load(), Skipped: c.skipped.Load(),
		Objects: c.objects.Load(), StoredBytes: c.storedBytes.Load(), OpenObjects: c.openObjects.Load(),
		Commits: c.commits.Load(), EarlyEnds: c.earlyEnds.Load(), Waits: c.waits.Load(), Waited: time.Duration(c.waited.Load()),
		InFlight: s.o.Budget.Used(), PeakInFlight: s.o.Budget.Peak(), Limit: s.o.Budget.Limit(),
		Spilled: c.spilled.Load(), InSpill: onDisk,
	}
}
