// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Bytes is a Body of bytes in memory. The caller does not change them until Put has returned.
func Bytes(b []byte) Body {
	return &memory{Reader: bytes.NewReader(b), crc: crc32.Checksum(b, castagnoli)}
}

type memory struct {
	*bytes.Reader
	crc uint32
}

func (m *memory) CRC32C() uint32 { return m.crc }

// Split cuts a body into parts of a size, the last one excepted, for a store that sends parts. It
// reads the body once to compute the checksum of each part, and compares them with the body's. An
// empty body has no parts.
func Split(body Body, size int64) ([]Body, error) {
	var parts []Body
	whole := uint32(0)
	for off := int64(0); off < body.Size(); off += size {
		p := &part{SectionReader: io.NewSectionReader(body, off, min(size, body.Size()-off))}
		err := each(p, p.Size(), func(piece []byte) {
			p.crc = crc32.Update(p.crc, castagnoli, piece)
			whole = crc32.Update(whole, castagnoli, piece)
		})
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	return parts, compare(whole, body)
}

type part struct {
	*io.SectionReader
	crc uint32
}

func (p *part) CRC32C() uint32 { return p.crc }

// Checksum reads size bytes and returns their CRC32C.
func Checksum(r io.ReaderAt, size int64) (crc uint32, err error) {
	err = each(r, size, func(piece []byte) { crc = crc32.Update(crc, castagnoli, piece) })
	return crc, err
}

// each reads size bytes in pieces.
func each(r io.ReaderAt, size int64, visit func([]byte)) error {
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	for at := int64(0); at < size; {
		piece := (*buf)[:min(int64(len(*buf)), size-at)]
		got, err := r.ReadAt(piece, at)
		if got < len(piece) {
			return readError(at+int64(got), size, err)
		}
		visit(piece)
		at += int64(got)
	}
	return nil
}

func compare(crc uint32, body Body) error {
	if crc == body.CRC32C() {
		return nil
	}
	return Permanent(fmt.Errorf("store: body with CRC32C %08x, should be %08x: %w", crc, body.CRC32C(), ErrChecksum))
}

// buffers hold pointers to slices of 64 KiB, the size of a read that costs little beside its copy.
var buffers = sync.Pool{New: func() any { b := make([]byte, 64<<10); return &b }}

// Copy writes all bytes of r to w with a buffer from a pool. io.Copy would allocate one for each
// object.
func Copy(w io.Writer, r *Reader) (int64, error) {
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	return io.CopyBuffer(writerOnly{w}, r, *buf)
}

// writerOnly hides a ReadFrom, which would take another buffer.
type writerOnly struct{ io.Writer }

// A Reader reads a body from its start, for one attempt to send it, and checks it on the way: if
// the bytes do not have the body's checksum, the last Read returns an error that wraps ErrChecksum,
// in place of the last bytes. So the receiver never has the whole of a body with wrong bytes, even
// if it checks nothing itself.
//
// After Close no Read touches the body. An HTTP client may read a request's body in a goroutine
// that outlives the call; Close is what lets Put return then.
type Reader struct {
	ctx  context.Context
	mu   sync.Mutex
	body Body // nil after Close
	at   int64
	crc  uint32
	err  error // the first error that a Read returned, except io.EOF
}

// NewReader returns a Reader at the body's start. When ctx is done, Read returns its error: otherwise
// a connection could send the rest of a small body, and the object would appear after all.
func NewReader(ctx context.Context, body Body) *Reader { return &Reader{ctx: ctx, body: body} }

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.body == nil:
		return 0, errClosed
	case r.err != nil:
		return 0, r.err
	case r.at == r.body.Size():
		return 0, io.EOF
	case len(p) == 0:
		return 0, nil
	}
	n := int(min(int64(len(p)), r.body.Size()-r.at))
	got, err := r.body.ReadAt(p[:n], r.at)
	if got < n {
		r.err = readError(r.at+int64(got), r.body.Size(), err)
		return 0, r.err
	}
	if r.err = r.ctx.Err(); r.err != nil {
		return 0, r.err
	}
	r.crc = crc32.Update(r.crc, castagnoli, p[:n])
	if r.at += int64(n); r.at == r.body.Size() {
		if r.err = compare(r.crc, r.body); r.err != nil {
			return 0, r.err
		}
	}
	return n, nil
}

// Err is the error that a Read returned, or nil. The error of a client that was given the Reader
// may not wrap it.
func (r *Reader) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Close waits for a Read that is under way, and makes later ones fail. It returns nil.
func (r *Reader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.body = nil
	return nil
}

var errClosed = errors.New("store: the body was read after its Put had ended")

// readError explains a ReadAt that returned too few bytes. It is permanent, because the body is the
// caller's and no store can cure it.
func readError(at, size int64, err error) error {
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return Permanent(fmt.Errorf("store: reading the body at %d of %d: %w", at, size, err))
}

// Verified reads an object that a store returned, and checks it at its end: if the object has
// another size or checksum than info says, Read returns an error that wraps ErrChecksum in place of
// io.EOF. An object that is not read to its end is not checked.
func Verified(object io.ReadCloser, info Info) io.ReadCloser {
	return &verified{ReadCloser: object, info: info}
}

type verified struct {
	io.ReadCloser
	info Info
	n    int64
	crc  uint32
}

func (v *verified) Read(p []byte) (int, error) {
	n, err := v.ReadCloser.Read(p)
	v.n += int64(n)
	v.crc = crc32.Update(v.crc, castagnoli, p[:n])
	if err == io.EOF && (v.n != v.info.Size || v.info.HasCRC && v.crc != v.info.CRC32C) {
		err = fmt.Errorf("store: object %q has %d bytes with CRC32C %08x, should have %d with %08x: %w",
			v.info.Key, v.n, v.crc, v.info.Size, v.info.CRC32C, ErrChecksum)
	}
	return n, err
}
