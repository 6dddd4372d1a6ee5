// SPDX-License-Identifier: Apache-2.0

package sink

import (
	"context"
	"fmt"
	"maps"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/freehold-go/freehold/sink/internal/failpoint"
	"github.com/freehold-go/freehold/sink/source"
)

// How an epoch ends: finish ends its objects, begin starts a goroutine that stores them and commits, and awaitStored waits for that
// goroutine before the next epoch does the same.

// finish ends the epoch at this record: its objects are stored and its end committed, in another goroutine. It waits for the epoch
// before, so that one epoch at most is visible and not committed; see "Exactly once".
func (w *writer) finish() error {
	failpoint.At(failpoint.Rotation)
	w.deadline.Stop()
	w.due = time.Time{}
	for w.finishing != nil {
		if err := w.awaitStored(); err != nil {
			return err
		}
	}
	e := w.epoch
	for _, o := range e.all() {
		if err := o.end(); err != nil {
			return err
		}
	}
	e.spillNoMore()
	e.order = nil
	e.next = w.position()
	ready, begun := w.takeReady()
	e.list = ready
	w.epoch = nil
	w.open.Store(0)
	w.begin(e)
	begun()
	return nil
}

// relieve frees memory that open objects hold.
func (w *writer) relieve() error {
	if !w.s.o.Budget.Over() { // Some was freed meanwhile.
		return nil
	}
	if d := w.s.o.Spill; d != nil && w.epoch != nil {
		n, err := w.epoch.spillTo(d)
		if n > 0 {
			w.open.Store(w.epoch.unspilled())
			w.s.stats.spilled.Add(n)
			return nil
		}
		if err != nil {
			w.s.o.Logger.Warn("open objects cannot be spilled", "topic", w.p.Topic, "partition", w.p.Number, "error", err)
		}
	}
	return w.endEarly("memory is full of open objects, so an epoch ends before its boundary; raise the memory limit, lower the rotation, or let objects spill to a local disk")
}

// endEarly ends the epoch before its boundary, for a reason that the log has.
func (w *writer) endEarly(reason string) error {
	if w.epoch == nil {
		return nil
	}
	w.s.stats.earlyEnds.Add(1)
	w.s.o.Logger.Warn(reason,
		"topic", w.p.Topic, "partition", w.p.Number, "epoch_bytes", w.epoch.bytes, "limit", w.s.o.Budget.Limit())
	return w.finish()
}

// begin has the objects of an epoch stored and its end committed, in another goroutine.
func (w *writer) begin(e *epoch) {
	w.finishing, w.begun = e, e.next.Next
	w.s.work.more()
	go func() {
		e.err = w.store(w.ctx, e)
		close(e.done)
		w.s.work.less()
	}()
}

// storing is closed when the epoch that is being stored is committed or has failed. It is nil if there is none.
func (w *writer) storing() <-chan struct{} {
	if w.finishing == nil {
		return nil
	}
	return w.finishing.done
}

// awaitStored waits until the epoch that is being stored is committed.
func (w *writer) awaitStored() error {
	if w.finishing == nil {
		return nil
	}
	<-w.finishing.done
	err := w.finishing.err
	w.finishing = nil
	if err == nil {
		w.storeReady()
	}
	return err
}

// store stores the objects of an epoch, waits until they are durable, and commits. The epoch's memory is free afterwards, whatever happened.
func (w *writer) store(ctx context.Context, e *epoch) error {
	s := w.s
	all := e.all()
	defer e.free()
	group, ctx := errgroup.WithContext(ctx)
	for _, o := range all {
		group.Go(func() error {
			if err := s.uploads.Acquire(ctx, 1); err != nil {
				return err
			}
			defer s.uploads.Release(1)
			return w.put(ctx, e, o)
		})
	}
	if d := s.o.DeadLetters; d != nil {
		group.Go(func() error { return d.Flush(ctx) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	failpoint.At(failpoint.Stored)
	return w.commit(e.next)
}

// put writes an object to the store, and gives up its memory.
func (w *writer) put(ctx context.Context, e *epoch, o *object) error {
	to := w.s.o.Store
	if err := o.collect(true); err != nil {
		return err
	}
	if !o.ended {
		o.about.EpochNext = e.next.Next
	}
	if err := context.Cause(w.ctx); err != nil { // Nothing of the partition may be written any more.
		return err
	}
	failpoint.At(failpoint.Upload)
	err := to.Put(ctx, o.key, o.content, o.about)
	failpoint.At(failpoint.Uploaded)
	if err != nil {
		return fmt.Errorf("writing %s to %v: %w", o.key, to, err)
	}
	w.s.stats.objects.Add(1)
	w.s.stats.storedBytes.Add(o.content.Size())
	o.free()
	return nil
}

// commit commits the end of an epoch, unless the partition was lost. The broker would take the offset from a member that does not own the
// partition, so only this lock prevents it.
func (w *writer) commit(p source.Position) error {
	w.owning <- struct{}{}
	defer func() { <-w.owning }()
	if !w.owned {
		return errGivenUp
	}
	if err := w.s.source.Commit(w.ctx, map[source.Partition]source.Position{w.p: p}); err != nil {
		return fmt.Errorf("committing offset %d: %w", p.Next, err)
	}
	w.s.stats.commits.Add(1)
	return nil
}

// storeReady has the objects that have ended stored, unless others are being stored.
func (w *writer) storeReady() {
	if w.finishing != nil || len(w.ready) == 0 {
		return
	}
	ready, begun := w.takeReady()
	w.begin(&epoch{shared: w.s, p: w.p, list: ready, next: w.position(), done: make(chan struct{})})
	begun()
}

// takeReady takes the objects that have ended. Begun is called when their memory will become free by itself, or is.
func (w *writer) takeReady() (ready []*object, begun func()) {
	if len(w.ready) == 0 {
		return nil, func() {}
	}
	ready, w.ready = w.ready, nil
	return ready, w.s.work.less
}

// position is what can be committed when all objects that have ended are stored.
func (w *writer) position() source.Position {
	at := w.epoch.next
	if o := w.epoch.oldest(); o != nil {
		at = source.Position{Next: o.from, Epoch: o.before}
	}
	maps.DeleteFunc(w.stored, func(_ string, next int64) bool { return next <= at.Next })
	at.Metadata = w.stored.encode(at.Next)
	return at
}
