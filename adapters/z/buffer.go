// SPDX-License-Identifier: Apache-2.0

package z

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sort"
	"sync/atomic"

	"github.com/freehold-go/freehold/offheap"
	"github.com/freehold-go/freehold/sortbuf"
)

// A Buffer is the records of ristretto's Buffer in a [sortbuf.Buffer]. A record never moves: growth
// copies nothing, a sort changes the order of 8-byte places, and a slice of SliceAllocate holds until
// Reset, Release or the change to one block. NewBuffer and NewBufferTmp make a Buffer.
//
// An offset is the one that the record would have in ristretto's Buffer: 8 bytes are in front of the
// first record, and 8 bytes of length are in front of each. Slice finds a record by its offset in a
// search; SliceIterate needs none.
//
// Allocate, AllocateOffset, Data, and Write of bytes that are no records change the Buffer: they copy
// all bytes into one block, which grows by copying. A method that adds or sorts records makes records
// of the block again.
//
// The differences from ristretto's Buffer:
//   - Bytes of a Buffer that is no block returns a copy. Data ends behind the last byte added.
//   - A sort of all records calls less in several goroutines at once.
//   - A record has at most 2^31-1 bytes.
//   - NewBufferPersistent does not exist.
//   - There is no file. NewBufferTmp and WithAutoMmap keep the bytes in memory. A [sortbuf.Sorter]
//     sorts more bytes than fit.
//
// The bytes are on the account of a purpose, as those of [Calloc]. [Leaks] lists them, and
// NumAllocBytes does not count them. If memory is refused, a method without an error result panics
// with a value that is [offheap.ErrLimit] or [offheap.ErrOutOfMemory].
//
// A Buffer without Release leaks. One goroutine may use a Buffer at a time; Slice, SliceIterate,
// SliceOffsets, Bytes and the lengths may run in several as long as none changes it.
type Buffer struct {
	purpose *offheap.Purpose
	records *sortbuf.Buffer
	index   [][]page // Chunks of chunkPages.
	n       int      // The records.
	size    int      // The offset behind the last record.
	max     int      // The limit of size; 0 is none.

	inBlock  bool   // All bytes are in block. There are no records.
	borrowed bool   // block is the slice of NewBufferSlice.
	block    []byte // Memory for reuse, if inBlock is false.

	hint atomic.Uint64 // The page that Slice has found last.
}

// A page is the places of records that follow each other in the Buffer's order. The search for an
// offset finds the page by start, and then adds up lengths.
type page struct {
	start uint64 // The offset of the first record.
	at    [perPage]sortbuf.Pos
}

const (
	perPage    = 15 // With the start, a page has 128 bytes.
	chunkPages = 64
	padding    = 8 // The bytes in front of the first record, and of the length of each.
)

// LessFunc says whether a comes before b.
type LessFunc = func(a, b []byte) bool

// NewBuffer returns an empty Buffer. It ignores the capacity, because growth copies nothing. An empty
// tag stands for "buffer".
func NewBuffer(capacity int, tag string) *Buffer {
	if tag == "" {
		tag = "buffer"
	}
	p := purpose(tag)
	return &Buffer{purpose: p, records: sortbuf.BufferFor(p), size: padding}
}

// NewBufferTmp is [NewBuffer] with the tag "buffer". It makes no file and returns no error.
func NewBufferTmp(dir string, capacity int) (*Buffer, error) {
	return NewBuffer(capacity, ""), nil
}

// NewBufferSlice returns a Buffer of the bytes of a slice, which may be on the Go heap. It reads them
// in place. It needs no Release until a method has added something or sorted records.
func NewBufferSlice(slice []byte) *Buffer {
	b := NewBuffer(0, "")
	b.block, b.inBlock, b.borrowed = slice, true, true
	b.size += len(slice)
	return b
}

// WithAutoMmap returns b. The bytes stay in memory, whatever the threshold.
func (b *Buffer) WithAutoMmap(threshold int, path string) *Buffer { return b }

