// SPDX-License-Identifier: Apache-2.0

package sortbuf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
)

// Spilled runs and saved files have one format. All numbers are little-endian.
//
//	header    64 bytes: magic, version, flags, name of the codec, checksum
//	block ... 20 bytes of head, and a payload: restarts, and records in order
//	trailer   64 bytes: magic, place of the root, counts, checksum
//
// The payload of a block is the offset of each 8th record in 4 bytes, counted from the first record,
// then the records as in memory. Blocks of level
// 0 hold the records of the caller: up to 32 KiB, in saved files without a codec 1 KiB, or one larger
// record. Blocks of level 1 hold a record for each block of level 0: a key that is not above the
// block's first key and above all keys before it, and as value the block's place. Blocks of level 2
// list those of level 1, and so on up to the root. A block is written when it is full, so levels are
// interleaved, and a writer keeps one block of each level. Spilled runs, which are only merged, have
// blocks of level 0 alone, and no restarts.
//
// The checksum of a block (CRC-32C) covers its head, its place in the file and its payload as stored.
// A payload is compressed if it is shorter than the head's raw length.

const (
	formatVersion  = 1
	headerBytes    = 64
	trailerBytes   = 64
	blockHeadBytes = 20
	restartEvery   = 8
	placeBytes     = 12 // The value of a record of an index block.

	flagByteOrder = 1
	flagListed    = 2 // There are restarts and blocks of higher levels.
)

var (
	headerMagic  = []byte("FHsort\r\n")
	trailerMagic = []byte("FHtrail\n")
	castagnoli   = crc32.MakeTable(crc32.Castagnoli)
	le           = binary.LittleEndian
)

// writerBytes is the memory that a runWriter needs for blocks of n bytes.
func writerBytes(n int) int { return 2 * rawBytes(n) }

// rawBytes is the most that a block of n bytes has with its head and restarts, or that a codec may
// make of it.
func rawBytes(n int) int { return n + n/4 + 256 }

// fileHeader is the first bytes of a file with the given order and codec.
func fileHeader(o *Options, listed bool) []byte {
	b := make([]byte, headerBytes)
	copy(b, headerMagic)
	le.PutUint16(b[8:], formatVersion)
	if o.Compare == nil {
		b[10] |= flagByteOrder
	}
	if listed {
		b[10] |= flagListed
	}
	name := o.codecName()
	b[16] = byte(len(name))
	copy(b[17:17+mostCodec], name)
	le.PutUint32(b[60:], crcOf(b[:60]))
	return b
}

func (o *Options) codecName() string {
	if o.Codec == nil {
		return ""
	}
	return o.Codec.Name
}

// checkHeader says why a file with the header b cannot be opened with the Options. The second result
// is true if the file is not damaged.
func checkHeader(b []byte, o *Options) (string, bool) {
	switch {
	case len(b) < headerBytes || !bytes.Equal(b[:8], headerMagic):
		return "this is no file of sortbuf", false
	case crcOf(b[:60]) != le.Uint32(b[60:]):
		return "the header's checksum is wrong", false
	case le.Uint16(b[8:]) != formatVersion:
		return fmt.Sprintf("version %d; this program knows version %d", le.Uint16(b[8:]), formatVersion), false
	case b[16] > mostCodec:
		return "the codec's name is too long", false
	case b[10]&flagListed == 0:
		return "the file is a spilled run", false
	}
	if byteOrder := b[10]&flagByteOrder != 0; byteOrder != (o.Compare == nil) {
		if byteOrder {
			return "the file is in byte order; open it without Options.Compare", true
		}
		return "the file is in the order of a comparator; open it with that as Options.Compare", true
	}
	if name := string(b[17 : 17+b[16]]); name != o.codecName() {
		return fmt.Sprintf("the file is compressed with the codec %q; Options.Codec is %q", name, o.codecName()), true
	}
	return "", true
}

// A blockHead stands before each block.
type blockHead struct {
	stored uint32 // The bytes of the payload in the file.
	raw    uint32 // The bytes of the payload; more than stored if that is compressed.
	count  uint32 // Records.
	level  uint32
	crc    uint32
}

func readHead(b []byte) blockHead {
	return blockHead{le.Uint32(b), le.Uint32(b[4:]), le.Uint32(b[8:]), le.Uint32(b[12:]), le.Uint32(b[16:])}
}

// seal writes the head, with the checksum of the payload at a place, to b.
func (h *blockHead) seal(b []byte, at int64, payload ...[]byte) {
	le.PutUint32(b, h.stored)
	le.PutUint32(b[4:], h.raw)
	le.PutUint32(b[8:], h.count)
	le.PutUint32(b[12:], h.level)
	h.crc = headSum(b, at)
	for _, p := range payload {
		h.crc = crc32.Update(h.crc, castagnoli, p)
	}
	le.PutUint32(b[16:], h.crc)
}

// headSum is the checksum of the head b of a block at a place.
func headSum(b []byte, at int64) uint32 {
	var place [8]byte
	le.PutUint64(place[:], uint64(at))
	return crc32.Update(crcOf(b[:16]), castagnoli, place[:])
}

// restarts is the bytes of the restarts of a block in a listed file.
func (h *blockHead) restarts() int64 {
	return (int64(h.count) + restartEvery - 1) / restartEvery * 4
}

