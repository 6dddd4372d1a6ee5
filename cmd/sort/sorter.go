// SPDX-License-Identifier: Apache-2.0

package sort

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"math"
	"os"
	"runtime"
	"sync"

	"github.com/freehold-go/freehold/sortbuf"
)

// The block that a sort reads at a time is a sixteenth of the memory within these bounds.
const (
	leastBlock = 64 << 10
	mostBlock  = 1 << 20
)

// leastMemory is the smallest buffer; a smaller -S stands for it. unknownMemory is the default on
// systems that do not report their memory.
const (
	leastMemory   = 1 << 20
	unknownMemory = 256 << 20
)

// A block is whole lines of one input.
type block struct {
	number uint32 // in the order of the inputs
	lines  []byte
}

// sortFiles sorts files. One goroutine reads blocks, others make records of their lines. Each of
// those has a writer of the sorter.
func (c *command) sortFiles(files []string, out *output) error {
	o := sortbuf.Options{Memory: c.budget(), Dir: cmp.Or(c.dir, os.Getenv("TMPDIR")), Parallel: c.workers()}
	if c.unique {
		o.Combine = c.keepFirst
	}
	if c.compress {
		var err error
		if o.Codec, err = zstdCodec(); err != nil {
			return err
		}
	}
	c.longest, c.block = int(min(o.Memory/4, math.MaxInt32)), int(min(max(o.Memory/16, leastBlock), mostBlock))
	s, err := sortbuf.New(o)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := c.fill(s, files); err != nil {
		return err
	}
	var line, scratch []byte
	for r, err := range s.Sorted(context.Background()) {
		if err != nil {
			return err
		}
		line, scratch = c.line(r.Key, r.Value, scratch)
		if err := out.write(line); err != nil {
			return err
		}
	}
	return nil
}

// budget is the memory of the sorter: by default a quarter of the container's or the machine's.
func (c *command) budget() int64 {
	memory := c.memory
	if memory == 0 {
		memory = cmp.Or(machineMemory()/4, unknownMemory)
	}
	return max(memory, leastMemory)
}

// workers is the number of goroutines that make records, and of those that sort them. Each holds a
// block, so more than there are processors would cost memory for nothing.
func (c *command) workers() int {
	if c.parallel > 0 {
		return min(c.parallel, max(runtime.NumCPU(), 4))
	}
	return min(runtime.GOMAXPROCS(0), 8)
}

// fill adds the lines of all files to the sorter. It returns the first error.
func (c *command) fill(s *sortbuf.Sorter, files []string) error {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	blocks, free := make(chan block), make(chan []byte, c.workers()+1)
	for range cap(free) {
		free <- nil
	}
	var workers sync.WaitGroup
	for range c.workers() {
		w := s.Writer()
		workers.Go(func() {
			var scratch []byte
			for b := range blocks {
				var err error
				if scratch, err = c.addBlock(w, b, scratch); err != nil {
					cancel(err)
					return
				}
				if cap(b.lines) > c.block { // of a long line
					b.lines = nil
				}
				free <- b.lines
			}
		})
	}
	number := uint32(0)
	for _, name := range files {
		if err := c.readBlocks(ctx, name, &number, blocks, free); err != nil {
			cancel(err)
			break
		}
	}
	close(blocks)
	workers.Wait()
	return context.Cause(ctx)
}

// readBlocks passes the blocks of a file on. Number is that of the next block.
func (c *command) readBlocks(ctx context.Context, name string, number *uint32, blocks chan<- block, free chan []byte) error {
	in, err := c.open(name)
	if err != nil {
		return err
	}
	defer in.close()
	for {
		var buf []byte
		select {
		case buf = <-free:
		case <-ctx.Done():
			return nil // of another error
		}
		if buf == nil {
			buf = make([]byte, 0, c.block)
		}
		if buf, err = in.next(buf); err == io.EOF {
			free <- buf
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case blocks <- block{*number, buf}:
		case <-ctx.Done():
			return nil
		}
		*number++
	}
}

// addBlock adds the lines of a block. It returns scratch for the next call.
func (c *command) addBlock(w *sortbuf.Writer, b block, scratch []byte) ([]byte, error) {
	for lines := b.lines; len(lines) > 0; {
		end := bytes.IndexByte(lines, c.eol)
		var key, value []byte
		key, value, scratch = c.record(scratch, lines[:end], b.number)
		if err := w.Add(key, value); err != nil {
			return scratch, err
		}
		lines = lines[end+1:]
	}
	return scratch, nil
}
