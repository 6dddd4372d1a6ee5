// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/freehold-go/freehold/offheap"
	"github.com/freehold-go/freehold/pool"
)

// twoBuffers drives a pool.Buffer and a bytes.Buffer by the same bytes.
type twoBuffers struct {
	t    testing.TB
	ours *pool.Buffer
	std  *bytes.Buffer
	text []byte
}

func (b *twoBuffers) run(ops []byte) {
	var trace []byte
	for len(ops) >= 2 {
		op, n := ops[0], int(ops[1])
		ops = ops[2:]
		trace = append(trace, op&0x1f)
		if op&0x80 != 0 {
			n *= 300 // Several blocks.
		}
		ours, std := b.do(op&0x1f, n)
		if ours != std {
			b.t.Fatalf("%v: operation %d with %d returns %.200s, bytes.Buffer %.200s", trace, op&0x1f, n, ours, std)
		}
		b.compare()
	}
}

// some returns n bytes of text with lines and runes.
func (b *twoBuffers) some(n int) []byte {
	for len(b.text) < n {
		b.text = fmt.Appendf(b.text, "line %d, ü 世界 \xff\n", len(b.text))
	}
	return b.text[:n]
}

// result is what an operation returned. Errors of the two differ in their text.
func result(values ...any) string {
	var s strings.Builder
	for _, v := range values {
		switch v := v.(type) {
		case error:
			if v == io.EOF {
				s.WriteString("EOF ")
			} else {
				s.WriteString("error ")
			}
		default:
			fmt.Fprintf(&s, "%v ", v)
		}
	}
	return s.String()
}

// both calls a method of both.
func both[R any](f func(io.ReadWriter) R, b *twoBuffers) (ours, std R) { return f(b.ours), f(b.std) }

// A full is what the two have in common.
type full interface {
	io.ReadWriter
	io.ByteScanner
	io.RuneScanner
	io.ByteWriter
	io.StringWriter
	io.ReaderFrom
	io.WriterTo
	WriteRune(r rune) (int, error)
	ReadBytes(delim byte) ([]byte, error)
	ReadString(delim byte) (string, error)
	Next(n int) []byte
	Peek(n int) ([]byte, error)
	Truncate(n int)
	Grow(n int)
	Reset()
	Bytes() []byte
	AvailableBuffer() []byte
	Available() int
}

func (b *twoBuffers) do(op byte, n int) (ours, std string) {
	return both(func(w io.ReadWriter) string { return b.one(w.(full), op, n) }, b)
}

func (b *twoBuffers) one(f full, op byte, n int) string {
	switch op {
	case 0, 1, 2, 3, 4, 5:
		return result(f.Write(b.some(n)))
	case 6:
		return result(f.WriteString(string(b.some(n))))
	case 7:
		return result(f.WriteByte(byte(n)))
	case 8:
		return result(f.WriteRune(rune(n * 500)))
	case 9:
		return result(f.ReadFrom(iotestHalves{bytes.NewReader(b.some(n))}))
	case 10, 11:
		p := make([]byte, n)
		k, err := f.Read(p)
		return result(k, err, p[:k])
	case 12:
		return result(f.ReadByte())
	case 13:
		return result(f.UnreadByte())
	case 14:
		return result(f.ReadRune())
	case 15:
		return result(f.UnreadRune())
	case 16, 17:
		empty := len(f.Bytes()) == 0
		line, err := f.ReadString(byte(n))
		if op == 16 {
			var more []byte
			more, err = f.ReadBytes('\n')
			line += string(more)
		}
		if empty || err != nil {
			f.Write(nil) // UnreadByte of bytes.Buffer succeeds after one that read nothing, and does nothing.
		}
		return result(line, err)
	case 18:
		return result(f.Next(n))
	case 19:
		return result(f.Peek(n))
	case 20:
		f.Truncate(min(n, len(f.Bytes())))
	case 21:
		f.Write(nil) // So does Grow.
		f.Grow(n)
		if f.Available() < n {
			b.t.Fatalf("%d bytes are available after Grow(%d)", f.Available(), n)
		}
	case 22:
		if n < 10 {
			f.Reset()
		}
	case 23:
		f.Write(nil) // AvailableBuffer of bytes.Buffer leaves a read to be taken back.
		p := append(f.AvailableBuffer(), b.some(n)...)
		return result(f.Write(p))
	case 24:
		w := &brokenAfter{left: n * 3}
		k, err := f.WriteTo(w)
		return result(k, err, w.got)
	case 25:
		// The bytes of a Buffer, written to itself.
		return result(f.Write(f.Bytes()[:min(n, len(f.Bytes()))]))
	}
	return ""
}

