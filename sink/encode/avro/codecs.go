// SPDX-License-Identifier: Apache-2.0

package avro

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"sync"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

// codecs are the compressors of a format. There are as many as goroutines that compress, and not as open objects.
type codecs struct {
	name string
	open func() (func(body *body, data []byte) error, error)

	mu   sync.Mutex
	free []*body
}

// A body is a compressor with the block that it has compressed.
type body struct {
	out      []byte
	compress func(body *body, data []byte) error
}

func newCodecs(name string) (*codecs, error) {
	c := &codecs{name: name}
	switch name {
	case "null":
		c.open = func() (func(*body, []byte) error, error) {
			return func(b *body, data []byte) error {
				b.out = append(b.out[:0], data...)
				return nil
			}, nil
		}
	case "deflate":
		c.open = openDeflate
	case "", "zstandard":
		c.name, c.open = "zstandard", openZstd
	case "snappy":
		c.open = func() (func(*body, []byte) error, error) { return snappy, nil }
	default:
		return nil, fmt.Errorf("the codec %q: choose zstandard, deflate, snappy or null", name)
	}
	return c, nil
}

func openDeflate() (func(*body, []byte) error, error) {
	w, err := flate.NewWriter(nil, 6)
	return func(b *body, data []byte) error {
		out := bytes.NewBuffer(b.out[:0])
		w.Reset(out)
		if _, err := w.Write(data); err != nil {
			return err
		}
		err := w.Close()
		b.out = out.Bytes()
		return err
	}, err
}

func openZstd() (func(*body, []byte) error, error) {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(256<<10), zstd.WithZeroFrames(true))
	return func(b *body, data []byte) error {
		b.out = w.EncodeAll(data, b.out[:0])
		return nil
	}, err
}

// snappy compresses a block as Avro demands: with the checksum of the data behind it.
func snappy(b *body, data []byte) error {
	b.out = append(b.out[:0], s2.EncodeSnappy(b.out[:cap(b.out)], data)...)
	b.out = binary.BigEndian.AppendUint32(b.out, crc32.ChecksumIEEE(data))
	return nil
}

// compress compresses a block. The caller releases the result.
func (c *codecs) compress(data []byte) (*body, error) {
	b, err := c.take()
	if err == nil {
		err = b.compress(b, data)
	}
	return b, err
}

func (c *codecs) take() (*body, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.free); n > 0 {
		b := c.free[n-1]
		c.free = c.free[:n-1]
		return b, nil
	}
	compress, err := c.open()
	return &body{compress: compress}, err
}

func (c *codecs) release(b *body) {
	if cap(b.out) > 1<<20 {
		b.out = nil // Of a large datum.
	}
	c.mu.Lock()
	c.free = append(c.free, b)
	c.mu.Unlock()
}
