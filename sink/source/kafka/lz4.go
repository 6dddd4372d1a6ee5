// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/pierrec/lz4/v4"
)

// The frame format of lz4: github.com/lz4/lz4/blob/dev/doc/lz4_Frame_format.md.
const (
	lz4Magic         = 0x184D2204
	lz4Skippable     = 0x184D2A50 // with any last digit
	lz4Version       = 1 << 6     // flags of a frame
	lz4Independent   = 1 << 5
	lz4BlockSum      = 1 << 4
	lz4ContentSize   = 1 << 3
	lz4ContentSum    = 1 << 2
	lz4Dictionary    = 1 << 0
	lz4Stored        = 1 << 31 // in the size of a block: it is not compressed
	lz4Window        = 64 << 10
	lz4ShortestMatch = 4
)

// lz4Block is a block of a frame.
type lz4Block struct {
	data   []byte
	stored bool
	linked bool // whether the block refers to the one before it in the frame
}

var errLZ4 = errors.New("lz4: the frame is damaged")

// lz4Blocks calls do for each block. It checks no checksum of the frame: batches have one of their own, over the same bytes.
func lz4Blocks(src []byte, do func(lz4Block) error) error {
	cut := func(n int) []byte {
		if n < 0 || n > len(src) {
			return nil
		}
		p := src[:n]
		src = src[n:]
		return p
	}
	number := func() (uint32, bool) {
		p := cut(4)
		if p == nil {
			return 0, false
		}
		return binary.LittleEndian.Uint32(p), true
	}
	for len(src) > 0 {
		magic, _ := number()
		if magic&^0xF == lz4Skippable {
			if n, ok := number(); !ok || cut(int(n)) == nil {
				return errLZ4
			}
			continue
		}
		head := cut(3) // flags, the size of blocks, a checksum
		if magic != lz4Magic || head == nil || head[0]>>6 != lz4Version>>6 || head[0]&lz4Dictionary != 0 {
			return errLZ4
		}
		flags, first := head[0], true
		if flags&lz4ContentSize != 0 && cut(8) == nil {
			return errLZ4
		}
		for {
			size, ok := number()
			if !ok {
				return errLZ4
			}
			if size == 0 {
				break
			}
			b := lz4Block{data: cut(int(size &^ lz4Stored)), stored: size&lz4Stored != 0, linked: flags&lz4Independent == 0 && !first}
			if b.data == nil || flags&lz4BlockSum != 0 && cut(4) == nil {
				return errLZ4
			}
			if err := do(b); err != nil {
				return err
			}
			first = false
		}
		if flags&lz4ContentSum != 0 && cut(4) == nil {
			return errLZ4
		}
	}
	return nil
}

// length is the number of bytes that a block makes: the literals and the matches of its sequences.
func (b lz4Block) length() (n int64, err error) {
	if b.stored {
		return int64(len(b.data)), nil
	}
	src := b.data
	for i := 0; i < len(src); {
		token := src[i]
		i++
		// A part of 15 goes on in the bytes behind it, up to one that is not 255.
		part := func(n int64) int64 {
			if n < 15 {
				return n
			}
			for i < len(src) {
				n += int64(src[i])
				i++
				if src[i-1] != 255 {
					return n
				}
			}
			return n
		}
		literals := part(int64(token >> 4))
		if literals > int64(len(src)-i) {
			return 0, errLZ4
		}
		i += int(literals)
		n += literals
		if i == len(src) { // The last sequence has literals alone.
			break
		}
		i += 2 // how far back the match is
		n += part(int64(token&15)) + lz4ShortestMatch
	}
	return n, nil
}

// lz4Size is the number of bytes that frames make.
func lz4Size(src []byte) (size int64, err error) {
	err = lz4Blocks(src, func(b lz4Block) error {
		n, err := b.length()
		size += n
		return err
	})
	return size, err
}

// lz4Decode decompresses frames to memory of the size that lz4Size returned, and returns how much of it they took.
func lz4Decode(to, src []byte) (n int, err error) {
	err = lz4Blocks(src, func(b lz4Block) error {
		if b.stored {
			n += copy(to[n:], b.data)
			return nil
		}
		var before []byte
		if b.linked {
			before = to[max(0, n-lz4Window):n]
		}
		k, err := lz4.UncompressBlockWithDict(b.data, to[n:], before)
		if err != nil {
			return fmt.Errorf("%w: %w", errLZ4, err)
		}
		n += k
		return nil
	})
	return n, err
}
