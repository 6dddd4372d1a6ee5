// SPDX-License-Identifier: Apache-2.0

package sortbuf

import (
	"context"
	"iter"
	"runtime"
)

// A Sorter sorts records within a budget of memory. [New] makes one. It has three phases: records are
// added, then read in order by Sorted any number of times, then Close frees all.
//
// Add and Reserve are for one goroutine; each further goroutine takes a [Writer]. The other methods
// may be called from any goroutine, Sorted after all Adds have returned.
//
// A Sorter that is dropped without Close is released some time after a collection. A Sorter must not
// be copied.
type Sorter struct {
	_       noCopy
	c       *core
	w       *writer
	cleanup runtime.Cleanup
}

// noCopy makes go vet report copies of a struct that has a field of this type.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// New returns an empty Sorter. The error says which Options are wrong, or that the reserve of memory
// was refused.
func New(o Options) (*Sorter, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	c, err := newCore(o)
	if err != nil {
		return nil, err
	}
	s := &Sorter{c: c, w: c.writer()}
	s.cleanup = runtime.AddCleanup(s, (*core).drop, c)
	return s, nil
}

func (c *core) writer() *writer {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := new(writer)
	c.writers = append(c.writers, w)
	return w
}

// Add adds a copy of a record. Key and value may be empty. If it returns an error, the record was not
// added; earlier records are there, and Add may be called again. The error is [ErrTooLarge], a
// [*SpillError], [offheap.ErrLimit], [offheap.ErrOutOfMemory], [ErrSorted] or [ErrClosed].
func (s *Sorter) Add(key, value []byte) error {
	err := s.c.add(s.w, key, value)
	runtime.KeepAlive(s)
	return err
}

// Reserve adds a record of nKey and nValue bytes, which the caller fills before the next call of Add,
// Reserve or Sorted. The bytes have any contents before. Keep the Sorter until they are filled.
// Errors are those of Add. It panics if a length is negative.
func (s *Sorter) Reserve(nKey, nValue int) (key, value []byte, err error) {
	key, value, err = s.c.reserve(s.w, nKey, nValue)
	runtime.KeepAlive(s)
	return key, value, err
}

// A Writer adds records to a Sorter from one goroutine. Its chunk of up to 256 KiB counts in the
// budget of the Sorter from its first record on.
type Writer struct {
	_ noCopy
	s *Sorter
	w *writer
}

// Writer returns a Writer for a further goroutine. It may be called from any goroutine. Records of
// different Writers with equal keys have any order.
func (s *Sorter) Writer() *Writer { return &Writer{s: s, w: s.c.writer()} }

// Add is [Sorter.Add].
func (w *Writer) Add(key, value []byte) error {
	err := w.s.c.add(w.w, key, value)
	runtime.KeepAlive(w)
	return err
}

// Reserve is [Sorter.Reserve].
func (w *Writer) Reserve(nKey, nValue int) (key, value []byte, err error) {
	key, value, err = w.s.c.reserve(w.w, nKey, nValue)
	runtime.KeepAlive(w)
	return key, value, err
}

// Sorted returns all records in order. No records can be added from the first step on, and a slice of
// Reserve must not be changed. It can be iterated any number of times, one iteration after the other:
// a second one at the same time gets [ErrBusy].
//
// An error ends the iteration. After the end of the context, that is its error. If the error is for
// lack of memory or disk, the next iteration tries again.
func (s *Sorter) Sorted(ctx context.Context) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		defer runtime.KeepAlive(s)
		r, err := s.c.read(ctx)
		if err != nil {
			yield(Record{}, err)
			return
		}
		defer r.end()
		yieldAll(&s.c.o, r.in, s.c.total(), yield, r.c.fail)
	}
}

// progressEvery is the number of records between two calls of Progress while the caller reads.
const progressEvery = 1 << 16

// yieldAll yields the records of an input. It calls fail if the input panics.
func yieldAll(o *Options, in input, total int64, yield func(Record, error) bool, fail func()) {
	ours := true
	defer func() {
		if ours {
			fail()
		}
	}()
	for n := int64(0); ; n++ {
		if n%progressEvery == 0 {
			o.report(PhaseRead, n, total)
		}
		key, value, ok, err := in.next()
		ours = false
		if err != nil {
			yield(Record{}, err)
			return
		}
		if !ok || !yield(Record{key, value}, nil) {
			return
		}
		ours = true
	}
}

// fail closes c after a panic.
func (c *core) fail() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state != closed {
		c.close()
	}
}

// total is the number of records that an iteration will have, 0 if unknown.
func (c *core) total() int64 {
	if c.o.Combine != nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.o.Limit > 0 {
		return min(c.records+c.dropped, c.o.Limit)
	}
	return c.records
}

// Stats are the figures of a Sorter.
type Stats struct {
	Records    int64 // Records that were added, but for those in chunks that are being filled.
	Memory     int64 // Bytes of memory that are held.
	MemoryPeak int64 // The most that were held.
	Disk       int64 // Bytes of the spill files that exist.
	Spilled    int64 // Bytes of all spill files that were written.
	Runs       int   // Spill files that exist.
}

// Stats returns the figures of the moment.
func (s *Sorter) Stats() (t Stats) {
	c := s.c
	c.mu.Lock()
	t.Records = c.records + c.dropped
	c.mu.Unlock()
	t.Memory, t.MemoryPeak = c.mem.stats()
	t.Disk, t.Spilled, t.Runs = c.disk.stats()
	runtime.KeepAlive(s)
	return t
}

// Close frees memory and disk space. It waits for a spill that is under way, which ends within a
// block. No other call may be under way. A second Close does nothing.
func (s *Sorter) Close() error {
	s.cleanup.Stop()
	s.c.drop()
	return nil
}
