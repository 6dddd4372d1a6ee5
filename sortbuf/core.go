// SPDX-License-Identifier: Apache-2.0

package sortbuf

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/freehold-go/freehold/offheap"
)

// A core is the state of a Sorter. It does not lead to the Sorter, so that the Sorter's cleanup can
// release it.
//
// The life of a record:
//
//  1. A writer appends it to its own chunk, without a lock.
//  2. The full chunk joins cur. The writer takes another one, if budget and limit leave room for it
//     and for the index of all records.
//  3. If not, cur becomes a job, and the next cur begins. The job sorts its records and writes them to
//     a run, on a goroutine of its own. After the first spill cur is half of the memory at most, so
//     that it fills while the job works. There is one job at a time.
//  4. If the job fails, its records stay in stuck, and the call that waits for it returns the error.
//     The next call that needs memory starts the job again.
//  5. Sorted ends the filling, and merges the runs with what is left in memory.
type core struct {
	o     Options
	mem   *memory
	disk  disk
	scrap []byte // Memory for spills and merges that is there from the start.

	asked     atomic.Bool            // Another sorter of the Purpose asks for memory.
	stop      atomic.Bool            // Jobs end early.
	threshold atomic.Pointer[[]byte] // With Limit: there are enough records that are not above this key.
	filled    atomic.Bool            // No records are added any more.

	mu      sync.Mutex
	writers []*writer
	cur     *records
	stuck   *memoryRun
	job     *job
	runs    []*diskRun
	state   state
	spilled bool
	tight   bool // Limit and Combine leave too many records to be kept in memory.
	records int64
	dropped int64 // Records that the threshold refused.
	reading bool
	last    *memoryRun // What Sorted has sorted.
}

type state uint8

const (
	filling state = iota
	sorting
	closed
)

func newCore(o Options) (*core, error) {
	c := &core{o: o, mem: newMemory(&o), cur: newRecords(o.chunk)}
	c.disk.o = &c.o
	reserve := min(mostReserve, o.Memory)
	var err error
	if c.scrap, err = c.mem.alloc(int(min(mostReserve/2, o.Memory/4))); err == nil {
		err = c.mem.reserve(reserve - int64(len(c.scrap)))
	}
	if err != nil {
		c.release()
		return nil, err
	}
	if o.Purpose != nil {
		sharing.join(c)
	}
	return c, nil
}

// add appends a record.
func (c *core) add(w *writer, key, value []byte) error {
	if len(key)|len(value) < 0x80 && !c.asked.Load() && c.o.Limit == 0 {
		n := 2 + len(key) + len(value)
		if b := w.block[w.at:]; n <= len(b) && w.count < w.most {
			b[0], b[1] = byte(len(key)), byte(len(value))
			copy(b[2:], key)
			copy(b[2+len(key):], value)
			w.at += n
			w.count++
			return nil
		}
	}
	return c.addSlow(w, key, value)
}

//go:noinline
func (c *core) addSlow(w *writer, key, value []byte) error {
	if t := c.threshold.Load(); t != nil {
		if order := c.o.compare(key, *t); order > 0 || order == 0 && c.o.Combine == nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			err := c.refused()
			if err == nil {
				c.dropped++
			}
			return err
		}
	}
	if err := c.room(w, len(key), len(value)); err != nil {
		return err
	}
	w.put(key, value)
	return nil
}

// reserve appends a record that the caller fills.
func (c *core) reserve(w *writer, nKey, nValue int) (key, value []byte, err error) {
	if nKey < 0 || nValue < 0 {
		panic(fmt.Errorf("sortbuf: Reserve(%d, %d): negative length", nKey, nValue))
	}
	if err := c.room(w, nKey, nValue); err != nil {
		return nil, nil, err
	}
	b := w.block[w.at:]
	n := putLengths(b, nKey, nValue)
	end := n + nKey + nValue
	w.at += end
	w.count++
	return b[n : n+nKey : n+nKey], b[n+nKey : end : end], nil
}