// WithMaxSize sets the limit of LenWithPadding, and returns b. 0 is no limit. A record beyond it is
// refused with [offheap.ErrLimit].
func (b *Buffer) WithMaxSize(size int) *Buffer {
	b.max = size
	return b
}

// StartOffset is the offset of the first record.
func (b *Buffer) StartOffset() int { return padding }

// IsEmpty says whether the Buffer has no bytes.
func (b *Buffer) IsEmpty() bool { return b.size <= padding }

// LenWithPadding is the offset that the next record will have.
func (b *Buffer) LenWithPadding() int { return b.size }

// LenNoPadding is the bytes of all records, with 8 for the length of each.
func (b *Buffer) LenNoPadding() int { return b.size - padding }

// Grow does nothing, because growth copies no records.
func (b *Buffer) Grow(n int) {}

// SliceAllocate adds a record of n bytes, with any contents, for the caller to fill.
func (b *Buffer) SliceAllocate(n int) []byte {
	p, err := b.reserve(n)
	if err != nil {
		panic(err)
	}
	return p
}

// WriteSlice adds a copy of a record.
func (b *Buffer) WriteSlice(record []byte) { copy(b.SliceAllocate(len(record)), record) }

// reserve adds a record. If it is refused, the records are as they were.
func (b *Buffer) reserve(n int) ([]byte, error) {
	if err := b.room(padding + n); err != nil {
		return nil, err
	}
	if err := b.toRecords(); err != nil {
		return nil, err
	}
	i := b.n / perPage
	if i == len(b.index)*chunkPages {
		chunk, err := offheap.For[page](b.purpose).TryMakeSlice(chunkPages, chunkPages)
		if err != nil {
			return nil, err
		}
		b.index = append(b.index, chunk)
	}
	p, pos, err := b.records.Reserve(n)
	if err != nil {
		return nil, err
	}
	b.put(b.n, pos, b.size)
	b.n++
	b.size += padding + n
	return p, nil
}

// room checks whether n more bytes are allowed.
func (b *Buffer) room(n int) error {
	if b.records == nil {
		panic(errors.New("z: bytes for a Buffer that was released, or that NewBuffer did not make"))
	}
	if b.max > 0 && n > b.max-b.size {
		return fmt.Errorf("z: %w: %d bytes at offset %d of a Buffer whose maximum size is %d", offheap.ErrLimit, n, b.size, b.max)
	}
	return nil
}

func (b *Buffer) page(i int) *page { return &b.index[i/chunkPages][i%chunkPages] }

// put makes the record at pos the i-th, whose offset is given.
func (b *Buffer) put(i int, pos sortbuf.Pos, offset int) {
	p := b.page(i / perPage)
	p.at[i%perPage] = pos
	if i%perPage == 0 {
		p.start = uint64(offset)
	}
}

// record is the i-th record.
func (b *Buffer) record(i int) []byte { return b.records.At(b.page(i / perPage).at[i%perPage]) }

// find returns the number of the record at an offset. The end's is b.n.
func (b *Buffer) find(offset int) int {
	if offset == b.size {
		return b.n
	}
	pages := (b.n + perPage - 1) / perPage
	p := int(b.hint.Load())
	if p >= pages || int(b.page(p).start) > offset || p+1 < pages && int(b.page(p+1).start) <= offset {
		p = sort.Search(pages, func(p int) bool { return int(b.page(p).start) > offset }) - 1
		b.hint.Store(uint64(max(p, 0)))
	}
	if p >= 0 {
		at := int(b.page(p).start)
		for i := p * perPage; i < min((p+1)*perPage, b.n) && at <= offset; i++ {
			if at == offset {
				return i
			}
			at += padding + len(b.record(i))
		}
	}
	panic(fmt.Errorf("z: no record begins at offset %d of the Buffer", offset))
}

