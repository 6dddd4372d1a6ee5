// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/bits"
	"strings"
	"unicode/utf8"

	"github.com/freehold-go/freehold/offheap"
)

// A Buffer is bytes off the Go heap that grow. It grows by another block, so growth neither copies
// nor clears what is there. Its methods are those of bytes.Buffer with the same meaning, except as
// they say. The zero Buffer is empty and ready.
//
// Free gives the memory back. A Buffer that is dropped without Free or Share leaks its memory. Blocks
// that were read are freed by a later call. Writes return an error if memory is refused
// ([offheap.ErrLimit], [offheap.ErrOutOfMemory]); what was written before stays. Bytes, Next, Peek and
// Grow panic then; [offheap.Try] makes that an error.
//
// One goroutine may use a Buffer at a time. The reader of ReadFrom and the writer of WriteTo must not
// use it: bytes could be lost, or be those of another buffer. A Buffer must not be copied; a call of a
// copy panics with an [*offheap.MisuseError], and so does any call after Share.
type Buffer struct {
	_       noCopy
	self    *Buffer // The Buffer itself. A copy has another value here, nil stands for none yet.
	purpose *offheap.Purpose
	blocks  [][]byte  // Of each, the length is what was written.
	few     [4][]byte // The first array of blocks.
	cur     int       // The block to be read next. Those before it can be freed, but for Unread.
	off     int       // The bytes of blocks[cur] that were read.
	length  int       // The bytes that were not read.
	last    lastRead  // What Unread can take back. It is noRead, or begin has something to do.
	shared  place     // Where Share was called.
}

// A lastRead is the bytes of the last rune, or:
type lastRead int8

const (
	noRead   lastRead = 0
	someRead lastRead = -1 // At least one byte.
	tidyOnly lastRead = -2 // Nothing, but there are blocks to be freed.
)

const (
	leastBlock = 512      // A request of fewer bytes takes no less.
	mostBlock  = 64 << 10 // Blocks grow with the Buffer up to the largest size class of offheap.
	// keptBlock is the largest block that an empty Buffer keeps for the next write.
	keptBlock = mostBlock
	minRead   = bytes.MinRead
)

// BufferFor returns an empty Buffer whose bytes count for p, whose limit holds.
func BufferFor(p *offheap.Purpose) *Buffer { return &Buffer{purpose: p} }

// begin prepares b for op, which takes no read back.
func (b *Buffer) begin(op string) {
	if b.self != b || b.last != noRead {
		b.beginSlow(op)
	}
}

// beginSlow frees the blocks that were read.
//
//go:noinline
func (b *Buffer) beginSlow(op string) {
	b.check(op)
	b.last = noRead
	if b.length == 0 {
		b.empty()
		return
	}
	if b.cur == 0 {
		return
	}
	for _, block := range b.blocks[:b.cur] {
		offheap.Free(block)
	}
	n := copy(b.blocks, b.blocks[b.cur:])
	clear(b.blocks[n:])
	b.blocks, b.cur = b.blocks[:n], 0
}

// check panics if op must not use b.
func (b *Buffer) check(op string) {
	switch {
	case b.self == b:
	case b.shared != 0:
		panic(misuse("Buffer."+op, "use after Share", "the bytes belong to the Frame; take another Buffer", b.shared))
	case b.self != nil:
		panic(copied("Buffer."+op, "Buffer"))
	default:
		b.self = b
		b.blocks = b.few[:0]
	}
}

// empty drops all bytes. It keeps the last block unless that is large.
func (b *Buffer) empty() {
	keep := len(b.blocks) - 1
	if keep >= 0 && cap(b.blocks[keep]) > keptBlock {
		keep = len(b.blocks)
	}
	for i, block := range b.blocks {
		if i != keep {
			offheap.Free(block)
		}
	}
	kept := b.blocks[min(max(keep, 0), len(b.blocks)):]
	for i := range kept {
		kept[i] = kept[i][:0]
	}
	n := copy(b.blocks, kept)
	clear(b.blocks[n:])
	b.blocks, b.cur, b.off, b.length = b.blocks[:n], 0, 0, 0
}

// room returns the unused bytes behind the last ones: at least one, and at least `least`. want is
// the number of bytes that the caller has.
func (b *Buffer) room(least, want int) ([]byte, error) {
	if n := len(b.blocks); n > 0 {
		if last := b.blocks[n-1]; cap(last)-len(last) >= max(1, least) {
			return last[len(last):cap(last)], nil
		}
	}
	size := max(least, want, leastBlock, min(b.length, mostBlock))
	if size < mostBlock {
		size = 1 << bits.Len(uint(size-1))
	}
	block, err := b.alloc(size)
	if err != nil {
		return nil, err
	}
	if n := len(b.blocks); n > 0 && len(b.blocks[n-1]) == 0 { // An empty Buffer's block that is too small.
		offheap.Free(b.blocks[n-1])
		b.blocks = b.blocks[:n-1]
	}
	b.blocks = append(b.blocks, block[:0])
	return block, nil
}

