// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"errors"
	"hash/crc32"
	"io"
	"iter"
	"runtime"
	"sync/atomic"

	"github.com/freehold-go/freehold/offheap"
)

// A Frame is bytes off the Go heap that several goroutines read, such as a message for many
// connections. [Buffer.Share] makes one. It has one owner then; each Retain adds an owner, and the
// Release of the last one frees the bytes. The bytes never change.
//
// Any number of goroutines may use a Frame. Any use after the last Release, a further Release
// included, panics with an [*offheap.MisuseError] that has the stacks of both calls. An owner that
// releases twice takes the Frame from another owner, whose running calls may then read other bytes.
// Without a Release for each owner the bytes are leaked. A Frame must not be copied.
type Frame struct {
	_      noCopy
	self   *Frame
	blocks [][]byte
	off    int // The bytes of the first block that are not the Frame's.
	length int
	owners atomic.Int64
	ended  atomic.Uint64 // The place where the last owner released it; stored after owners.
}

func newFrame(blocks [][]byte, off, length int) *Frame {
	f := &Frame{blocks: blocks, off: off, length: length}
	f.self = f
	f.owners.Store(1)
	return f
}

// open panics if op must not use f.
func (f *Frame) open(op string) {
	if f.self != f || f.owners.Load() <= 0 {
		f.misused(op)
	}
}

//go:noinline
func (f *Frame) misused(op string) {
	if f.self == nil {
		panic(misuse("Frame."+op, "use of a zero value", "Buffer.Share makes Frames", 0))
	}
	if f.self != f {
		panic(copied("Frame."+op, "Frame"))
	}
	at := f.ended.Load()
	for ; at == 0; at = f.ended.Load() { // The last Release is about to store it.
		runtime.Gosched()
	}
	panic(misuse("Frame."+op, "use after the last Release", "call Retain for each owner, and Release once for each", place(at)))
}

// Retain adds an owner and returns f.
func (f *Frame) Retain() *Frame {
	f.change("Retain", 1)
	return f
}

// Release takes an owner away. The last one frees the bytes.
func (f *Frame) Release() {
	if f.change("Release", -1) == 0 {
		f.ended.Store(uint64(here()))
		for _, b := range f.blocks {
			offheap.Free(b)
		}
		f.blocks = nil
	}
}

// change adds n to the number of owners and returns it.
func (f *Frame) change(op string, n int64) int64 {
	for {
		f.open(op)
		old := f.owners.Load()
		if old > 0 && f.owners.CompareAndSwap(old, old+n) {
			return old + n
		}
	}
}

// Len is the number of bytes.
func (f *Frame) Len() int {
	f.open("Len")
	return f.length
}

// All returns the bytes in pieces, for net.Buffers. The caller must not change them, nor use them
// after its Release.
func (f *Frame) All() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		f.open("All")
		pieces(f.blocks, f.off)(yield)
	}
}

// ReadAt is that of io.ReaderAt.
func (f *Frame) ReadAt(p []byte, off int64) (n int, err error) {
	f.open("ReadAt")
	return readAt(f.blocks, f.off, p, off)
}

// WriteTo writes all bytes to w, from the first one on in each call.
func (f *Frame) WriteTo(w io.Writer) (n int64, err error) {
	f.open("WriteTo")
	return writeTo(f.blocks, f.off, w)
}

// CRC32C is the checksum of the bytes, with the polynomial of Castagnoli. Each call computes it.
func (f *Frame) CRC32C() (sum uint32) {
	f.open("CRC32C")
	for b := range pieces(f.blocks, f.off) {
		sum = crc32.Update(sum, castagnoli, b)
	}
	return sum
}

// pieces are the bytes of the blocks, but for the first off bytes. An append to a piece moves it.
func pieces(blocks [][]byte, off int) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for i, b := range blocks {
			from := 0
			if i == 0 {
				from = off
			}
			if len(b) > from && !yield(b[from:len(b):len(b)]) {
				return
			}
		}
	}
}

// readAt is ReadAt of the bytes of the blocks behind the first skip bytes.
func readAt(blocks [][]byte, skip int, p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, errors.New("pool: ReadAt: negative offset")
	}
	for b := range pieces(blocks, skip) {
		if off >= int64(len(b)) {
			off -= int64(len(b))
			continue
		}
		n += copy(p[n:], b[off:])
		off = 0
		if n == len(p) {
			return n, nil
		}
	}
	if n < len(p) {
		err = io.EOF
	}
	return n, err
}

// writeTo writes the bytes of the blocks behind the first skip bytes.
func writeTo(blocks [][]byte, skip int, w io.Writer) (n int64, err error) {
	for b := range pieces(blocks, skip) {
		m, err := w.Write(b)
		if m < 0 || m > len(b) {
			panic(errors.New("pool: WriteTo: invalid Write count"))
		}
		n += int64(m)
		if err == nil && m < len(b) {
			err = io.ErrShortWrite
		}
		if err != nil {
			return n, err
		}
	}
	return n, nil
}