// iotestHalves reads at most 700 bytes at once.
type iotestHalves struct{ r io.Reader }

func (h iotestHalves) Read(p []byte) (int, error) { return h.r.Read(p[:min(len(p), 700)]) }

// A brokenAfter takes so many bytes.
type brokenAfter struct {
	left int
	got  []byte
}

func (w *brokenAfter) Write(p []byte) (int, error) {
	n := min(len(p), w.left)
	w.got = append(w.got, p[:n]...)
	if w.left -= n; n < len(p) {
		return n, io.ErrClosedPipe
	}
	return n, nil
}

// compare looks at both without a change, every way but Bytes, which joins.
func (b *twoBuffers) compare() {
	want := b.std.Bytes()
	var got []byte
	for p := range b.ours.All() {
		if len(p) == 0 || cap(p) != len(p) {
			b.t.Fatalf("a piece has %d bytes and capacity %d", len(p), cap(p))
		}
		got = append(got, p...)
	}
	if !bytes.Equal(got, want) || b.ours.Len() != len(want) || b.ours.String() != string(want) || b.ours.Cap() < len(want) {
		b.t.Fatalf("the Buffer has %d bytes (Len %d), bytes.Buffer %d, or others", len(got), b.ours.Len(), len(want))
	}
	p := make([]byte, 100)
	off := len(want) * 2 / 3
	n, err := b.ours.ReadAt(p, int64(off))
	if !bytes.Equal(p[:n], want[off:min(off+100, len(want))]) || (err == io.EOF) != (n < 100) {
		b.t.Fatalf("ReadAt(%d) reads %d bytes, %v", off, n, err)
	}
}

func FuzzBuffer(f *testing.F) {
	f.Add([]byte{0, 20, 0x80, 255, 12, 0, 13, 0, 14, 0, 15, 0, 0x8a, 100, 13, 0, 16, 0, 0x92, 30, 0x93, 200, 0x98, 40, 0x99, 10, 22, 1, 6, 9})
	f.Add([]byte{0x80, 5, 0x8a, 5, 13, 0, 13, 0, 12, 0, 13, 0, 0x97, 3, 0x95, 100, 0x89, 250, 0x94, 100, 7, 1, 8, 250, 17, 10, 14, 0, 14, 0, 15, 0})
	f.Add(bytes.Repeat([]byte{0x81, 3, 10, 255, 14, 0, 15, 0, 25, 200}, 10))
	f.Fuzz(func(t *testing.T, ops []byte) {
		offheap.CheckLeaks(t)
		for _, ours := range []*pool.Buffer{new(pool.Buffer), pool.BufferFor(account)} {
			b := twoBuffers{t: t, ours: ours, std: new(bytes.Buffer)}
			b.run(ops[:min(len(ops), 120)])
			b.share()
		}
	})
}

// share ends both with a Frame.
func (b *twoBuffers) share() {
	want := b.std.Bytes()
	f := b.ours.Share()
	if f.Len() != len(want) || f.CRC32C() != crc32.Checksum(want, crc32.MakeTable(crc32.Castagnoli)) {
		b.t.Fatalf("the Frame has %d bytes of %d, or others", f.Len(), len(want))
	}
	for range 2 {
		var w bytes.Buffer
		if n, err := f.WriteTo(&w); n != int64(len(want)) || err != nil || !bytes.Equal(w.Bytes(), want) {
			b.t.Fatalf("WriteTo writes %d bytes of %d, %v", n, len(want), err)
		}
	}
	got := make([]byte, len(want)+1)
	if n, err := f.ReadAt(got, 0); n != len(want) || err != io.EOF || !bytes.Equal(got[:n], want) {
		b.t.Fatalf("ReadAt reads %d bytes of %d, %v", n, len(want), err)
	}
	if !bytes.Equal(slices.Concat(slices.Collect(f.All())...), want) {
		b.t.Fatal("All has other bytes")
	}
	f.Release()
}

// TestFrameReaders: many goroutines read a Frame, and the last one frees it.
func TestFrameReaders(t *testing.T) {
	offheap.CheckLeaks(t)
	var b pool.Buffer
	for i := range 20_000 {
		fmt.Fprintf(&b, "%d ", i)
	}
	want := b.String()
	f := b.Share()
	var wg sync.WaitGroup
	for range 20 {
		f.Retain()
		wg.Go(func() {
			defer f.Release()
			var w strings.Builder
			pieces := net.Buffers(slices.Collect(f.All()))
			if _, err := pieces.WriteTo(&w); err != nil || w.String() != want {
				t.Errorf("a reader gets %d bytes of %d, %v", w.Len(), len(want), err)
			}
		})
	}
	f.Release()
	wg.Wait()
}
