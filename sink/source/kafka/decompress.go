// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freehold-go/freehold/offheap"
)

// decompressor decompresses batches of records into memory outside the Go heap. The client calls PutDecompressBytes with the same
// memory when all records of a batch were recycled. It implements kgo.Decompressor and kgo.PoolDecompressBytes, and may be used by
// several goroutines at once.
type decompressor struct {
	purpose *offheap.Purpose
	max     int // bytes of a batch

	gzip  sync.Pool // of *gzip.Reader
	zstd  *zstd.Decoder
	ratio atomic.Int64 // sixteenths: how much larger batches of zstd become whose frames do not name a size

	responses *responses
}

func newDecompressor(purpose *offheap.Purpose, max int) (*decompressor, error) {
	d := &decompressor{purpose: purpose, max: max, responses: newResponses()}
	d.ratio.Store(4 * 16)
	var err error
	d.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(uint64(max)))
	if err != nil {
		return nil, fmt.Errorf("kafka: a limit of %d bytes for a batch: %w", max, err)
	}
	return d, nil
}

// errTooLarge says that a batch is larger than Options.MaxBatchBytes. The client adds the offset, see kgo.ErrDecompressTooLarge.
var errTooLarge = fmt.Errorf("the batch is larger, decompressed, than the limit for one batch: %w", kgo.ErrMaxDecompress)

// GetDecompressBytes is never called, because the client has a Decompressor of its own.
func (d *decompressor) GetDecompressBytes([]byte, kgo.CompressionCodecType) []byte { return nil }

// PutDecompressBytes frees what Decompress returned.
func (d *decompressor) PutDecompressBytes(p []byte) {
	if cap(p) > 0 {
		d.responses.large.end(p)
		free(p)
	}
}

// Decompress implements kgo.Decompressor. The source is a batch, or the name of one that lies outside the Go heap.
func (d *decompressor) Decompress(src []byte, codec kgo.CompressionCodecType) ([]byte, error) {
	b, err := d.responses.take(src)
	if err != nil {
		return nil, err
	}
	if b == nil {
		return d.decompress(src, codec)
	}
	defer d.responses.done(b)
	if len(b.data) < largeBatch || !d.responses.large.begin(b.response.number) {
		return d.decompress(b.data, b.codec)
	}
	out, err := d.decompress(b.data, b.codec)
	d.responses.large.keep(out)
	return out, err
}

func (d *decompressor) decompress(src []byte, codec kgo.CompressionCodecType) ([]byte, error) {
	switch codec {
	case kgo.CodecNone:
		return d.copied(src)
	case kgo.CodecSnappy:
		return d.snappy(src)
	case kgo.CodecZstd:
		return d.zstdFrames(src)
	case kgo.CodecGzip:
		r, _ := d.gzip.Get().(*gzip.Reader)
		if r == nil {
			r = new(gzip.Reader)
		}
		defer d.gzip.Put(r)
		if err := r.Reset(bytes.NewReader(src)); err != nil {
			return nil, err
		}
		// The last four bytes of a gzip member are its size modulo 2^32. Batches have one member, usually.
		hint := 0
		if len(src) > 8 {
			hint = int(binary.LittleEndian.Uint32(src[len(src)-4:]))
		}
		return d.stream(r, hint, len(src))
	case kgo.CodecLz4:
		return d.lz4Frames(src)
	}
	return nil, fmt.Errorf("the batch is compressed in a way that is not known: number %d", codec)
}

// lz4Frames decompresses frames of lz4 to a block of their exact size. The frames do not name it, so a first pass over them adds it
// up. That costs less than to guess, to grow and to copy, and a Reader of package lz4 has buffers of 4 MiB on the Go heap.
func (d *decompressor) lz4Frames(src []byte) ([]byte, error) {
	size, err := lz4Size(src)
	if err != nil {
		return nil, err
	}
	if size > int64(d.max) {
		return nil, errTooLarge
	}
	p, err := d.purpose.TryAllocUninit(max(1, int(size)))
	if err != nil {
		return nil, err
	}
	n, err := lz4Decode(p, src)
	if err != nil {
		offheap.Free(p)
		return nil, err
	}
	return d.cut(p, n), nil
}

// copied is a copy of a batch that is not compressed.
func (d *decompressor) copied(src []byte) ([]byte, error) {
	if len(src) > d.max {
		return nil, errTooLarge
	}
	p, err := d.purpose.TryAllocUninit(max(1, len(src)))
	if err != nil {
		return nil, err
	}
	return d.cut(p, copy(p, src)), nil
}

