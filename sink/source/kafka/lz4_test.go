// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/pierrec/lz4/v4"
	"github.com/twmb/franz-go/pkg/kgo"
)

// frame makes a frame of lz4 with options of the writer.
func frame(t *testing.T, p []byte, options ...lz4.Option) []byte {
	t.Helper()
	var b bytes.Buffer
	w := lz4.NewWriter(&b)
	if err := w.Apply(options...); err != nil {
		t.Fatal(err)
	}
	w.Write(p)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestLZ4Frames: blocks of all sizes, stored ones, checksums, sizes, several frames, and frames to skip.
func TestLZ4Frames(t *testing.T) {
	d, err := newDecompressor(fetched(), 64<<20)
	if err != nil {
		t.Fatal(err)
	}
	text, noise := sample(700_000, 900), sample(100_000, 0)
	skipped := append(binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, lz4Skippable+3), 5), "hello"...)
	// A block that refers to the one before: four literals, a match of 8 bytes from 12 back, and five literals.
	linked := []byte{4, 0x22, 0x4d, 0x18, lz4Version, 0x40, 0}
	linked = append(binary.LittleEndian.AppendUint32(linked, lz4Stored|16), "0123456789abcdef"...)
	linked = append(append(binary.LittleEndian.AppendUint32(linked, 13), 0x44), "wxyz\x0c\x00\x50VVVVV"...)
	linked = append(linked, 0, 0, 0, 0)
	for name, e := range map[string]struct{ src, want []byte }{
		"64K":      {frame(t, text, lz4.BlockSizeOption(lz4.Block64Kb)), text},
		"4M":       {frame(t, text, lz4.BlockSizeOption(lz4.Block4Mb), lz4.BlockChecksumOption(true)), text},
		"size":     {frame(t, text, lz4.SizeOption(uint64(len(text))), lz4.ChecksumOption(false)), text},
		"level":    {frame(t, text, lz4.CompressionLevelOption(lz4.Level9)), text},
		"stored":   {frame(t, noise), noise},
		"empty":    {frame(t, nil), nil},
		"several":  {bytes.Join([][]byte{skipped, frame(t, text), skipped, frame(t, noise)}, nil), append(bytes.Clone(text), noise...)},
		"linked":   {linked, []byte("0123456789abcdefwxyz89abcdefVVVVV")},
		"nothing":  {nil, nil},
		"skipped":  {skipped, nil},
		"one byte": {frame(t, []byte("x")), []byte("x")},
	} {
		got, err := d.Decompress(e.src, kgo.CodecLz4)
		if err != nil || !bytes.Equal(got, e.want) {
			t.Errorf("%s: %d bytes of %d, %v", name, len(got), len(e.want), err)
		}
		d.PutDecompressBytes(got)
	}
	if n := inUse(); n != 0 {
		t.Errorf("%d bytes are in use", n)
	}
}

// TestLZ4Damaged: what package lz4 reads without an error, the decompressor reads too, and with the same result.
func TestLZ4Damaged(t *testing.T) {
	d, err := newDecompressor(fetched(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(3, 4))
	src := frame(t, sample(3000, 40), lz4.ChecksumOption(false), lz4.BlockSizeOption(lz4.Block64Kb)) // A reader makes buffers of this size.
	rounds := 5000
	if testing.Short() {
		rounds = 500
	}
	for range rounds {
		bad := bytes.Clone(src)
		for range 1 + r.IntN(3) {
			bad[r.IntN(len(bad))] ^= byte(1 + r.IntN(255))
		}
		got, err := d.Decompress(bad, kgo.CodecLz4)
		want, wantErr := io.ReadAll(lz4.NewReader(bytes.NewReader(bad)))
		if wantErr == nil && (err != nil || !bytes.Equal(got, want)) && !errors.Is(err, errTooLarge) && bytes.HasPrefix(bad, src[:4]) && bad[4]&(lz4Dictionary|1<<1) == 0 {
			t.Fatalf("%x: %d bytes and %v, want %d", bad, len(got), err, len(want))
		}
		if err == nil {
			d.PutDecompressBytes(got)
		}
	}
	for n := range src {
		if _, err := d.Decompress(src[:n], kgo.CodecLz4); err == nil && n > 0 {
			t.Errorf("%d bytes of %d are no error", n, len(src))
		}
	}
	if n := inUse(); n != 0 {
		t.Errorf("%d bytes are in use", n)
	}
}