func (b *Buffer) alloc(n int) ([]byte, error) {
	if b.purpose == nil {
		return offheap.TryAllocUninit(n)
	}
	return b.purpose.TryAllocUninit(n)
}

// wrote counts n bytes that were written into what room returned.
func (b *Buffer) wrote(n int) {
	last := &b.blocks[len(b.blocks)-1]
	*last = (*last)[:len(*last)+n]
	b.length += n
}

// write appends p.
func write[S []byte | string](b *Buffer, p S) (n int, err error) {
	for len(p) > 0 {
		room, err := b.room(1, len(p))
		if err != nil {
			return n, err
		}
		k := copy(room, p)
		b.wrote(k)
		p, n = p[k:], n+k
	}
	return n, nil
}

// Write appends p. If memory is refused, it returns the number of bytes that were appended.
func (b *Buffer) Write(p []byte) (n int, err error) {
	b.begin("Write")
	if n := len(b.blocks); n > 0 {
		if last := &b.blocks[n-1]; cap(*last)-len(*last) >= len(p) {
			*last = append(*last, p...)
			b.length += len(p)
			return len(p), nil
		}
	}
	return write(b, p)
}

// WriteString is Write of a string.
func (b *Buffer) WriteString(s string) (n int, err error) {
	b.begin("WriteString")
	return write(b, s)
}

// WriteByte appends a byte.
func (b *Buffer) WriteByte(c byte) error {
	b.begin("WriteByte")
	room, err := b.room(1, 1)
	if err != nil {
		return err
	}
	room[0] = c
	b.wrote(1)
	return nil
}

// WriteRune appends r as UTF-8 and returns the number of bytes.
func (b *Buffer) WriteRune(r rune) (n int, err error) {
	b.begin("WriteRune")
	var p [utf8.UTFMax]byte
	return write(b, p[:utf8.EncodeRune(p[:], r)])
}

