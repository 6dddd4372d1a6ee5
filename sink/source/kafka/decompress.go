// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freehold-go/freehold/offheap"
)

// decompressor decompresses batches of records into memory outside the Go heap. The client calls PutDecompressBytes with the same
// memory when all records of a batch were recycled. It implements kgo.Decompressor and kgo.PoolDecompressBytes, and may be used by
// several goroutines at once.
type decompressor struct {
	purpose *offheap.Purpose
	max     int // bytes of a batch

	gzip sync.Pool // of *gzip.Reader
	lz4  sync.Pool // of *lz4.Reader
	zstd *zstd.Decoder
}

func newDecompressor(purpose *offheap.Purpose, max int) (*decompressor, error) {
	d := &decompressor{purpose: purpose, max: max}
	var err error
	d.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(uint64(max)))
	if err != nil {
		return nil, fmt.Errorf("kafka: a limit of %d bytes for a batch: %w", max, err)
	}
	return d, nil
}

// errTooLarge says that a batch is larger than Options.MaxBatchBytes.
var errTooLarge = errors.New("the batch is larger, decompressed, than the limit for one batch")

// GetDecompressBytes is never called, because the client has a Decompressor of its own.
func (d *decompressor) GetDecompressBytes([]byte, kgo.CompressionCodecType) []byte { return nil }

// PutDecompressBytes frees what Decompress returned.
func (d *decompressor) PutDecompressBytes(p []byte) {
	if cap(p) > 0 {
		offheap.Free(p)
	}
}

// Decompress implements kgo.Decompressor.
func (d *decompressor) Decompress(src []byte, codec kgo.CompressionCodecType) ([]byte, error) {
	switch codec {
	case kgo.CodecNone:
		return src, nil
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
		r, _ := d.lz4.Get().(*lz4.Reader)
		if r == nil {
			r = lz4.NewReader(nil)
		}
		defer d.lz4.Put(r)
		r.Reset(bytes.NewReader(src))
		return d.stream(r, 0, len(src))
	}
	return nil, fmt.Errorf("the batch is compressed in a way that is not known: number %d", codec)
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
	size := 4 * len(src)
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
	// The frames did not say how large they are, and the decoder made a slice of its own.
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
