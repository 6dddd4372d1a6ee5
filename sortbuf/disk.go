// SPDX-License-Identifier: Apache-2.0

package sortbuf

import (
	"fmt"
	"os"
	"sync"

	"github.com/freehold-go/freehold/internal/tempfile"
)

// A disk is the spill files of a Sorter, a Merge or a Save. It is safe for concurrent use.
type disk struct {
	o *Options

	mu      sync.Mutex
	used    int64 // Of the files that exist.
	written int64 // Of all runs.
	files   int
}

// account adds n bytes to those used, or refuses them.
func (d *disk) account(n int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.o.MaxDisk > 0 && n > 0 && d.used+n > d.o.MaxDisk {
		return fmt.Errorf("%w: %d more bytes; %d of %d are used", ErrMaxDisk, n, d.used, d.o.MaxDisk)
	}
	d.used += n
	return nil
}

// write writes the records of an input to a run. memory has writerBytes. It reports every record to
// the phase, which has total ones. stop is asked before each block.
func (d *disk) write(in input, memory []byte, phase Phase, total int64, stop func() error) (*diskRun, error) {
	path := d.o.dir()
	var f *os.File
	err := d.o.fault("create")
	if err == nil {
		f, err = tempfile.Spill(path)
	}
	if err != nil {
		return nil, &SpillError{Path: path, Err: err}
	}
	var w *runWriter
	kept := false
	defer func() { // Also if Combine panics.
		if !kept {
			f.Close()
			if w != nil {
				d.account(-w.allocated)
			}
		}
	}()
	w = newRunWriter(d.o, f, memory, d.account)
	w.stop = func() error {
		d.o.report(phase, w.records, total)
		return stop()
	}
	if err := w.copy(in); err != nil {
		return nil, w.failed(path, err)
	}
	d.mu.Lock()
	d.written += w.at
	d.files++
	d.mu.Unlock()
	kept = true
	return &diskRun{f: f, path: path, end: w.blocksEnd, size: w.at, records: w.records, largest: w.largest, first: w.first, last: w.lastBuf}, nil
}

// remove closes the run, which frees its disk space.
func (d *disk) remove(r *diskRun) {
	r.f.Close()
	d.account(-r.size)
	d.mu.Lock()
	d.files--
	d.mu.Unlock()
}

// stats is the bytes of the files that exist, and of all that were written.
func (d *disk) stats() (used, written int64, files int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.used, d.written, d.files
}

// A mergeSet is the runs of a merge: those on disk, in order of arrival.
type mergeSet struct {
	o    *Options
	disk *disk
	runs []*diskRun
}

// open returns inputs of runs, with an equal part of memory each beyond their needs.
func (s *mergeSet) open(runs []*diskRun, memory []byte, stop func() error) (inputs []input, firsts, lasts [][]byte) {
	var need int64
	for _, r := range runs {
		need += r.need(s.o)
	}
	more := (int64(len(memory)) - need) / int64(max(len(runs), 1))
	for _, r := range runs {
		n := min(r.need(s.o)+min(more, mostRead), int64(len(memory)))
		inputs = append(inputs, &blockInput{from: newBlockReader(s.o, r, memory[:n:n]), stop: stop})
		memory = memory[n:]
		firsts, lasts = append(firsts, r.first), append(lasts, r.last)
	}
	return inputs, firsts, lasts
}

// mostRead is the largest read. Larger ones are not faster, and take memory from the page cache.
const mostRead = 512 << 10

// fits says how many of the runs, from the first on, memory of n bytes can read at once.
func (s *mergeSet) fits(runs []*diskRun, n int64) int {
	for i, r := range runs {
		if n -= r.need(s.o); n < 0 {
			return i
		}
	}
	return len(runs)
}

// pass merges adjacent runs to one: those with the fewest bytes, of as many as can be merged at once
// and must be, so that `most` runs remain or fewer. memory has the writer's bytes in front.
func (s *mergeSet) pass(memory []byte, most int, stop func() error) error {
	own := writerBytes(s.o.block)
	begin, count, least := -1, 0, int64(0)
	for i := range s.runs {
		n := min(s.fits(s.runs[i:], int64(len(memory)-own)), max(len(s.runs)-most+1, 2))
		if n < 2 || n < count {
			continue
		}
		var size int64
		for _, r := range s.runs[i : i+n] {
			size += r.size
		}
		if n > count || size < least {
			begin, count, least = i, n, size
		}
	}
	if begin < 0 {
		return fmt.Errorf("sortbuf: %w: no two runs can be merged in %d bytes", errNoRoom, len(memory))
	}
	group := s.runs[begin : begin+count]
	inputs, firsts, lasts := s.open(group, memory[own:], stop)
	var total int64
	for _, r := range group {
		total += r.records
	}
	merged, err := s.disk.write(s.o.output(newMerged(s.o, inputs, prefixOf(s.o, firsts, lasts))), memory[:own], PhaseMerge, total, stop)
	if err != nil {
		return err
	}
	for _, r := range group {
		s.disk.remove(r)
	}
	s.runs = append(append(s.runs[:begin:begin], merged), s.runs[begin+count:]...)
	return nil
}
