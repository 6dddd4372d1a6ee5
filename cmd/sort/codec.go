// SPDX-License-Identifier: Apache-2.0

package sort

import (
	"github.com/klauspost/compress/zstd"

	"github.com/freehold-go/freehold/sortbuf"
)

// zstdCodec compresses temporary data with Zstandard. Temporary files have checksums of their own.
func zstdCodec() (*sortbuf.Codec, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, err
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderLowmem(true), zstd.WithDecoderConcurrency(0))
	if err != nil {
		return nil, err
	}
	return &sortbuf.Codec{
		Name:       "zstd",
		Compress:   func(dst, src []byte) []byte { return enc.EncodeAll(src, dst) },
		Decompress: func(dst, src []byte) ([]byte, error) { return dec.DecodeAll(src, dst) },
	}, nil
}