// Slice returns the record at an offset and the offset of the next one, which is -1 behind the last.
// Behind the end there is no record, and -1. It panics if no record begins at the offset.
func (b *Buffer) Slice(offset int) ([]byte, int) {
	if offset >= b.size {
		return nil, -1
	}
	var record []byte
	if b.inBlock && offset >= padding {
		var err error
		if record, _, err = firstRecord(b.block[offset-padding:]); err != nil {
			panic(err)
		}
	} else {
		record = b.record(b.find(offset))
	}
	next := offset + padding + len(record)
	if next == b.size {
		next = -1
	}
	return record, next
}

// all returns the offsets and the records, in order.
func (b *Buffer) all() iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		at := padding
		for i := 0; at < b.size; i++ {
			var record []byte
			if b.inBlock {
				record, _ = b.Slice(at)
			} else {
				record = b.record(i)
			}
			if !yield(at, record) {
				return
			}
			at += padding + len(record)
		}
	}
}

// SliceIterate calls f with each record that is not empty, in order, until f returns an error, which
// it returns.
func (b *Buffer) SliceIterate(f func(record []byte) error) error {
	for _, record := range b.all() {
		if len(record) > 0 {
			if err := f(record); err != nil {
				return err
			}
		}
	}
	return nil
}

// SliceOffsets returns the offset of each record, in order.
func (b *Buffer) SliceOffsets() []int {
	offsets := make([]int, 0, b.n)
	for at := range b.all() {
		offsets = append(offsets, at)
	}
	return offsets
}

// Bytes returns the block, until the next call that adds or sorts. A Buffer that is no block returns
// a copy of all records on the Go heap, each behind its length as 8 bytes, the highest first.
func (b *Buffer) Bytes() []byte {
	if b.inBlock {
		return b.block
	}
	return b.appendRecords(make([]byte, 0, b.LenNoPadding()))
}

func (b *Buffer) appendRecords(to []byte) []byte {
	for _, record := range b.all() {
		to = append(binary.BigEndian.AppendUint64(to, uint64(len(record))), record...)
	}
	return to
}

// Write adds the records of p, if p is in the form of [Buffer.Bytes] and the Buffer is no block. Any
// other bytes go to the block, of which p must be no part. If the error is [offheap.ErrLimit] or
// [offheap.ErrOutOfMemory], n is the bytes of the records that were added before.
func (b *Buffer) Write(p []byte) (n int, err error) {
	if b.inBlock || !areRecords(p) {
		to, err := b.extend(len(p))
		return copy(to, p), err
	}
	return b.addRecords(p)
}

func areRecords(p []byte) bool {
	var err error
	for len(p) > 0 && err == nil {
		_, p, err = firstRecord(p)
	}
	return err == nil
}

func (b *Buffer) addRecords(p []byte) (n int, err error) {
	for n < len(p) {
		record, rest, _ := firstRecord(p[n:])
		to, err := b.reserve(len(record))
		if err != nil {
			return n, err
		}
		copy(to, record)
		n = len(p) - len(rest)
	}
	return n, nil
}

// firstRecord takes the first record off p.
func firstRecord(p []byte) (record, rest []byte, err error) {
	if len(p) >= padding {
		if n := binary.BigEndian.Uint64(p); n <= uint64(len(p)-padding) {
			end := padding + int(n)
			return p[padding:end], p[end:], nil
		}
	}
	return nil, nil, fmt.Errorf("z: the last %d bytes of a Buffer are no records, each behind its length as 8 bytes", len(p))
}

// Allocate adds n bytes to the block, with any contents, and returns them until the next call that
// adds or sorts.
func (b *Buffer) Allocate(n int) []byte {
	p, err := b.extend(n)
	if err != nil {
		panic(err)
	}
	return p
}

// AllocateOffset is [Buffer.Allocate], and returns the offset of the bytes.
func (b *Buffer) AllocateOffset(n int) int {
	b.Allocate(n)
	return b.size - n
}

// Data returns the bytes of the block from an offset on, until the next call that adds or sorts.
func (b *Buffer) Data(offset int) []byte {
	b.Allocate(0)
	return b.block[offset-padding:]
}