// stream reads r to its end. Hint is the size that is likely, or 0.
func (d *decompressor) stream(r io.Reader, hint, compressed int) ([]byte, error) {
	if hint <= 0 || hint > d.max || hint/1100 > compressed { // No codec makes more than 1,032 bytes of one.
		hint = min(4*compressed, d.max)
	}
	// One byte more than is likely, so that the end is seen without growing.
	p, err := d.purpose.TryAllocUninit(hint + 1)
	if err != nil {
		return nil, err
	}
	n := 0
	for {
		if n == len(p) {
			if n > d.max {
				offheap.Free(p)
				return nil, errTooLarge
			}
			larger, err := d.purpose.TryAllocUninit(min(2*n, d.max+1))
			if err != nil {
				offheap.Free(p)
				return nil, err
			}
			copy(larger, p)
			offheap.Free(p)
			p = larger
		}
		k, err := r.Read(p[n:])
		n += k
		if err == io.EOF {
			break
		}
		if err != nil {
			offheap.Free(p)
			return nil, err
		}
	}
	if n > d.max {
		offheap.Free(p)
		return nil, errTooLarge
	}
	return d.cut(p, n), nil
}

// cut returns the first n bytes of a block. Their capacity is their length, because the client zeroes all of it when it gives the block
// back.
func (d *decompressor) cut(p []byte, n int) []byte {
	if n == 0 {
		offheap.Free(p)
		return []byte{}
	}
	return p[:n:n]
}

// zstdFrames decompresses frames of zstd. Most name their size.
func (d *decompressor) zstdFrames(src []byte) ([]byte, error) {
	size := int(min(int64(len(src))*d.ratio.Load()/16, int64(d.max)))
	var h zstd.Header
	if err := h.Decode(src); err == nil && h.HasFCS && h.FrameContentSize <= uint64(d.max) {
		size = int(h.FrameContentSize)
	}
	p, err := d.purpose.TryAllocUninit(max(1, min(size, d.max)))
	if err != nil {
		return nil, err
	}
	out, err := d.zstd.DecodeAll(src, p[:0])
	switch {
	case errors.Is(err, zstd.ErrDecoderSizeExceeded):
		err = errTooLarge
	case err == nil && len(out) > d.max:
		err = errTooLarge
	}
	if err != nil {
		offheap.Free(p)
		return nil, err
	}
	if len(out) == 0 || &out[0] == &p[0] {
		return d.cut(p, len(out)), nil
	}
	// The frames did not say how large they are, and the decoder made a slice of its own. An eighth more than this batch needed is enough for
	// most that follow.
	d.ratio.Store(int64(len(out))*18/int64(len(src)) + 1)
	return d.move(p, out)
}

// move copies what lies on the Go heap to a block, and frees the block that was too small.
func (d *decompressor) move(small, out []byte) ([]byte, error) {
	offheap.Free(small)
	p, err := d.purpose.TryAllocUninit(len(out))
	if err != nil {
		return nil, err
	}
	return d.cut(p, copy(p, out)), nil
}

// xerial begins the framing of Java's snappy library, which Kafka's clients use: behind it are two numbers of version, and then chunks, each with its
// length in four bytes before it.
var xerial = []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0}

const xerialHeader = 16

func (d *decompressor) snappy(src []byte) ([]byte, error) {
	chunks := func(yield func(chunk []byte) error) error { return yield(src) }
	if len(src) >= xerialHeader && bytes.HasPrefix(src, xerial) {
		chunks = func(yield func(chunk []byte) error) error {
			for rest := src[xerialHeader:]; len(rest) > 0; {
				if len(rest) < 4 {
					return errors.New("snappy: a chunk's length is cut off")
				}
				n := binary.BigEndian.Uint32(rest)
				rest = rest[4:]
				if uint64(n) > uint64(len(rest)) {
					return fmt.Errorf("snappy: a chunk of %d bytes, but %d are left", n, len(rest))
				}
				if err := yield(rest[:n]); err != nil {
					return err
				}
				rest = rest[n:]
			}
			return nil
		}
	}
	size := 0
	err := chunks(func(chunk []byte) error {
		n, err := s2.DecodedLen(chunk)
		if err != nil {
			return err
		}
		if size += n; size > d.max {
			return errTooLarge
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	p, err := d.purpose.TryAllocUninit(max(1, size))
	if err != nil {
		return nil, err
	}
	n := 0
	err = chunks(func(chunk []byte) error {
		k, err := s2.DecodedLen(chunk)
		if err != nil {
			return err
		}
		if k == 0 {
			return nil
		}
		if _, err := s2.Decode(p[n:n+k:n+k], chunk); err != nil {
			return err
		}
		n += k
		return nil
	})
	if err != nil {
		offheap.Free(p)
		return nil, err
	}
	return d.cut(p, n), nil
}
