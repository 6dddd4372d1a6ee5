// SPDX-License-Identifier: Apache-2.0

package sortbuf

import (
	"encoding/binary"
	"errors"
	"os"
	"slices"

	"github.com/freehold-go/freehold/internal/vmem"
)

// A runWriter writes records in order to a file.
type runWriter struct {
	o    *Options
	f    *os.File
	room func(n int64) error // Accounts for n bytes of disk, or refuses them. nil for no bound.

	raw    level // The block of records, in memory of the budget.
	packed []byte
	list   bool     // Blocks of records are listed in index blocks, which a run that is only merged needs not.
	index  []*level // From level 1 on. Their blocks lie on the Go heap.

	at              int64  // Of the next block.
	pending         []byte // What was not written yet: small blocks are written together.
	done, allocated int64  // The bytes of the file that were written, and those that have disk space.
	fileTrailer
	first, last []byte // The first key and the last one.
	lastBuf     []byte
	stop        func() error // Asked before each block.
}

// A level is a block in the making.
type level struct {
	b        []byte
	count    int
	marks    []uint32
	separate []byte // The key of the block's record in the next level.
}

// indexBlocks is the size of an index block by that of a block of records.
const indexBlocks = 8

// allocateStep is how much disk space is allocated at once.
const allocateStep = 4 << 20

// newRunWriter writes to f. memory has writerBytes.
func newRunWriter(o *Options, f *os.File, memory []byte, room func(int64) error) *runWriter {
	n := rawBytes(o.block)
	return &runWriter{o: o, f: f, room: room, raw: level{b: memory[:blockHeadBytes:n]}, packed: memory[n : n : 2*n], stop: func() error { return nil }}
}

// copy writes the whole file: all records of the input.
func (w *runWriter) copy(in input) error {
	if err := w.write(fileHeader(w.o, w.list)); err != nil {
		return err
	}
	for {
		key, value, ok, err := in.next()
		if err != nil {
			return inputError{err}
		}
		if !ok {
			return w.finish()
		}
		if err := w.add(key, value); err != nil {
			return err
		}
	}
}

// write appends to the file, or to what is pending if that has memory.
func (w *runWriter) write(p []byte) error {
	w.at += int64(len(p))
	if len(p) > cap(w.pending)-len(w.pending) {
		if err := w.flushPending(); err != nil {
			return err
		}
		if len(p) > cap(w.pending) {
			return w.writeNow(p)
		}
	}
	w.pending = append(w.pending, p...)
	return nil
}

func (w *runWriter) flushPending() error {
	p := w.pending
	w.pending = p[:0]
	return w.writeNow(p)
}

func (w *runWriter) writeNow(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	if end := w.done + int64(len(p)); end > w.allocated {
		step := min(max(allocateStep, int64(len(p))), max(w.done, 64<<10, int64(len(p)))) // A short file stays short.
		if err := w.o.fault("allocate disk space"); err != nil {
			return err
		}
		if w.room != nil {
			if err := w.room(step); err != nil {
				return err
			}
		}
		from := w.allocated
		w.allocated += step
		if err := vmem.Preallocate(w.f, from, w.allocated); err != nil {
			return err
		}
	}
	if err := w.o.fault("write"); err != nil {
		return err
	}
	n, err := w.f.WriteAt(p, w.done)
	w.done += int64(n)
	return err
}

// add appends a record.
func (w *runWriter) add(key, value []byte) error {
	need := headerLen(len(key), len(value)) + len(key) + len(value)
	l := &w.raw
	if l.count > 0 && len(l.b)-blockHeadBytes+need > w.o.block {
		if err := w.flush(0); err != nil {
			return err
		}
	}
	w.records++
	w.bytes += int64(len(key) + len(value))
	if w.records == 1 {
		w.first = slices.Clone(key)
	}
	if l.count == 0 && w.list {
		w.separator(key)
	}
	if need > w.o.block {
		return w.large(key, value)
	}
	l.add(key, value)
	end := len(l.b) - len(value)
	w.last = l.b[end-len(key) : end]
	return nil
}

// add appends a record, for which there is room.
func (l *level) add(key, value []byte) {
	at := len(l.b)
	if l.count%restartEvery == 0 {
		l.marks = append(l.marks, uint32(at-blockHeadBytes))
	}
	l.count++
	need := headerLen(len(key), len(value)) + len(key) + len(value)
	l.b = slices.Grow(l.b, need)[:at+need]
	put(l.b[at:], key, value)
}

// mark writes the restarts before the records.
func (l *level) mark() {
	n := len(l.b)
	l.b = slices.Grow(l.b, 4*len(l.marks))[:n+4*len(l.marks)]
	copy(l.b[blockHeadBytes+4*len(l.marks):], l.b[blockHeadBytes:n])
	for i, m := range l.marks {
		le.PutUint32(l.b[blockHeadBytes+4*i:], m)
	}
}

