// SPDX-License-Identifier: Apache-2.0

package sortbuf

import (
	"context"
	"sync/atomic"
)

// A reading is one iteration over all records of a sorter: the merge of its runs.
type reading struct {
	c      *core
	memory []byte // For the blocks of runs, nil if there are none or it is scrap.
	in     input
}

// read ends the filling and begins an iteration. If a function of the Options panics, it closes c.
func (c *core) read(ctx context.Context) (r *reading, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.state == closed:
		return nil, ErrClosed
	case c.reading:
		return nil, ErrBusy
	}
	returned := false
	defer func() {
		if !returned && c.state != closed {
			c.close()
		}
	}()
	r, err = c.begin(ctx)
	c.reading = err == nil
	returned = true
	return r, err
}

func (c *core) begin(ctx context.Context) (*reading, error) {
	stop := func() error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return c.stopped()
	}
	if err := c.settle(ctx); err != nil {
		return nil, err
	}
	r := &reading{c: c}
	begun := false
	defer func() {
		if !begun { // Also if Compare or Combine panics.
			c.mem.free(r.memory)
		}
	}()
	if len(c.runs) > 0 {
		if err := c.reduce(r, stop); err != nil {
			return nil, err
		}
	}
	memory := r.memory
	if memory == nil {
		memory = c.scrap
	}
	set := mergeSet{o: &c.o, disk: &c.disk, runs: c.runs}
	inputs, firsts, lasts := set.open(c.runs, memory, stop)
	for _, run := range []*memoryRun{c.stuck, c.last} {
		if run != nil && run.n > 0 {
			inputs = append(inputs, &stopInput{memoryInput: memoryInput{memoryRun: run}, stop: stop})
			first, last := run.ends()
			firsts, lasts = append(firsts, first), append(lasts, last)
		}
	}
	if len(inputs) == 0 {
		r.in = &limited{}
	} else {
		r.in = c.o.output(newMerged(&c.o, inputs, prefixOf(&c.o, firsts, lasts)))
	}
	begun = true
	return r, nil
}

// settle sorts what is in memory. After it c.stuck and c.last are sorted, or spilled if there was no
// memory for their index. The caller holds the lock.
func (c *core) settle(ctx context.Context) error {
	if c.state == filling {
		c.state = sorting
		c.filled.Store(true)
		for _, w := range c.writers {
			c.take(w)
		}
		c.last = &memoryRun{records: c.cur}
		c.cur = newRecords(c.o.chunk)
	}
	if c.job != nil {
		last := c.last
		if err := c.collect(); err != nil && c.stuck == nil {
			return err
		}
		if c.cur.n > 0 { // What the job has kept was there before.
			for i, b := range last.blocks {
				c.cur.add(b, int(last.counts[i]))
			}
			last.records, c.cur = c.cur, newRecords(c.o.chunk)
		}
	}
	for _, run := range []*memoryRun{c.stuck, c.last} {
		if run == nil || run.ready || run.n == 0 {
			continue
		}
		memory, err := c.mem.alloc(int(indexBytes(run.n)))
		if err == nil {
			if !c.sortUnless(ctx, run, memory) {
				run.dropIndex(c.mem)
				return c.ended(ctx)
			}
			continue
		}
		if err := c.spillRun(run); err != nil {
			return err
		}
	}
	return nil
}

// ended is why a sort ended early.
func (c *core) ended(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return ErrClosed
}

// sortUnless sorts a run, unless the context ends.
func (c *core) sortUnless(ctx context.Context, run *memoryRun, memory []byte) bool {
	if ctx.Err() != nil {
		run.index = memory
		return false
	}
	var stop atomic.Bool
	defer context.AfterFunc(ctx, func() { stop.Store(true) })()
	return run.sort(&c.o, memory, &stop)
}

// spillRun writes a run of c.stuck or c.last.
func (c *core) spillRun(run *memoryRun) error {
	before := c.stuck
	c.stuck = run
	err := c.spill()
	if err == nil {
		err = c.collect()
	}
	if run == c.last { // The older run comes first.
		c.stuck = before
		if run.n == 0 {
			c.last = nil
		}
	}
	return err
}

// reduce merges runs until the rest can be read at once, with memory that it allocates to r.memory if
// scrap is too small.
func (c *core) reduce(r *reading, stop func() error) error {
	want := func() (n int64) {
		for _, run := range c.runs {
			n += run.need(&c.o) + mostRead/4
		}
		return n
	}
	enough := func() bool {
		n := int64(len(c.scrap))
		if r.memory != nil {
			n = int64(len(r.memory))
		}
		set := mergeSet{o: &c.o, runs: c.runs}
		return set.fits(c.runs, n) == len(c.runs) && len(c.runs) <= c.o.open
	}
	for _, run := range []*memoryRun{nil, c.stuck, c.last} {
		if run != nil && run.n > 0 { // It must go, so that its memory serves the merge.
			if err := c.spillRun(run); err != nil {
				return err
			}
		}
		c.mem.free(r.memory)
		r.memory = c.upTo(want())
		if enough() {
			return nil
		}
	}
	for !enough() {
		memory := r.memory
		if len(memory) < len(c.scrap) {
			memory = c.scrap
		}
		if err := c.pass(memory, c.most(memory), stop); err != nil {
			return err
		}
	}
	return nil
}

// most is the number of runs that memory can read at once, and that may be open.
func (c *core) most(memory []byte) int {
	set := mergeSet{o: &c.o}
	return min(max(set.fits(c.runs, int64(len(memory))), 1), c.o.open)
}

// upTo allocates n bytes, or as many as there are, if that is more than scrap has.
func (c *core) upTo(n int64) []byte {
	for n = min(n, c.mem.room()); n > int64(len(c.scrap)); n = n * 3 / 4 {
		if b, err := c.mem.alloc(int(n)); err == nil {
			return b
		}
	}
	return nil
}

// end ends the iteration.
func (r *reading) end() {
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	r.c.mem.free(r.memory)
	r.c.reading = false
}

// A stopInput asks now and then whether to go on.
type stopInput struct {
	memoryInput
	stop func() error
}

func (s *stopInput) next() (key, value []byte, ok bool, err error) {
	if s.i%1024 == 0 {
		if err := s.stop(); err != nil {
			return nil, nil, false, err
		}
	}
	return s.memoryInput.next()
}