// extend adds n bytes to the block.
func (b *Buffer) extend(n int) ([]byte, error) {
	if n < 0 {
		panic(fmt.Errorf("z: %d bytes for a Buffer", n))
	}
	if err := b.room(n); err != nil {
		return nil, err
	}
	end := b.LenNoPadding()
	if b.borrowed || cap(b.block) < end+n {
		block, err := offheap.For[byte](b.purpose).TryMakeSlice(0, max(64, 2*(end+n)))
		if err != nil {
			return nil, err
		}
		if b.inBlock {
			block = append(block, b.block...)
		}
		b.freeBlock()
		b.block = block
	}
	if !b.inBlock {
		b.block = b.appendRecords(b.block[:0])
		b.records.Reset()
		b.dropIndex()
		b.inBlock = true
	}
	b.block = b.block[:end+n]
	b.size = padding + end + n
	return b.block[end:], nil
}

// toRecords makes records of the block. If they are refused, the block stays.
func (b *Buffer) toRecords() error {
	if !b.inBlock {
		return nil
	}
	if !areRecords(b.block) {
		return errors.New("z: a method for records, on a Buffer with bytes that are no records")
	}
	size := b.size
	b.inBlock, b.size = false, padding
	if _, err := b.addRecords(b.block); err != nil {
		b.records.Reset()
		b.dropIndex()
		b.inBlock, b.size = true, size
		return err
	}
	b.freeBlock()
	return nil
}

func (b *Buffer) freeBlock() {
	if !b.borrowed {
		offheap.FreeSlice(b.block)
	}
	b.block, b.borrowed = nil, false
}

// SortSlice sorts all records. If less is nil, it compares bytes, which is several times as fast. The
// order of equal records is not defined. The sort uses up to GOMAXPROCS goroutines, which call less,
// and allocates 16 bytes for each record. If less panics, the order stays as it was.
func (b *Buffer) SortSlice(less func(left, right []byte) bool) {
	b.SortSliceBetween(padding, b.size, less)
}

// SortSliceBetween is [Buffer.SortSlice] for the records from the offset start to before end. It
// panics if at one of these no record begins, other than the end of the Buffer. The offsets of
// records in between change. A part of the Buffer is sorted on one goroutine.
func (b *Buffer) SortSliceBetween(start, end int, less LessFunc) {
	if start >= end {
		return
	}
	if err := b.toRecords(); err != nil {
		panic(err)
	}
	compare := bytes.Compare
	if less != nil {
		compare = func(x, y []byte) int {
			switch {
			case less(x, y):
				return -1
			case less(y, x):
				return 1
			}
			return 0
		}
	}
	lo, hi := b.find(start), b.find(end)
	if hi-lo == b.n {
		if less == nil {
			compare = nil
		}
		for pos, record := range b.records.Sorted(compare) {
			b.put(lo, pos, start)
			lo++
			start += padding + len(record)
		}
		return
	}
	type keyed struct {
		record []byte
		pos    sortbuf.Pos
	}
	part := make([]keyed, 0, hi-lo)
	for i := lo; i < hi; i++ {
		pos := b.page(i / perPage).at[i%perPage]
		part = append(part, keyed{b.records.At(pos), pos})
	}
	slices.SortFunc(part, func(x, y keyed) int { return compare(x.record, y.record) })
	for i, k := range part {
		b.put(lo+i, k.pos, start)
		start += padding + len(k.record)
	}
}

// Reset drops all bytes. It keeps the memory of the block, and one chunk of that of the records.
func (b *Buffer) Reset() {
	if b.records != nil {
		b.records.Reset()
	}
	b.dropIndex()
	b.inBlock, b.size = false, padding
}

// Release drops all bytes and gives their memory back. It ignores nil and a second call, and
// returns no error. Nothing can be added later.
func (b *Buffer) Release() error {
	if b == nil || b.records == nil {
		return nil
	}
	b.Reset()
	b.records.Free()
	b.records = nil
	b.freeBlock()
	return nil
}

func (b *Buffer) dropIndex() {
	for _, chunk := range b.index {
		offheap.FreeSlice(chunk)
	}
	b.index, b.n = nil, 0
}