// room makes sure that a record fits in the chunk of w.
func (c *core) room(w *writer, nKey, nValue int) error {
	if most := c.o.mostRecord(); int64(nKey) > most || int64(nValue) > most-int64(nKey) {
		return tooLarge(uint64(nKey)+uint64(nValue), &c.o)
	}
	need := headerLen(nKey, nValue) + nKey + nValue
	if w.fits(need) && !c.asked.Load() {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.refused(); err != nil {
		return err
	}
	returned := false
	defer func() {
		if !returned && c.state != closed { // Compare or Combine has panicked.
			c.close()
		}
	}()
	if c.asked.Load() {
		c.flush(w)
	}
	var err error
	if !w.fits(need) {
		err = c.chunkFor(w, need)
	}
	returned = true
	return err
}

// refused is an error if no records can be added. The caller holds the lock.
func (c *core) refused() error {
	switch c.state {
	case closed:
		return ErrClosed
	case sorting:
		return ErrSorted
	}
	return nil
}

// recordsPerChunk bounds the index of the records of a chunk, so that scrap has room for it.
func (c *core) recordsPerChunk() int { return c.o.chunk / 8 }

// indexRoom is the bytes that the index of all records will need, with n more of them.
func (c *core) indexRoom(n int64) int64 {
	n += c.cur.n
	for _, w := range c.writers {
		if w.block != nil {
			n += int64(w.most)
		}
	}
	return indexBytes(n)
}

// mergeRoom is the bytes that the merge of all runs and of two more will need, if scrap is too small.
// They stay free, so that records can be read when memory and disk are full.
func (c *core) mergeRoom() (n int64) {
	for _, r := range c.runs {
		n += r.need(&c.o)
	}
	if len(c.runs) > 0 {
		n += 2 * c.runs[len(c.runs)-1].need(&c.o)
	}
	if n <= int64(len(c.scrap)) {
		return 0
	}
	return min(n, c.o.Memory/4)
}

// mostRuns is the number of runs that are kept. More are merged when the next run is spilled.
func (c *core) mostRuns() int {
	need := int64(0)
	for _, r := range c.runs {
		need = max(need, r.need(&c.o))
	}
	return min(c.o.open, int(max(c.o.Memory/4/max(need, 1)-1, 4)))
}

// part is the bytes of records and index at which cur becomes a job, if jobs are to leave room for
// the next records, and for what Limit and Combine keep.
func (c *core) part() int64 {
	rest := c.o.Memory - int64(len(c.scrap)) - c.mergeRoom()
	switch {
	case c.shrinks():
		return rest / 3
	case c.spilled:
		return rest / 2
	}
	return rest
}

// shrinks says whether a job may leave so few records that they stay in memory.
func (c *core) shrinks() bool {
	return (c.o.Limit > 0 || c.o.Combine != nil) && !c.tight && c.state == filling
}

// chunkFor gives w a chunk for a record of n bytes. The caller holds the lock.
func (c *core) chunkFor(w *writer, n int) error {
	c.take(w)
	size, count := c.o.chunk, c.recordsPerChunk()
	if n > size {
		size, count = n, 1
	}
	for {
		full := c.cur.bytes+indexBytes(c.cur.n) >= c.part()
		err := errNoRoom
		if !full && c.mem.room() >= int64(size)+c.indexRoom(int64(count))+c.mergeRoom() {
			var b []byte
			if b, err = c.mem.alloc(size); err == nil {
				w.give(b, count)
				return nil
			}
		}
		switch {
		case c.job != nil:
			if err := c.collect(); err != nil {
				return err
			}
		case c.cur.n == 0 && c.stuck == nil:
			if c.o.Purpose != nil {
				sharing.ask(c)
			}
			if err == errNoRoom {
				_, err = c.mem.alloc(int(c.o.Memory)) // Its error has the numbers.
			}
			return err
		default:
			if err := c.spill(); err != nil {
				return err
			}
		}
	}
}

// take moves the writer's chunk to cur. The caller holds the lock.
func (c *core) take(w *writer) {
	block, n := w.end()
	if n > 0 {
		c.cur.add(block, n)
		c.records += int64(n)
	} else {
		c.mem.free(block)
	}
}

// A job sorts and spills records.
type job struct {
	run    *memoryRun
	memory []byte // For the index; nil if there is none, so the run is spilled in pieces.
	keep   int64  // Limit and Combine may leave so many bytes in memory.
	done   chan struct{}
	panics caught

	runs  []*diskRun
	kept  *records // What Limit and Combine left.
	tight bool
	err   error
}

// spill starts a job. There must be none. If there are too many runs, it merges some before.
func (c *core) spill() error {
	if most := c.mostRuns(); len(c.runs) >= most {
		err := c.pass(c.scrap, max(most/2, 1), c.stopped)
		if err != nil && !errors.Is(err, errNoRoom) { // Sorted will have more memory.
			return err
		}
	}
	j := &job{run: c.stuck, done: make(chan struct{})}
	if c.shrinks() {
		j.keep = c.part() / 2
	}
	c.stuck = nil
	if j.run == nil {
		j.run = &memoryRun{records: c.cur}
		c.cur = newRecords(c.o.chunk)
	}
	if !j.run.ready && j.run.n > 0 {
		j.memory, _ = c.mem.alloc(int(indexBytes(j.run.n)))
	}
	c.spilled = true
	c.job = j
	if c.o.Parallel > 1 {
		go c.work(j)
	} else {
		c.work(j)
	}
	return nil
}

// pass merges some runs to one, so that `most` are left or more passes follow. memory is scrap or
// larger.
func (c *core) pass(memory []byte, most int, stop func() error) error {
	set := mergeSet{o: &c.o, disk: &c.disk, runs: c.runs}
	err := set.pass(memory, most, stop)
	c.runs = set.runs
	return err
}

// work does a job. It holds no lock.
func (c *core) work(j *job) {
	defer close(j.done)
	defer j.panics.recover()
	if j.memory == nil && !j.run.ready {
		j.err = c.inPieces(j)
		return
	}
	if !j.run.ready && !j.run.sort(&c.o, j.memory, &c.stop) {
		j.err = ErrClosed
		return
	}
	if j.keep > 0 {
		if j.kept = c.shrink(j.run, j.keep); j.kept != nil {
			j.run.release(c.mem)
			return
		}
		j.tight = true
	}
	r, err := c.disk.write(c.o.output(&memoryInput{memoryRun: j.run}), c.scrap, PhaseSpill, j.run.n, c.stopped)
	if err != nil {
		j.err = err
		return
	}
	c.lower(r.records, r.last)
	j.runs = append(j.runs, r)
	j.run.release(c.mem)
}

// stopped is an error if the Sorter was closed.
func (c *core) stopped() error {
	if c.stop.Load() {
		return ErrClosed
	}
	return nil
}

// inPieces spills as many records at a time as the index in scrap has room for.
func (c *core) inPieces(j *job) error {
	own := (writerBytes(c.o.block) + 7) &^ 7
	memory := c.scrap[own : own+(len(c.scrap)-own)/16*16]
	for len(j.run.blocks) > 0 {
		piece := newRecords(c.o.chunk)
		for i, b := range j.run.blocks {
			if n := int64(j.run.counts[i]); indexBytes(piece.n+n) <= int64(len(memory)) {
				piece.add(b, int(n))
				continue
			}
			break
		}
		if len(piece.blocks) == 0 {
			return errNoRoom
		}
		m := &memoryRun{records: piece}
		if !m.sort(&c.o, memory[:indexBytes(piece.n)], &c.stop) {
			return ErrClosed
		}
		r, err := c.disk.write(c.o.output(&memoryInput{memoryRun: m}), c.scrap[:own], PhaseSpill, m.n, c.stopped)
		if err != nil {
			return err
		}
		j.runs = append(j.runs, r)
		rest := newRecords(c.o.chunk)
		for i := len(piece.blocks); i < len(j.run.blocks); i++ {
			rest.add(j.run.blocks[i], int(j.run.counts[i]))
		}
		j.run.records = rest
		for _, b := range piece.blocks {
			c.mem.free(b)
		}
	}
	return nil
}

// shrink copies what Limit and Combine leave of a run to new chunks. It returns nil if that is more
// than `most` bytes with its index, or memory is refused.
func (c *core) shrink(run *memoryRun, most int64) *records {
	kept := newRecords(c.o.chunk)
	var w writer
	whole := false
	defer func() {
		if !whole { // Also if Combine panics.
			b, _ := w.end()
			c.mem.free(b)
			(&memoryRun{records: kept}).release(c.mem)
		}
	}()
	in := c.o.output(&memoryInput{memoryRun: run})
	var last []byte
	for {
		key, value, ok, err := in.next()
		if err != nil {
			return nil
		}
		if !ok {
			break
		}
		if n := headerLen(len(key), len(value)) + len(key) + len(value); !w.fits(n) {
			if b, n := w.end(); n > 0 {
				kept.add(b, n)
			}
			size := max(c.o.chunk, n)
			if kept.bytes+indexBytes(kept.n)+int64(size) > most {
				return nil
			}
			b, err := c.mem.alloc(size)
			if err != nil {
				return nil
			}
			w.give(b, c.recordsPerChunk())
		}
		w.put(key, value)
		last = key
	}
	if b, n := w.end(); n > 0 {
		kept.add(b, n)
	}
	c.lower(kept.n, last)
	whole = true
	return kept
}

// lower notes that n records are not above a key.
func (c *core) lower(n int64, key []byte) {
	if c.o.Limit == 0 || n < c.o.Limit {
		return
	}
	if t := c.threshold.Load(); t == nil || c.o.compare(key, *t) < 0 {
		key = slices.Clone(key)
		c.threshold.Store(&key)
	}
}

// collect waits for the job and takes its result. The caller holds the lock.
func (c *core) collect() error {
	j := c.job
	if j == nil {
		return nil
	}
	<-j.done
	c.job = nil
	c.runs = append(c.runs, j.runs...)
	if j.run.n > 0 {
		c.stuck = j.run
	}
	if j.kept != nil {
		for i, b := range c.cur.blocks {
			j.kept.add(b, int(c.cur.counts[i]))
		}
		c.cur = j.kept
	}
	c.tight = c.tight || j.tight
	if c.o.Purpose != nil {
		c.mem.trim()
	}
	if j.panics.any() {
		c.close()
		j.panics.panic()
	}
	return j.err
}

// flush spills all that a writer and cur hold, because another sorter needs memory. An error is left
// to the next call that needs memory. The caller holds the lock.
func (c *core) flush(w *writer) {
	c.asked.Store(false)
	if c.collect() != nil {
		return
	}
	c.take(w)
	if c.cur.n > 0 || c.stuck != nil {
		if c.spill() == nil {
			_ = c.collect()
		}
	}
	c.mem.trim()
}

// close frees all but the chunks of writers, which may be in use. The caller holds the lock.
func (c *core) close() {
	c.state = closed
	c.stop.Store(true)
	if j := c.job; j != nil {
		<-j.done
		c.job = nil
		c.runs = append(c.runs, j.runs...)
		j.run.release(c.mem)
		if j.kept != nil {
			(&memoryRun{records: j.kept}).release(c.mem)
		}
	}
	if c.o.Purpose != nil {
		sharing.leave(c)
	}
	for _, run := range []*memoryRun{c.stuck, c.last, {records: c.cur}} {
		if run != nil {
			run.release(c.mem)
		}
	}
	c.stuck, c.last = nil, nil
	for _, r := range c.runs {
		c.disk.remove(r)
	}
	c.runs = nil
	c.release()
}

// release frees the memory that newCore has allocated.
func (c *core) release() {
	c.mem.free(c.scrap)
	c.scrap = nil
	c.mem.close()
}

// drop frees all. Nothing else may use the Sorter.
func (c *core) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state != closed {
		c.close()
	}
	for _, w := range c.writers {
		b, _ := w.end()
		c.mem.free(b)
	}
	c.writers = nil
}

// sharing has the sorters of each Purpose.
var sharing = shares{of: map[*offheap.Purpose][]*core{}}

type shares struct {
	mu sync.Mutex
	of map[*offheap.Purpose][]*core
}

func (s *shares) join(c *core) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of[c.o.Purpose] = append(s.of[c.o.Purpose], c)
}

func (s *shares) leave(c *core) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rest := slices.DeleteFunc(s.of[c.o.Purpose], func(o *core) bool { return o == c })
	if s.of[c.o.Purpose] = rest; len(rest) == 0 {
		delete(s.of, c.o.Purpose)
	}
}

// ask asks the largest other sorter of the Purpose that is being filled to spill.
func (s *shares) ask(c *core) {
	s.mu.Lock()
	defer s.mu.Unlock()
	others := slices.DeleteFunc(slices.Clone(s.of[c.o.Purpose]), func(o *core) bool { return o == c || o.filled.Load() })
	if len(others) == 0 {
		return
	}
	size := func(o *core) int64 { used, _ := o.mem.stats(); return used }
	slices.MaxFunc(others, func(a, b *core) int { return cmp.Compare(size(a), size(b)) }).asked.Store(true)
}
