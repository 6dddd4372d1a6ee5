// SPDX-License-Identifier: Apache-2.0

package sortbuf

import (
	"fmt"
	"iter"
	"runtime"
	"sync/atomic"

	"github.com/freehold-go/freehold/offheap"
)

// A Buffer is records off the Go heap that never move: a Pos, and the bytes that At returns, hold
// until Reset or Free. It grows by another chunk, so growth copies nothing. The zero Buffer is empty
// and ready; [BufferFor] makes one that counts for a Purpose. It holds at most 2^46 bytes.
//
// Free gives the memory back. A Buffer that is dropped without Free leaks its memory. One goroutine
// may use a Buffer at a time; At and All may run in several as long as none changes it. A Buffer must
// not be copied: a call of a copy panics with an [*offheap.MisuseError].
type Buffer struct {
	_       noCopy
	self    *Buffer // The Buffer itself. A copy has another value here, nil stands for none yet.
	purpose *offheap.Purpose
	records
	last  []byte // The memory of the last chunk.
	spare []byte // A chunk that Reset has kept.
}

// A Pos is the place of a record in a Buffer. A later record has a larger Pos.
type Pos uint64

const (
	bufferChunk = 256 << 10
	firstChunk  = 4 << 10 // Chunks double up to bufferChunk.
	mostBuffer  = 1 << 46
)

// BufferFor returns an empty Buffer whose bytes count for p, whose limit holds.
func BufferFor(p *offheap.Purpose) *Buffer { return &Buffer{purpose: p} }

// check panics if op must not use b.
func (b *Buffer) check(op string) {
	switch b.self {
	case b:
	case nil:
		b.self = b
		b.records = *newRecords(bufferChunk)
	default:
		what := "use of a copy"
		detail := "this Buffer is a copy of one that is in use; pass a pointer to the original"
		panic(&offheap.MisuseError{Op: "Buffer." + op, Kind: what, Detail: detail, Report: fmt.Sprintf("sortbuf: Buffer.%s: %s: %s", op, what, detail)})
	}
}

// Append adds a copy of a record, which may be empty, and returns its place. If memory is refused,
// the error is [offheap.ErrLimit] or [offheap.ErrOutOfMemory], and the Buffer is as it was.
func (b *Buffer) Append(record []byte) (Pos, error) {
	p, pos, err := b.Reserve(len(record))
	copy(p, record)
	return pos, err
}

// Reserve adds a record of n bytes, with any contents, for the caller to fill. Errors are those of
// Append. It panics if n is negative.
func (b *Buffer) Reserve(n int) ([]byte, Pos, error) {
	b.check("Reserve")
	if n < 0 {
		panic(fmt.Errorf("sortbuf: Buffer.Reserve: negative length %d", n))
	}
	if n > mostRecord {
		return nil, 0, fmt.Errorf("%w: %d bytes of at most %d", ErrTooLarge, n, mostRecord)
	}
	need := headerLen(n, 0) + n
	c := len(b.blocks) - 1
	if c < 0 || need > len(b.last)-len(b.blocks[c]) {
		if err := b.grow(need); err != nil {
			return nil, 0, err
		}
		c = len(b.blocks) - 1
	}
	at := len(b.blocks[c])
	p := b.last[at : at+need : at+need]
	h := putLengths(p, n, 0)
	b.blocks[c] = b.last[:at+need]
	b.counts[c]++
	b.n++
	b.bytes += int64(need)
	return p[h:], Pos(uint64(c)<<b.shift | uint64(at)), nil
}

// grow adds a chunk with room for a record of n bytes.
func (b *Buffer) grow(n int) error {
	size := max(n, min(bufferChunk, firstChunk<<min(len(b.blocks), 6)))
	if uint64(len(b.blocks)+1)<<b.shift > mostBuffer {
		return fmt.Errorf("%w: the Buffer has %d chunks, of %d bytes at most", offheap.ErrLimit, len(b.blocks), bufferChunk)
	}
	block := b.spare
	b.spare = nil
	if len(block) < size {
		if block != nil {
			offheap.Free(block)
		}
		var err error
		if b.purpose == nil {
			block, err = offheap.TryAllocUninit(size)
		} else {
			block, err = b.purpose.TryAllocUninit(size)
		}
		if err != nil {
			return err
		}
	}
	b.last = block
	b.add(block[:0], 0)
	return nil
}