// plausible says why a head cannot be that of a block with `rest` bytes of file behind it.
func (h *blockHead) plausible(rest int64) string {
	switch {
	case int64(h.stored) > rest:
		return "the block is longer than the file"
	case h.stored > h.raw || h.count == 0 || h.level > 32:
		return "the block's head is impossible"
	case uint64(h.raw) > math.MaxInt || 2*int64(h.count) > int64(h.raw):
		return "the block has more records than bytes"
	}
	return ""
}

// sound says whether the checksum of a block at a place is right.
func (h *blockHead) sound(head, payload []byte, at int64) bool {
	return crc32.Update(headSum(head, at), castagnoli, payload) == h.crc
}

// unpack decompresses the payload of a block to dst. The error says what is wrong.
func (h *blockHead) unpack(payload, dst []byte, codec *Codec) ([]byte, string) {
	if h.stored == h.raw {
		return payload, ""
	}
	if codec == nil {
		return nil, "the block is compressed, and the file names no codec"
	}
	if cap(dst) < int(h.raw) {
		dst = make([]byte, 0, h.raw)
	}
	raw, err := codec.Decompress(dst[:0:h.raw], payload)
	switch {
	case err != nil:
		return nil, fmt.Sprintf("codec %q: %v", codec.Name, err)
	case len(raw) != int(h.raw):
		return nil, fmt.Sprintf("codec %q made %d bytes of a block of %d", codec.Name, len(raw), h.raw)
	}
	return raw, ""
}

// A block is a payload with its records.
type block struct {
	payload []byte // Records, without the restarts.
	marks   []byte // The restarts.
	count   int
}

// listed is the block of a listed file. ok is false if there is no room for its restarts.
func (h *blockHead) listed(payload []byte) (b block, ok bool) {
	n := h.restarts()
	if n > int64(len(payload)) {
		return b, false
	}
	return block{payload[n:], payload[:n:n], int(h.count)}, true
}

// trySplit is split for bytes of a file. ok is false if they are no record.
func trySplit(b []byte) (key, value, rest []byte, ok bool) {
	if len(b) >= 2 && (b[0]|b[1]) < 0x80 {
		k := 2 + int(b[0])
		if end := k + int(b[1]); end <= len(b) {
			return b[2:k:k], b[k:end:end], b[end:], true
		}
		return nil, nil, nil, false
	}
	return trySplitSlow(b)
}

//go:noinline
func trySplitSlow(b []byte) (key, value, rest []byte, ok bool) {
	k, n := binary.Uvarint(b)
	if n <= 0 {
		return nil, nil, nil, false
	}
	v, m := binary.Uvarint(b[n:])
	if m <= 0 {
		return nil, nil, nil, false
	}
	b = b[n+m:]
	if k > uint64(len(b)) || v > uint64(len(b))-k {
		return nil, nil, nil, false
	}
	return b[:k:k], b[k : k+v : k+v], b[k+v:], true
}

// fileTrailer is the last bytes of a file.
type fileTrailer struct {
	root       int64  // The place of the root, 0 if there are no records.
	rootNumber uint32 // Its number among the blocks.
	height     uint32 // The level of the root.
	records    int64
	blocks     int64 // Of all levels.
	bytes      int64 // Of keys and values.
	largest    int64 // The most bytes of a payload.
	blocksEnd  int64 // Where the trailer begins.
}

func (t *fileTrailer) encode() []byte {
	b := make([]byte, trailerBytes)
	copy(b, trailerMagic)
	le.PutUint64(b[8:], uint64(t.root))
	le.PutUint32(b[16:], t.rootNumber)
	le.PutUint32(b[20:], t.height)
	le.PutUint64(b[24:], uint64(t.records))
	le.PutUint64(b[32:], uint64(t.blocks))
	le.PutUint64(b[40:], uint64(t.bytes))
	le.PutUint64(b[48:], uint64(t.largest))
	le.PutUint32(b[60:], crc32.Update(crcOf(b[:60]), castagnoli, le.AppendUint64(nil, uint64(t.blocksEnd))))
	return b
}

// decodeTrailer reads the trailer b at a place. The error says what is wrong.
func decodeTrailer(b []byte, at int64) (t fileTrailer, wrong string) {
	if len(b) < trailerBytes || !bytes.Equal(b[:8], trailerMagic) {
		return t, "the trailer is missing: the file was cut"
	}
	t = fileTrailer{
		root: int64(le.Uint64(b[8:])), rootNumber: le.Uint32(b[16:]), height: le.Uint32(b[20:]), records: int64(le.Uint64(b[24:])),
		blocks: int64(le.Uint64(b[32:])), bytes: int64(le.Uint64(b[40:])), largest: int64(le.Uint64(b[48:])), blocksEnd: at,
	}
	if !bytes.Equal(t.encode(), b) {
		return t, "the trailer's checksum is wrong"
	}
	if t.root < 0 || t.root > at || t.blocks < 0 || t.blocks > at/blockHeadBytes || t.records < 0 {
		return t, "the trailer is impossible"
	}
	return t, ""
}

// wrongSum is what is wrong with a block that was damaged.
const wrongSum = "the checksum is wrong"

// crcOf is the checksum of b.
func crcOf(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }
