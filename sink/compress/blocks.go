// SPDX-License-Identifier: Apache-2.0

package compress

import (
	"encoding/binary"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/s2"
	"github.com/pierrec/lz4/v4"

	"github.com/freehold-go/freehold/offheap"
)

var snappyKind = kind{
	name: "snappy", extension: ".sz", module: klauspost,
	open: func(int, int) (engine, error) { return &snappyEngine{}, nil },
	reader: func(r io.Reader) (io.ReadCloser, error) {
		return io.NopCloser(s2.NewReader(r, s2.ReaderMaxBlockSize(snappyBlock))), nil
	},
}

// The framing format of snappy: github.com/google/snappy/blob/main/framing_format.txt.
const (
	snappyBlock  = 64 << 10 // The largest number of bytes that a chunk may have uncompressed.
	snappyMagic  = "\xff\x06\x00\x00sNaPpY"
	snappyHeader = 8 // Of a chunk: its type, its length in three bytes, and the checksum.
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A snappyEngine writes the frames itself. The Writer of s2 makes a chunk of each of its writes, so its output depends on their sizes.
type snappyEngine struct {
	buf []byte // Off the Go heap: a chunk.
}

func (e *snappyEngine) member(dst io.Writer, src []byte) (err error) {
	if e.buf, err = room(e.buf, snappyHeader+s2.MaxEncodedLen(snappyBlock)); err != nil {
		return err
	}
	if _, err := io.WriteString(dst, snappyMagic); err != nil {
		return err
	}
	for len(src) > 0 {
		n := min(len(src), snappyBlock)
		if _, err := dst.Write(e.chunk(src[:n])); err != nil {
			return err
		}
		src = src[n:]
	}
	return nil
}

// chunk is a block of the input as a chunk: compressed (type 0), or as it is (type 1) if that is not shorter by an eighth.
func (e *snappyEngine) chunk(block []byte) []byte {
	kind, body := byte(0), s2.EncodeSnappy(e.buf[snappyHeader:], block)
	if len(body) >= len(block)-len(block)/8 {
		kind = 1
		body = append(e.buf[snappyHeader:snappyHeader], block...)
	}
	sum := crc32.Checksum(block, castagnoli)
	binary.LittleEndian.PutUint32(e.buf, uint32(len(body)+4)<<8|uint32(kind))
	binary.LittleEndian.PutUint32(e.buf[4:], (sum>>15|sum<<17)+0xa282ead8)
	return e.buf[:snappyHeader+len(body)]
}

func (e *snappyEngine) free() {
	offheap.Free(e.buf)
	e.buf = nil
}

var lz4Kind = kind{
	name: "lz4", extension: ".lz4", levels: [2]int{1, 10}, preset: 1, module: pierrec,
	scale: "1 is the fastest, 2 to 10 search more",
	open: func(level, member int) (engine, error) {
		w := lz4.NewWriter(io.Discard)
		err := w.Apply(lz4.BlockSizeOption(lz4Block(member)), lz4.ConcurrencyOption(1), lz4.ChecksumOption(true), lz4.CompressionLevelOption(lz4Levels[level-1]))
		return &lz4Engine{w}, err
	},
	reader: func(r io.Reader) (io.ReadCloser, error) { return io.NopCloser(lz4.NewReader(r)), nil },
}

var lz4Levels = [...]lz4.CompressionLevel{lz4.Fast, lz4.Level1, lz4.Level2, lz4.Level3, lz4.Level4, lz4.Level5, lz4.Level6, lz4.Level7, lz4.Level8, lz4.Level9}

// lz4Block is the size of blocks for members of a size. The Writer holds two blocks.
func lz4Block(member int) lz4.BlockSize {
	switch {
	case member <= 64<<10:
		return lz4.Block64Kb
	case member <= 256<<10:
		return lz4.Block256Kb
	case member <= 1<<20:
		return lz4.Block1Mb
	}
	return lz4.Block4Mb
}

type lz4Engine struct{ w *lz4.Writer }

func (e *lz4Engine) member(dst io.Writer, src []byte) error {
	e.w.Reset(dst)
	defer e.w.Reset(io.Discard)
	if _, err := e.w.Write(src); err != nil {
		return err
	}
	return e.w.Close()
}

func (e *lz4Engine) free() {}
