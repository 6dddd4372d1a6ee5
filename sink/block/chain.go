// SPDX-License-Identifier: Apache-2.0

package block

import (
	"fmt"
	"hash/crc32"
	"io"
	"sort"
)

// A Chain is a growing row of bytes in blocks outside the Go heap; its beginning may be in files, see Spill. It serves one goroutine at a time; once nobody writes to
// it, several may read it.
type Chain struct {
	budget *Budget
	blocks []piece
	size   int64
	crc    uint32
	summed int // blocks whose bytes crc contains whole

	spilled int // of blocks, the first ones, that are in files
}

// piece is a block with the place of its first byte in the chain. Its length is what is written to it, its capacity what fits.
type piece struct {
	bytes []byte // as Budget.Alloc returned it, cut to what is written
	at    int64

	// In place of bytes, if they are in a file:
	file          file
	place, length int64
}

// file holds bytes until it is released.
type file interface {
	io.ReaderAt
	release()
}

// read copies bytes from a place in the piece on.
func (p piece) read(dst []byte, from int64) (int, error) {
	if p.file == nil {
		return copy(dst, p.bytes[from:]), nil
	}
	return p.file.ReadAt(dst[:min(int64(len(dst)), p.length-from)], p.place+from)
}

const (
	smallestBlock = 1 << 10
	largestBlock  = 256 << 10
)

// NewChain makes an empty chain. It takes no memory before the first byte.
func NewChain(b *Budget) *Chain { return &Chain{budget: b} }

// Size is the number of bytes.
func (c *Chain) Size() int64 { return c.size }

// Write appends p. The error is that of Budget.Alloc; then the chain ends with a part of p, or with nothing of it.
func (c *Chain) Write(p []byte) (int, error) {
	written := 0
	for len(p) > 0 {
		room, err := c.room(len(p))
		if err != nil {
			return written, err
		}
		n := copy(room, p)
		c.extend(n)
		written += n
		p = p[n:]
	}
	return written, nil
}

// room returns memory behind the last byte, at least one byte. A new block is as large as all before it that are in memory, so small objects take little and
// large ones few blocks, and at least as large as want up to the largest block.
func (c *Chain) room(want int) ([]byte, error) {
	if n := len(c.blocks); n > 0 {
		last := c.blocks[n-1].bytes
		if len(last) < cap(last) {
			return last[len(last):cap(last)], nil
		}
	}
	n := int64(smallestBlock)
	for size := c.inMemory(); n < largestBlock && (n < size || n < int64(want)); {
		n *= 2
	}
	b, err := c.budget.Alloc(int(n))
	if err != nil {
		return nil, err
	}
	c.blocks = append(c.blocks, piece{bytes: b[:0], at: c.size})
	return b, nil
}

// extend says that n bytes were written to room.
func (c *Chain) extend(n int) {
	last := &c.blocks[len(c.blocks)-1]
	last.bytes = last.bytes[:len(last.bytes)+n]
	c.size += int64(n)
}

// inMemory is the number of bytes in blocks.
func (c *Chain) inMemory() int64 {
	if c.spilled == len(c.blocks) {
		return 0
	}
	return c.size - c.blocks[c.spilled].at
}

// Append moves the bytes of another chain of the same budget, of which nothing was spilled, to the end of this one; the other chain is empty afterwards. Large chains
// are moved without a copy, small ones are copied, so that many of them leave no gaps.
func (c *Chain) Append(other *Chain) error {
	if other.size < largestBlock/8 {
		for _, b := range other.blocks {
			if _, err := c.Write(b.bytes); err != nil {
				return err
			}
		}
		other.Free()
		return nil
	}
	for _, b := range other.blocks {
		c.blocks = append(c.blocks, piece{bytes: b.bytes, at: c.size})
		c.size += int64(len(b.bytes))
	}
	*other = Chain{budget: other.budget}
	return nil
}

// Free gives up the memory. The chain is empty afterwards.
func (c *Chain) Free() {
	for _, b := range c.blocks {
		c.budget.Free(b.bytes[:cap(b.bytes)])
		if b.file != nil {
			b.file.release()
		}
	}
	c.blocks, c.size, c.crc, c.summed, c.spilled = nil, 0, 0, 0, 0
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// CRC32C is the checksum of the bytes by the Castagnoli polynomial. The first call reads all that are in memory; nothing may be written afterwards.
func (c *Chain) CRC32C() uint32 {
	for ; c.summed < len(c.blocks); c.summed++ {
		c.crc = crc32.Update(c.crc, castagnoli, c.blocks[c.summed].bytes)
	}
	return c.crc
}

// ReadAt implements io.ReaderAt.
func (c *Chain) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, fmt.Errorf("block: read at %d", off)
	}
	if off >= c.size {
		if len(p) == 0 {
			return 0, nil
		}
		return 0, io.EOF
	}
	// The last block that begins at or before off.
	i := sort.Search(len(c.blocks), func(i int) bool { return c.blocks[i].at > off }) - 1
	n := 0
	for ; i < len(c.blocks) && n < len(p); i++ {
		b := c.blocks[i]
		got, err := b.read(p[n:], off+int64(n)-b.at)
		n += got
		if err != nil {
			return n, fmt.Errorf("block: reading what was spilled: %w", err)
		}
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}