// At returns the record at a place. It panics if there is none; a Pos that Append or Reserve did not
// return may also give bytes of the Buffer that are no record.
func (b *Buffer) At(p Pos) []byte {
	c, at := uint64(p)>>b.shift, uint64(p)&b.mask
	if b.self != b {
		b.check("At")
	}
	if c >= uint64(len(b.blocks)) || at >= uint64(len(b.blocks[c])) {
		panic(fmt.Errorf("sortbuf: Buffer.At(%d): there is no record at this place", p))
	}
	key, _, _, ok := trySplit(b.blocks[c][at:])
	if !ok {
		panic(fmt.Errorf("sortbuf: Buffer.At(%d): there is no record at this place", p))
	}
	return key
}

// All returns the records in the order of arrival. The caller may append meanwhile; whether the
// iteration comes to these records is not defined.
func (b *Buffer) All() iter.Seq2[Pos, []byte] {
	return func(yield func(Pos, []byte) bool) {
		b.check("All")
		b.walk(0, len(b.blocks), func(pos uint64, key []byte) bool { return yield(Pos(pos), key) })
	}
}

// Sorted returns the records in the order of cmp, nil for that of bytes; equal ones in the order of
// arrival. It allocates an index of 16 bytes for each record, sorts it on up to GOMAXPROCS
// goroutines, and frees it at the end of the iteration. Records that are appended meanwhile are not
// in it. If memory is refused, it panics with a value that is [offheap.ErrLimit] or
// [offheap.ErrOutOfMemory]; [offheap.Try] makes that an error.
func (b *Buffer) Sorted(cmp func(x, y []byte) int) iter.Seq2[Pos, []byte] {
	return func(yield func(Pos, []byte) bool) {
		b.check("Sorted")
		n := int(indexBytes(b.n))
		var index []byte
		if b.purpose == nil {
			index = offheap.AllocUninit(n)
		} else {
			index = b.purpose.AllocUninit(n)
		}
		defer offheap.Free(index)
		run := memoryRun{records: &records{}}
		*run.records = b.records
		var stop atomic.Bool
		run.sort(&Options{Compare: cmp, Parallel: min(runtime.GOMAXPROCS(0), mostWorkers)}, index, &stop)
		in := memoryInput{memoryRun: &run}
		for i := range int(run.n) {
			if key, _, _, _ := in.next(); !yield(Pos(run.at(i)), key) {
				return
			}
		}
	}
}

// Len is the number of records.
func (b *Buffer) Len() int { return int(b.n) }

// Bytes is the number of bytes of all records, with their lengths.
func (b *Buffer) Bytes() int64 { return b.bytes }

// Reset drops all records. It keeps one chunk.
func (b *Buffer) Reset() {
	b.check("Reset")
	spare := b.spare
	b.spare = nil
	if len(b.last) == bufferChunk || spare == nil && len(b.last) <= bufferChunk {
		spare, b.last = b.last, spare
	}
	b.drop()
	b.spare = spare
}

// Free drops all records and gives all memory back. The Buffer can be used again.
func (b *Buffer) Free() {
	b.check("Free")
	b.drop()
}

// drop frees all chunks but one that Reset keeps.
func (b *Buffer) drop() {
	for i, block := range b.blocks {
		if i < len(b.blocks)-1 {
			offheap.Free(block)
		}
	}
	for _, block := range [][]byte{b.last, b.spare} {
		if block != nil {
			offheap.Free(block)
		}
	}
	b.last, b.spare = nil, nil
	b.records = *newRecords(bufferChunk)
}
