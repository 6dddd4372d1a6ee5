// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/twmb/franz-go/pkg/kgo"
)

var codecs = map[string]kgo.CompressionCodec{
	"gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
}

// sample makes n bytes, with more or less repetition.
func sample(n, repeat int) []byte {
	r := rand.New(rand.NewPCG(uint64(n), uint64(repeat)))
	p := make([]byte, n)
	for i := range p {
		if i < repeat || r.IntN(repeat+1) == 0 {
			p[i] = byte(r.Uint32())
		} else {
			p[i] = p[i-repeat]
		}
	}
	return p
}

// TestDecompress compares with what was compressed, and gives each block back.
func TestDecompress(t *testing.T) {
	d, err := newDecompressor(fetched(), 64<<20)
	if err != nil {
		t.Fatal(err)
	}
	for name, codec := range codecs {
		z, err := kgo.DefaultCompressor(codec)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{0, 1, 100, 65536, 1 << 20} {
			for _, repeat := range []int{0, 10, 1000} {
				want := sample(n, repeat)
				src, kind := z.Compress(new(bytes.Buffer), want)
				got, err := d.Decompress(src, kind)
				if err != nil || !bytes.Equal(got, want) {
					t.Fatalf("%s: %d bytes with repetition %d: %d bytes, %v", name, n, repeat, len(got), err)
				}
				if cap(got) != len(got) {
					t.Errorf("%s: capacity %d of %d bytes; the client would zero all of it", name, cap(got), len(got))
				}
				if n > 0 && inUse() < int64(len(got)) {
					t.Errorf("%s: %d bytes are on the Go heap", name, n)
				}
				d.PutDecompressBytes(got)
			}
		}
	}
	if n := inUse(); n != 0 {
		t.Errorf("%d bytes are in use", n)
	}
}

// TestFramings: snappy as Java's library frames it, and zstd without the size and in several frames.
func TestFramings(t *testing.T) {
	d, err := newDecompressor(fetched(), 64<<20)
	if err != nil {
		t.Fatal(err)
	}
	want := sample(300_000, 50)
	java := append(bytes.Clone(xerial), 0, 0, 0, 1, 0, 0, 0, 1)
	for rest := want; len(rest) > 0; {
		n := min(len(rest), 32<<10)
		chunk := s2.EncodeSnappy(nil, rest[:n])
		java = append(binary.BigEndian.AppendUint32(java, uint32(len(chunk))), chunk...)
		rest = rest[n:]
	}
	var stream bytes.Buffer
	w, _ := zstd.NewWriter(&stream)
	w.Write(want[:200_000])
	w.Close()
	w.Reset(&stream)
	w.Write(want[200_000:])
	w.Close()
	for name, e := range map[string]struct {
		src   []byte
		codec kgo.CompressionCodecType
	}{"snappy": {java, kgo.CodecSnappy}, "zstd": {stream.Bytes(), kgo.CodecZstd}} {
		got, err := d.Decompress(e.src, e.codec)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%s: %d bytes, %v", name, len(got), err)
		}
		if inUse() < int64(len(got)) {
			t.Errorf("%s: on the Go heap", name)
		}
		d.PutDecompressBytes(got)
	}
}

// TestDamaged: damaged batches are errors, batches that are too large are errTooLarge, and nothing is kept.
func TestDamaged(t *testing.T) {
	d, err := newDecompressor(fetched(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	for name, codec := range codecs {
		z, _ := kgo.DefaultCompressor(codec)
		large, kind := z.Compress(new(bytes.Buffer), make([]byte, 2<<20))
		if p, err := d.Decompress(large, kind); !errors.Is(err, errTooLarge) {
			t.Errorf("%s: %d bytes above the limit: %v", name, len(p), err)
		}
		src, kind := z.Compress(new(bytes.Buffer), sample(30_000, 20))
		for range 500 {
			bad := bytes.Clone(src)
			for range 1 + r.IntN(3) {
				bad[r.IntN(len(bad))] ^= byte(1 + r.IntN(255))
			}
			if p, err := d.Decompress(bad[:r.IntN(len(bad)+1)], kind); err == nil {
				d.PutDecompressBytes(p) // Not all damage can be seen; batches have a checksum.
			}
		}
	}
	if _, err := d.Decompress([]byte("x"), 9); err == nil {
		t.Error("an unknown codec is no error")
	}
	if n := inUse(); n != 0 {
		t.Errorf("%d bytes are in use", n)
	}
}
