// SPDX-License-Identifier: Apache-2.0

package sink

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/freehold-go/freehold/sink/encode"
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
	ends      boundaries
	epoch     *epoch
	finishing *epoch        // its objects are being stored
	prepared  record.Record // the record at hand, as Options.Values has prepared it
	group     []byte
	deadline  *time.Timer
	due       time.Time    // of the deadline; zero if there is none
	ready     []*object    // of groups that have ended and wait for those that are being stored
	stored    ahead        // records that are stored beyond the committed offset
	begun     int64        // the offset that was to be committed last
	last      int32        // leader's epoch of the last record
	open      atomic.Int64 // bytes of input in the open epoch that were not spilled; others read it to find the largest
}

func newWriter(s *shared, p source.Partition) *writer {
	ctx, cancel := context.WithCancelCause(s.ctx)
	taking, untake := context.WithCancelCause(ctx)
	w := &writer{
		s: s, p: p, ctx: ctx, cancel: cancel, taking: taking, untake: untake, owned: true, last: -1,
		done: make(chan struct{}), more: make(chan struct{}, 1), flush: make(chan struct{}, 1),
		owning: make(chan struct{}, 1), deadline: stoppedTimer(), stored: ahead{},
	}
	w.ends = epochs{w}
	if s.o.Rotation.Independent {
		w.ends = groups{w}
	}
	return w
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
		err = w.awaitStored()
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
			if err := w.ends.due(); err != nil {
				return err
			}
		case <-w.storing(): // Even if no more records come, a failure must be known.
			if err := w.awaitStored(); err != nil {
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
					if err := w.ends.due(); err != nil {
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
	if b.committed != nil {
		return w.resume(*b.committed)
	}
	for i := range b.records {
		if err := w.addRecord(&b.records[i]); err != nil {
			return err
		}
	}
	w.open.Store(0)
	if w.epoch != nil {
		w.open.Store(w.epoch.unspilled())
	}
	w.s.stats.records.Add(int64(len(b.records)))
	w.s.stats.inputBytes.Add(b.bytes)
	if w.epoch != nil && len(b.records) > 0 && b.next.Next > w.epoch.next.Next {
		w.epoch.next = b.next // Behind the last record are some that are never handed out: control records, compacted ones.
	}
	return nil
}

// resume notes what was committed before the first record comes.
func (w *writer) resume(at source.Position) (err error) {
	if w.stored, err = decodeAhead(at.Metadata, at.Next); err != nil {
		return fmt.Errorf("offset %d: %w", at.Next, err)
	}
	w.begun, w.last = at.Next, at.Epoch
	return nil
}

// addRecord writes a record, and ends what ends before it and after it.
func (w *writer) addRecord(r *record.Record) error {
	value, bad, err := w.prepare(r)
	if err != nil {
		return err
	}
	if err := w.ends.before(r); err != nil {
		return err
	}
	if w.epoch == nil {
		w.epoch = &epoch{shared: w.s, p: w.p, from: r.Offset, objects: map[objectID]*object{}, done: make(chan struct{})}
	}
	e := w.epoch
	e.next = source.Position{Next: r.Offset + 1, Epoch: r.LeaderEpoch}
	if err := w.write(e, r, value, bad); err != nil {
		return err
	}
	w.last = r.LeaderEpoch
	if e.raw > w.s.o.OpenBytes {
		e.shrink(w.s.o.OpenBytes)
	}
	return w.ends.after(r)
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
	if w.stored.has(rejectsTag, nil, r) {
		return nil
	}
	o, err := e.reject(w.ctx, r, bad)
	if err != nil || o == nil {
		return err
	}
	return w.ends.took(o, r)
}

// encode has the record's object encode it.
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
	if w.stored.has(groupTag, w.group, r) {
		return nil
	}
	o, err := w.ends.object(w.group, r)
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
	return w.ends.took(o, r)
}

// remind has the writer look for what is due, at a time. Zero is never.
func (w *writer) remind(at time.Time) {
	if at.IsZero() || !w.due.IsZero() && !at.Before(w.due) {
		return
	}
	w.due = at
	w.deadline.Reset(at.Sub(w.s.o.now()))
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
