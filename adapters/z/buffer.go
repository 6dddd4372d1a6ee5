// SPDX-License-Identifier: Apache-2.0

package z

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sort"
	"sync/atomic"

	"github.com/freehold-go/freehold/offheap"
	"github.com/freehold-go/freehold/sortbuf"
)

// A Buffer is the records of ristretto's Buffer in a [sortbuf.Buffer]. A record never moves, so
// growth copies nothing, a slice of SliceAllocate holds until Reset or Release, and a sort changes
// the order of 8-byte places. NewBuffer and NewBufferTmp make a Buffer.
//
// An offset is the one that the record would have in ristretto's Buffer: 8 bytes are in front of the
// first record, and 8 bytes of length are in front of each. Slice finds a record by its offset in a
// search; SliceIterate needs none.
//
// The differences from ristretto's Buffer:
//   - Allocate, AllocateOffset, Data, NewBufferPersistent and NewBufferSlice do not exist, because
//     they need all bytes in one block. The compiler names each use.
//   - Bytes returns a copy, and Write accepts only records in the form of Bytes.
//   - A sort of all records calls less in several goroutines at once.
//   - A record has at most 2^31-1 bytes.
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
	index   [][]page      // Chunks of chunkPages.
	n       int           // The records.
	size    int           // The offset behind the last record.
	max     int           // The limit of size; 0 is none.
	hint    atomic.Uint64 // The page that Slice has found last.
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

// IsEmpty says whether the Buffer has no record.
func (b *Buffer) IsEmpty() bool { return b.n == 0 }

// LenWithPadding is the offset that the next record will have.
func (b *Buffer) LenWithPadding() int { return b.size }

// LenNoPadding is the bytes of all records, with 8 for the length of each.
func (b *Buffer) LenNoPadding() int { return b.size - padding }

// Grow does nothing, because growth copies nothing.
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
	if b.records == nil {
		panic(errors.New("z: a record for a Buffer that was released, or that NewBuffer did not make"))
	}
	if b.max > 0 && n > b.max-b.size-padding {
		return nil, fmt.Errorf("z: %w: a record of %d bytes at offset %d of a Buffer whose maximum size is %d", offheap.ErrLimit, n, b.size, b.max)
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
	i := b.find(offset)
	record := b.record(i)
	if i == b.n-1 {
		return record, -1
	}
	return record, offset + padding + len(record)
}

// SliceIterate calls f with each record that is not empty, in order, until f returns an error, which
// it returns.
func (b *Buffer) SliceIterate(f func(record []byte) error) error {
	for i := 0; i < b.n; i++ {
		if record := b.record(i); len(record) > 0 {
			if err := f(record); err != nil {
				return err
			}
		}
	}
	return nil
}

// SliceOffsets returns the offset of each record, in order.
func (b *Buffer) SliceOffsets() []int {
	offsets := make([]int, b.n)
	at := padding
	for i := range offsets {
		offsets[i] = at
		at += padding + len(b.record(i))
	}
	return offsets
}

// Bytes returns a copy of all records on the Go heap, each behind its length as 8 bytes, the highest
// first.
func (b *Buffer) Bytes() []byte {
	all := make([]byte, 0, b.LenNoPadding())
	for i := range b.n {
		record := b.record(i)
		all = append(binary.BigEndian.AppendUint64(all, uint64(len(record))), record...)
	}
	return all
}

// Write adds the records of p, which is in the form of [Buffer.Bytes]. If p is anything else, it
// returns an error and adds none. If memory is refused, n is the bytes of the records that it added.
func (b *Buffer) Write(p []byte) (n int, err error) {
	for rest := p; len(rest) > 0; {
		if _, rest, err = firstRecord(rest); err != nil {
			return 0, err
		}
	}
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
	return nil, nil, fmt.Errorf("z: Buffer.Write: the last %d bytes are not records, each behind its length as 8 bytes", len(p))
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

// Reset drops all records.
func (b *Buffer) Reset() {
	if b.records != nil {
		b.records.Reset()
	}
	b.drop()
}

// Release drops all records and gives their memory back. It ignores nil and a second call, and
// returns no error. No record can be added later.
func (b *Buffer) Release() error {
	if b == nil || b.records == nil {
		return nil
	}
	b.records.Free()
	b.records = nil
	b.drop()
	return nil
}

func (b *Buffer) drop() {
	for _, chunk := range b.index {
		offheap.FreeSlice(chunk)
	}
	b.index, b.n, b.size = nil, 0, padding
}