// ReadFrom appends what r has until io.EOF, and returns the number of bytes and any other error. If r
// counts bytes that it did not write, these can be bytes of earlier buffers.
func (b *Buffer) ReadFrom(r io.Reader) (n int64, err error) {
	b.begin("ReadFrom")
	for {
		room, err := b.room(minRead, minRead)
		if err != nil {
			return n, err
		}
		m, err := r.Read(room)
		if m < 0 || m > len(room) {
			panic(errors.New("pool: Buffer.ReadFrom: reader returned an invalid count from Read"))
		}
		b.wrote(m)
		n += int64(m)
		if err == io.EOF { // As io.Reader has it: an EOF that is wrapped is an error.
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}

// Grow makes room for n more bytes in one piece, so that writes of so many need no memory. No read
// can be taken back afterwards.
func (b *Buffer) Grow(n int) {
	b.begin("Grow")
	if n < 0 {
		panic(fmt.Errorf("pool: Buffer.Grow: negative count %d", n))
	}
	if n > 0 {
		_, err := b.room(n, n)
		must(err)
	}
}

// must turns a refusal of memory into the panic of functions without an error.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// Len is the number of bytes that were not read.
func (b *Buffer) Len() int {
	b.check("Len")
	return b.length
}

// Cap is the number of bytes of all blocks.
func (b *Buffer) Cap() (n int) {
	b.check("Cap")
	for _, block := range b.blocks {
		n += cap(block)
	}
	return n
}

// Available is the number of unused bytes behind the last ones.
func (b *Buffer) Available() int {
	b.check("Available")
	if n := len(b.blocks); n > 0 {
		return cap(b.blocks[n-1]) - len(b.blocks[n-1])
	}
	return 0
}

// AvailableBuffer returns an empty slice with the capacity Available, to append to and to Write. The
// bytes up to the capacity can be those of earlier buffers. No read can be taken back afterwards.
func (b *Buffer) AvailableBuffer() []byte {
	b.begin("AvailableBuffer")
	if n := len(b.blocks); n > 0 {
		return b.blocks[n-1][len(b.blocks[n-1]):]
	}
	return nil
}

// Reset drops all bytes. It keeps one block of up to 64 KiB.
func (b *Buffer) Reset() {
	b.begin("Reset")
	b.empty()
}

// Free drops all bytes and gives all memory back. The Buffer can be used again.
func (b *Buffer) Free() {
	b.begin("Free")
	for _, block := range b.blocks {
		offheap.Free(block)
	}
	b.few = [4][]byte{}
	b.blocks, b.cur, b.off, b.length = b.few[:0], 0, 0, 0
}

// Truncate drops all but the next n bytes. It panics if there are fewer.
func (b *Buffer) Truncate(n int) {
	b.begin("Truncate")
	if n < 0 || n > b.length {
		panic(fmt.Errorf("pool: Buffer.Truncate: %d of %d bytes", n, b.length))
	}
	if n == 0 {
		b.empty()
		return
	}
	end := b.off + n // Counted from the first block on.
	for i, block := range b.blocks {
		if end > len(block) {
			end -= len(block)
			continue
		}
		b.blocks[i] = block[:end]
		for _, later := range b.blocks[i+1:] {
			offheap.Free(later)
		}
		clear(b.blocks[i+1:])
		b.blocks = b.blocks[:i+1]
		break
	}
	b.length = n
}

// Bytes returns the bytes that were not read, as one slice. It is valid until the next call that
// changes the Buffer. If they lie in several blocks, Bytes copies them to one, and slices from earlier
// calls of Peek and All end. A loop of writes and Bytes copies many times what All does not.
func (b *Buffer) Bytes() []byte {
	b.check("Bytes")
	return b.front(b.length)
}

// front is the next n bytes in one piece.
func (b *Buffer) front(n int) []byte {
	if n == 0 {
		return []byte{}
	}
	if first := b.blocks[b.cur]; len(first)-b.off >= n {
		return first[b.off : b.off+n : b.off+n]
	}
	last := b.last
	again := max(0, int(last)) // What Unread can take back must be in the block, too.
	if last == someRead {
		again = 1
	}
	one, err := b.alloc(again + b.length + b.length/4) // Later writes follow in the same block.
	must(err)
	b.back(again)
	at := 0
	for p := range pieces(b.blocks[b.cur:], b.off) {
		at += copy(one[at:], p)
	}
	for _, block := range b.blocks {
		offheap.Free(block)
	}
	clear(b.blocks)
	b.blocks = append(b.blocks[:0], one[:at])
	b.cur, b.off = 0, 0
	b.advance(again)
	if b.last = last; last == tidyOnly {
		b.last = noRead
	}
	return one[again : again+n : again+n]
}

// String returns the bytes that were not read as a string on the Go heap, and "<nil>" for nil.
func (b *Buffer) String() string {
	if b == nil {
		return "<nil>"
	}
	b.check("String")
	var s strings.Builder
	s.Grow(b.length)
	for p := range b.unread() {
		s.Write(p)
	}
	return s.String()
}

func (b *Buffer) unread() iter.Seq[[]byte] { return pieces(b.blocks[b.cur:], b.off) }

// All returns the bytes that were not read in pieces, for net.Buffers. They are valid until the next
// call that changes the Buffer.
func (b *Buffer) All() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		b.check("All")
		b.unread()(yield)
	}
}

// ReadAt reads from the off-th of the bytes that were not read, and leaves them unread. It returns
// io.EOF if there are fewer than len(p).
func (b *Buffer) ReadAt(p []byte, off int64) (n int, err error) {
	b.check("ReadAt")
	return readAt(b.blocks[b.cur:], b.off, p, off)
}

// advance notes that n bytes were read.
func (b *Buffer) advance(n int) {
	b.length -= n
	b.off += n
	for b.off > len(b.blocks[b.cur]) {
		b.off -= len(b.blocks[b.cur])
		b.cur++
	}
	if n > 0 {
		b.last = someRead
	}
}

// Read reads into p. It returns io.EOF if there is nothing to read and p is not empty.
func (b *Buffer) Read(p []byte) (n int, err error) {
	b.begin("Read")
	if b.length == 0 {
		if len(p) == 0 {
			return 0, nil
		}
		return 0, io.EOF
	}
	for piece := range b.unread() {
		n += copy(p[n:], piece)
		if n == len(p) {
			break
		}
	}
	b.advance(n)
	return n, nil
}

// Next returns the next n bytes, or all if there are fewer, and counts them as read. They are valid
// until the next read or write, and must not be an argument of one. If they lie in several blocks,
// Next copies all bytes to one.
func (b *Buffer) Next(n int) []byte {
	b.begin("Next")
	p := b.peek("Next", n)
	if len(p) > 0 {
		b.advance(len(p))
	}
	return p
}

