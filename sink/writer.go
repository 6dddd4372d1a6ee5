// SPDX-License-Identifier: Apache-2.0

package sink

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/freehold-go/freehold/sink/encode"
	"github.com/freehold-go/freehold/sink/internal/failpoint"
	"github.com/freehold-go/freehold/sink/record"
	"github.com/freehold-go/freehold/sink/source"
)

// writer writes the records of one partition, from the moment that this process owns it until it gives it up. Its goroutine takes the
// batches one after the other; another one stores the epoch before, of which there is one at most.
type writer struct {
	s *shared
	p source.Partition

	ctx    context.Context // ends when nothing more may be written
	cancel context.CancelCauseFunc
	taking context.Context // ends with ctx, and when no more records are to be taken
	untake context.CancelCauseFunc
	done   chan struct{} // closed when the goroutine has ended, and all memory is free

	mu    sync.Mutex
	queue []batch
	ended bool          // whether the goroutine takes no more
	more  chan struct{} // has an element when the queue may have

	flush chan struct{} // asks for the end of the epoch before its boundary, for want of memory

	owning chan struct{} // a lock: full while offsets are committed, which may take a while
	owned  bool          // whether they may be

	// Of the goroutine alone.
	epoch     *epoch
	finishing *epoch
	prepared  record.Record // the record at hand, as Options.Values has prepared it
	group     []byte
	deadline  *time.Timer
	due       time.Time        // of the deadline, if groups end by themselves
	ready     []*object        // of groups that have ended and wait for those that are being stored
	stored    map[string]int64 // the offset up to which the records of a group are stored, where that is beyond the committed one; see groups.go
	begun     int64            // the offset that was to be committed last
	last      int32            // leader's epoch of the last record
	open      atomic.Int64     // bytes of input in the open epoch that were not spilled; others read it to find the largest
}

func newWriter(s *shared, p source.Partition) *writer {
	ctx, cancel := context.WithCancelCause(s.ctx)
	taking, untake := context.WithCancelCause(ctx)
	return &writer{
		s: s, p: p, ctx: ctx, cancel: cancel, taking: taking, untake: untake, owned: true, last: -1,
		done: make(chan struct{}), more: make(chan struct{}, 1), flush: make(chan struct{}, 1),
		owning: make(chan struct{}, 1), deadline: stoppedTimer(),
	}
}

func stoppedTimer() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

// push adds a batch to the queue, and reports whether anyone will take it.
func (w *writer) push(b batch) bool {
	w.mu.Lock()
	ended := w.ended
	if !ended {
		w.queue = append(w.queue, b)
	}
	w.mu.Unlock()
	if ended {
		return false
	}
	select {
	case w.more <- struct{}{}:
	default:
	}
	return true
}

// pop takes the next batch from the queue.
func (w *writer) pop() (b batch, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) == 0 {
		return b, false
	}
	b = w.queue[0]
	w.queue[0] = batch{}
	if w.queue = w.queue[1:]; len(w.queue) == 0 {
		w.queue = nil
	}
	return b, true
}

// run is the goroutine.
func (w *writer) run() {
	defer close(w.done)
	defer w.untake(nil)
	err := w.take()
	if errors.Is(err, errHalted) {
		err = nil
	}
	if err == nil && w.s.o.FlushOnStop && w.epoch != nil {
		err = w.finish()
	}
	for err == nil && w.finishing != nil {
		err = w.settle()
	}
	if err != nil {
		told := w.ctx.Err() != nil // Whoever told it to end knows why, and the error says no more than that.
		w.cancel(err)
		if w.finishing != nil {
			<-w.finishing.done
		}
		if !told && !errors.Is(err, source.ErrNotOwned) {
			w.s.cancel(fmt.Errorf("%s partition %d: %w", w.p.Topic, w.p.Number, err))
		}
	}
	w.deadline.Stop()
	if w.epoch != nil { // It was not committed, so whoever owns the partition next reads it again.
		w.epoch.free()
	}
	ready, freed := w.takeReady()
	for _, o := range ready {
		o.free()
	}
	freed()
	w.mu.Lock()
	w.ended = true
	left := w.queue
	w.queue = nil
	w.mu.Unlock()
	for _, b := range left {
		w.s.end(b)
	}
}

// errGivenUp ends a writer whose partition was lost, or which was told to stop at once.
var errGivenUp = errors.New("the partition was given up")

// errHalted ends a wait for what a record needs: the writer is halted, and the record is read again by the next owner.
var errHalted = errors.New("the writer is halted")

// take takes batches until the writer is halted.
func (w *writer) take() error {
	for {
		select {
		case <-w.taking.Done():
			return context.Cause(w.taking)
		case <-w.deadline.C:
			if err := w.endDue(); err != nil {
				return err
			}
		case <-w.storing(): // Even if no more records come, a failure must be known.
			if err := w.settle(); err != nil {
				return err
			}
		case <-w.flush:
			err := w.relieve()
			w.s.work.less()
			if err != nil {
				return err
			}
		case <-w.more:
			for {
				b, ok := w.pop()
				if !ok {
					break
				}
				err := w.add(b)
				w.s.end(b)
				if err != nil {
					return err
				}
				select {
				case <-w.taking.Done():
					return context.Cause(w.taking)
				case <-w.deadline.C:
					if err := w.endDue(); err != nil {
						return err
					}
				default:
				}
			}
		}
	}
}

