// SPDX-License-Identifier: Apache-2.0

package block

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
)

// A SpillDir is a directory on a local disk. The bytes of chains can move to files in it, and take no memory from then on. Its methods may be called by
// several goroutines at once.
//
// A file has no name once it is open, so the system removes it even if the process is killed. Where open files must have names (Windows) it is
// removed when its last bytes are given up, and stays if the process is killed before.
type SpillDir struct {
	dir   string
	limit int64
	used  atomic.Int64
}

// NewSpillDir checks that files can be made in a directory. Limit is the largest number of bytes that all of them may have together.
func NewSpillDir(dir string, limit int64) (*SpillDir, error) {
	f, err := create(dir)
	if err != nil {
		return nil, err
	}
	f.remove()
	return &SpillDir{dir: dir, limit: limit}, nil
}

// Used is the number of bytes in files now, those included that were given up while others in their file are in use.
func (d *SpillDir) Used() int64 { return d.used.Load() }

// A Spill is where the bytes of some chains go, one file after another. Its methods are called by one goroutine at a time.
type Spill struct {
	dir  *SpillDir
	file *spillFile // that the next bytes go to, or nil
}

// NewSpill makes a Spill without a file.
func (d *SpillDir) NewSpill() *Spill { return &Spill{dir: d} }

const (
	leastSpill  = 64 << 10 // Less is not worth a write.
	enoughSpill = 64 << 20 // A larger file gets no more, so that its space is free as soon as its chains are.
)

// ErrSpillLimit says that the files of a SpillDir have reached its limit.
var ErrSpillLimit = errors.New("the files of the spill directory have reached their limit")

// Move moves to a file what chains have in memory, and returns how much it was: 0 if it is too little to be worth it. The chains have the same bytes as before. Nobody may use them
// meanwhile. If it fails (the disk is full, or ErrSpillLimit), they are as they were.
func (s *Spill) Move(chains []*Chain) (int64, error) {
	var n int64
	for _, c := range chains {
		n += c.inMemory()
	}
	if n < leastSpill {
		return 0, nil
	}
	if s.dir.used.Add(n) > s.dir.limit {
		s.dir.used.Add(-n)
		return 0, ErrSpillLimit
	}
	f, err := s.next()
	if err == nil {
		err = f.write(chains)
	}
	if err != nil {
		s.dir.used.Add(-n)
		return 0, err
	}
	place := f.size
	f.size += n
	for _, c := range chains {
		place = c.moved(f, place)
	}
	return n, nil
}

// next is the file that the next bytes go to.
func (s *Spill) next() (*spillFile, error) {
	if s.file != nil && s.file.size >= enoughSpill {
		s.Free()
	}
	if s.file == nil {
		f, err := create(s.dir.dir)
		if err != nil {
			return nil, err
		}
		f.dir = s.dir
		s.file = f
	}
	return s.file, nil
}

// Free says that nothing more will be moved for now. The chains keep their bytes.
func (s *Spill) Free() {
	if s.file != nil {
		s.file.release()
		s.file = nil
	}
}

// spillFile is a file with bytes of chains. It is removed when nobody holds it any more.
type spillFile struct {
	*os.File
	dir     *SpillDir
	size    int64
	unnamed bool

	mu      sync.Mutex
	holders int // the Spill, and pieces
}

func create(dir string) (*spillFile, error) {
	f, err := os.CreateTemp(dir, "freehold-sink-*.spill")
	if err != nil {
		return nil, fmt.Errorf("the spill directory: %w", err)
	}
	return &spillFile{File: f, holders: 1, unnamed: os.Remove(f.Name()) == nil}, nil
}

func (f *spillFile) hold() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.holders++
}

func (f *spillFile) release() {
	f.mu.Lock()
	f.holders--
	last := f.holders == 0
	f.mu.Unlock()
	if last {
		f.remove()
		f.dir.used.Add(-f.size)
	}
}

// remove removes the file. The errors do not matter: nobody needs its bytes.
func (f *spillFile) remove() {
	f.Close()
	if !f.unnamed {
		os.Remove(f.Name())
	}
}

// write appends what chains have in memory to the file. After an error the file has its old size, if the system can do that.
func (f *spillFile) write(chains []*Chain) error {
	w := bufio.NewWriterSize(&section{f.File, f.size}, 64<<10)
	for _, c := range chains {
		for _, b := range c.blocks[c.spilled:] {
			w.Write(b.bytes) // Flush returns the error.
		}
	}
	if err := w.Flush(); err != nil {
		f.Truncate(f.size)
		return fmt.Errorf("spilling: %w", err)
	}
	return nil
}

// section writes to a file from a place on.
type section struct {
	f  *os.File
	at int64
}

func (s *section) Write(p []byte) (int, error) {
	n, err := s.f.WriteAt(p, s.at)
	s.at += int64(n)
	return n, err
}

// moved has the pieces that are in memory in a file from a place on, and returns the place behind them.
func (c *Chain) moved(f *spillFile, place int64) int64 {
	n := c.inMemory()
	if n == 0 {
		return place
	}
	c.CRC32C() // of bytes that are in memory still
	first := c.spilled
	at := c.blocks[first].at
	for _, b := range c.blocks[first:] {
		c.budget.Free(b.bytes[:cap(b.bytes)])
	}
	clear(c.blocks[first:])
	f.hold()
	c.blocks = append(c.blocks[:first], piece{at: at, file: f, place: place, length: n})
	c.spilled = len(c.blocks)
	c.summed = c.spilled
	return place + n
}