// Peek is Next, but leaves the bytes unread. It returns io.EOF if there are fewer. If it copies all
// bytes to one block, slices from earlier calls of Peek and All end.
func (b *Buffer) Peek(n int) ([]byte, error) {
	b.check("Peek")
	p := b.peek("Peek", n)
	if len(p) < n {
		return p, io.EOF
	}
	return p, nil
}

func (b *Buffer) peek(op string, n int) []byte {
	if n < 0 {
		panic(fmt.Errorf("pool: Buffer.%s: negative count %d", op, n))
	}
	return b.front(min(n, b.length))
}

// ReadByte returns the next byte, or io.EOF.
func (b *Buffer) ReadByte() (byte, error) {
	b.begin("ReadByte")
	if b.length == 0 {
		return 0, io.EOF
	}
	for b.off == len(b.blocks[b.cur]) {
		b.cur, b.off = b.cur+1, 0
	}
	c := b.blocks[b.cur][b.off]
	b.advance(1)
	return c, nil
}

// ReadRune returns the next rune and its length, or io.EOF. Bytes that are not UTF-8 are runes
// U+FFFD of length 1.
func (b *Buffer) ReadRune() (r rune, size int, err error) {
	b.begin("ReadRune")
	if b.length == 0 {
		return 0, 0, io.EOF
	}
	var p [utf8.UTFMax]byte
	n, _ := readAt(b.blocks[b.cur:], b.off, p[:], 0)
	r, size = utf8.DecodeRune(p[:n])
	b.advance(size)
	b.last = lastRead(size)
	return r, size, nil
}

// UnreadByte makes the last byte unread that the last call has read. It is an error if that read
// nothing. (That of bytes.Buffer is no error after a ReadBytes or ReadString that read nothing.)
func (b *Buffer) UnreadByte() error {
	b.check("UnreadByte")
	if b.last == noRead || b.last == tidyOnly {
		return errors.New("pool: Buffer.UnreadByte: the last call read nothing")
	}
	b.back(1)
	return nil
}

// UnreadRune makes the rune unread that the last call, a ReadRune, has read. After any other call it
// is an error.
func (b *Buffer) UnreadRune() error {
	b.check("UnreadRune")
	if b.last <= noRead {
		return errors.New("pool: Buffer.UnreadRune: the last call was no ReadRune that read a rune")
	}
	b.back(int(b.last))
	return nil
}

// back makes the last n bytes unread.
func (b *Buffer) back(n int) {
	b.length += n
	for n > b.off {
		n -= b.off
		b.cur--
		b.off = len(b.blocks[b.cur])
	}
	b.off -= n
	b.last = noRead
	if b.cur > 0 {
		b.last = tidyOnly
	}
}

// ReadBytes reads until the first delim and returns the bytes with it, in a slice on the Go heap. If
// there is none, it returns the rest and io.EOF.
func (b *Buffer) ReadBytes(delim byte) ([]byte, error) {
	b.begin("ReadBytes")
	return b.line(delim)
}

// ReadString is ReadBytes for a string.
func (b *Buffer) ReadString(delim byte) (string, error) {
	b.begin("ReadString")
	line, err := b.line(delim)
	return string(line), err
}

// line reads until the first delim.
func (b *Buffer) line(delim byte) ([]byte, error) {
	n, err := b.until(delim)
	line := make([]byte, n)
	_, _ = readAt(b.blocks[b.cur:], b.off, line, 0) // There are as many.
	if n > 0 {
		b.advance(n)
	}
	return line, err
}

// until is the number of bytes up to the first delim.
func (b *Buffer) until(delim byte) (n int, err error) {
	for p := range b.unread() {
		if i := bytes.IndexByte(p, delim); i >= 0 {
			return n + i + 1, nil
		}
		n += len(p)
	}
	return n, io.EOF
}

// WriteTo writes the bytes that were not read to w and counts those as read that w took.
func (b *Buffer) WriteTo(w io.Writer) (n int64, err error) {
	b.begin("WriteTo")
	n, err = writeTo(b.blocks[b.cur:], b.off, w)
	if n > int64(b.length) {
		panic(errors.New("pool: Buffer.WriteTo: the writer has read or dropped bytes of the Buffer"))
	}
	if n > 0 {
		b.advance(int(n))
		b.beginSlow("WriteTo")
	}
	return n, err
}

// Share ends the Buffer and makes a Frame of the bytes that were not read. It copies nothing. Any
// later call of the Buffer panics, with the stack of Share.
func (b *Buffer) Share() *Frame {
	b.begin("Share")
	blocks := append([][]byte(nil), b.blocks...)
	f := newFrame(blocks, b.off, b.length)
	*b = Buffer{shared: here()}
	return f
}