// add writes the records of a batch.
func (w *writer) add(b batch) error {
	s := w.s
	if b.committed != nil {
		return w.resume(*b.committed)
	}
	for i := range b.records {
		r := &b.records[i]
		value, bad, err := w.prepare(r)
		if err != nil {
			return err
		}
		if s.o.Rotation.Independent {
			if err := w.endOld(r); err != nil {
				return err
			}
		} else if w.epoch != nil && s.o.Rotation.before(&w.epoch.extent, r) {
			if err := w.finish(); err != nil {
				return err
			}
		}
		if w.epoch == nil {
			w.epoch = &epoch{shared: s, p: w.p, from: r.Offset, objects: map[objectID]*object{}, done: make(chan struct{})}
		}
		e := w.epoch
		first := e.records == 0
		e.next = source.Position{Next: r.Offset + 1, Epoch: r.LeaderEpoch}
		if err := w.write(e, r, value, bad); err != nil {
			return err
		}
		w.last = r.LeaderEpoch
		if e.raw > s.o.OpenBytes {
			e.shrink(s.o.OpenBytes)
		}
		if s.o.Rotation.Independent {
			if err := w.groupsEnded(); err != nil {
				return err
			}
			continue
		}
		e.add(r, s.o.now)
		if first {
			if at := s.o.Rotation.deadline(&e.extent); !at.IsZero() {
				w.deadline.Reset(at.Sub(s.o.now()))
			}
		}
		if s.o.Rotation.after(&e.extent) {
			if err := w.finish(); err != nil {
				return err
			}
		}
	}
	w.open.Store(0)
	if w.epoch != nil {
		w.open.Store(w.epoch.unspilled())
	}
	s.stats.records.Add(int64(len(b.records)))
	s.stats.inputBytes.Add(b.bytes)
	if w.epoch != nil && len(b.records) > 0 && b.next.Next > w.epoch.next.Next {
		w.epoch.next = b.next // Behind the last record are some that are never handed out: control records, compacted ones.
	}
	return nil
}

// prepare returns a record with its value as it is to be encoded, or says why the record is bad.
func (w *writer) prepare(r *record.Record) (value *record.Record, bad *record.Bad, err error) {
	if w.s.o.Values == nil {
		return r, nil, nil
	}
	w.prepared = *r
	err = w.s.o.Values.Prepare(w.taking, &w.prepared)
	if err == nil {
		return &w.prepared, nil, nil
	}
	var found *record.Bad // As would have bad itself on the heap, for each record.
	if errors.As(err, &found) {
		return nil, found, nil
	}
	if w.taking.Err() != nil {
		return nil, nil, context.Cause(w.taking)
	}
	return nil, nil, fmt.Errorf("preparing the record at offset %d: %w", r.Offset, err)
}

// write writes a record to its object, or rejects it. Value is the record as it was prepared, unless it is bad.
func (w *writer) write(e *epoch, r, value *record.Record, bad *record.Bad) error {
	if bad == nil {
		err := w.encode(e, value)
		if err == nil {
			return nil
		}
		if errors.Is(err, encode.ErrSkip) {
			w.s.stats.skipped.Add(1)
			return nil
		}
		var found *record.Bad // As in prepare.
		if !errors.As(err, &found) {
			return err
		}
		bad = found
	}
	if w.isStored(rejectsTag, nil, r) {
		return nil
	}
	o, err := e.reject(w.ctx, r, bad)
	if err != nil || o == nil {
		return err
	}
	return w.counted(o, r)
}

func (w *writer) encode(e *epoch, r *record.Record) (err error) {
	if err := w.s.o.Format.Refuse(r); err != nil {
		return err
	}
	w.group = w.group[:0]
	if p := w.s.o.Partitioner; p != nil {
		if w.group, err = p.Group(w.group, r); err != nil {
			return err
		}
	}
	if w.isStored(groupTag, w.group, r) {
		return nil
	}
	if o := e.objects[objectID{group: string(w.group)}]; o != nil && w.s.o.Rotation.Independent && w.s.o.Rotation.before(&o.extent, r) {
		if err := w.endGroup(o, r.Offset); err != nil {
			return err
		}
	}
	o, err := e.object(w.group, r)
	if err != nil {
		return err
	}
	if err := o.append(r); err != nil {
		if o.about.Records == 0 { // The object is to begin with a record that it has.
			delete(e.objects, o.id)
			o.free()
		}
		return err
	}
	return w.counted(o, r)
}

// finish ends the epoch at this record: its objects are stored and its end committed, in another goroutine. It waits for the epoch
// before, so that one epoch at most is visible and not committed; see "Exactly once".
func (w *writer) finish() error {
	failpoint.At(failpoint.Rotation)
	w.deadline.Stop()
	for w.finishing != nil {
		if err := w.settle(); err != nil {
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
	w.epoch, w.due = nil, time.Time{}
	w.open.Store(0)
	w.begin(e)
	begun()
	return nil
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

// settle waits until the epoch that is being stored is committed.
func (w *writer) settle() error {
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

// giveUp ends the writer at once. When it returns, nothing of the partition will be written or committed.
func (w *writer) giveUp() {
	w.cancel(errGivenUp)
	w.owning <- struct{}{}
	w.owned = false
	<-w.owning
	<-w.done
}

// retire lets the writer finish what it is storing, until ctx ends.
func (w *writer) retire(ctx context.Context) {
	w.untake(errHalted)
	select {
	case <-w.done:
	case <-ctx.Done():
	}
	w.giveUp()
}