// separator sets the key by which the next level finds the block that begins with key: in byte order
// as much of key as tells it from the key before.
func (w *runWriter) separator(key []byte) {
	n := len(key)
	if w.o.Compare == nil {
		n = min(n, common(w.last, key, n)+1)
	}
	if w.records == 1 {
		n = 0 // Nothing is before it.
		if w.o.Compare != nil {
			n = len(key)
		}
	}
	w.raw.separate = append(w.raw.separate[:0], key[:n]...)
}

// flush writes the block of a level and enters it into the next level.
func (w *runWriter) flush(n int) error {
	l := &w.raw
	if n > 0 {
		l = w.index[n-1]
	}
	if err := w.stop(); err != nil {
		return err
	}
	if n == 0 {
		w.lastBuf = append(w.lastBuf[:0], w.last...)
		w.last = w.lastBuf
	}
	if w.list {
		l.mark()
	}
	payload := l.b[blockHeadBytes:]
	h := blockHead{stored: uint32(len(payload)), raw: uint32(len(payload)), count: uint32(l.count), level: uint32(n)}
	out := l.b
	if w.o.Codec != nil && len(l.b) <= cap(w.packed) {
		packed := w.o.Codec.Compress(slices.Grow(w.packed[:0], blockHeadBytes)[:blockHeadBytes], payload)
		if len(packed) < len(l.b) {
			out = packed
			h.stored = uint32(len(packed) - blockHeadBytes)
		}
	}
	h.seal(out, w.at, out[blockHeadBytes:])
	at := w.at
	if err := w.write(out); err != nil {
		return err
	}
	err := w.enter(n, at, int64(h.raw), l.separate)
	l.b, l.count, l.marks = l.b[:blockHeadBytes], 0, l.marks[:0]
	return err
}

// large writes a block of one record from where the record is.
func (w *runWriter) large(key, value []byte) error {
	if err := w.stop(); err != nil {
		return err
	}
	lengths := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(len(key))), uint64(len(value)))
	var restart []byte
	if w.list {
		restart = make([]byte, 4)
	}
	n := int64(len(restart) + len(lengths) + len(key) + len(value))
	h := blockHead{stored: uint32(n), raw: uint32(n), count: 1}
	var head [blockHeadBytes]byte
	h.seal(head[:], w.at, restart, lengths, key, value)
	at := w.at
	for _, p := range [][]byte{head[:], restart, lengths, key, value} {
		if err := w.write(p); err != nil {
			return err
		}
	}
	w.lastBuf = append(w.lastBuf[:0], key...)
	w.last = w.lastBuf
	return w.enter(0, at, n, w.raw.separate)
}

// enter counts a block of a level that was written at a place, and adds its record to the next level.
func (w *runWriter) enter(n int, at, raw int64, separate []byte) error {
	number := uint32(w.blocks)
	w.blocks++
	w.largest = max(w.largest, raw)
	if !w.list {
		return nil
	}
	w.root, w.rootNumber, w.height = at, number, uint32(n)
	if n == len(w.index) {
		w.index = append(w.index, &level{b: make([]byte, blockHeadBytes)})
	}
	l := w.index[n]
	if l.count == 0 {
		l.separate = append(l.separate[:0], separate...)
	}
	var place [placeBytes]byte
	le.PutUint64(place[:], uint64(at))
	le.PutUint32(place[8:], number)
	l.add(separate, place[:])
	if len(l.b) >= indexBlocks*w.o.block && l.count > 1 {
		return w.flush(n + 1)
	}
	return nil
}

// finish writes what is left: the last blocks of all levels, and the trailer.
func (w *runWriter) finish() error {
	if w.raw.count > 0 {
		if err := w.flush(0); err != nil {
			return err
		}
	}
	for n := 1; n <= len(w.index); n++ {
		count := w.index[n-1].count
		if n > 1 && n == len(w.index) && count == 1 {
			break // Its one record is the place of the root.
		}
		if count > 0 {
			if err := w.flush(n); err != nil {
				return err
			}
		}
	}
	w.blocksEnd = w.at
	if err := w.write(w.encode()); err != nil {
		return err
	}
	if err := w.flushPending(); err != nil {
		return err
	}
	if err := w.o.fault("truncate"); err != nil {
		return err
	}
	if err := w.f.Truncate(w.at); err != nil {
		return err
	}
	if w.room != nil {
		if err := w.room(w.at - w.allocated); err != nil {
			return err
		}
	}
	w.allocated = w.at
	return nil
}

// inputError is an error of the records that are to be written.
type inputError struct{ error }

// failed is the error of a run that was not written, because of err.
func (w *runWriter) failed(path string, err error) error {
	var input inputError
	if errors.As(err, &input) {
		return input.error
	}
	if stopped := w.stop(); stopped != nil {
		return stopped
	}
	return &SpillError{Path: path, Written: w.done, Err: err}
}
