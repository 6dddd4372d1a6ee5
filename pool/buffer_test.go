// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/offheap"
)

// TestBufferRefused refuses the n-th block, for each n, by each way to write.
func TestBufferRefused(t *testing.T) {
	p := offheap.NewPurpose("pool's tests, refused bytes")
	defer p.SetLimit(0)
	text := bytes.Repeat([]byte("freehold"), 4<<20/8)
	for limit := int64(1 << 10); limit < 3<<20; limit *= 4 {
		for name, write := range map[string]func(b *Buffer, from []byte) (int, error){
			"Write":       func(b *Buffer, from []byte) (int, error) { return b.Write(from[:min(3000, len(from))]) },
			"WriteString": func(b *Buffer, from []byte) (int, error) { return b.WriteString(string(from[:min(100, len(from))])) },
			"WriteByte": func(b *Buffer, from []byte) (int, error) {
				if err := b.WriteByte(from[0]); err != nil {
					return 0, err
				}
				return 1, nil
			},
			"ReadFrom": func(b *Buffer, from []byte) (int, error) {
				n, err := b.ReadFrom(bytes.NewReader(from))
				return int(n), err
			},
		} {
			offheap.CheckLeaks(t)
			p.SetLimit(limit)
			b := BufferFor(p)
			n, err := 0, error(nil)
			for err == nil && n < len(text) {
				k := 0
				k, err = write(b, text[n:])
				n += k
			}
			if !errors.Is(err, offheap.ErrLimit) || b.Len() != n || b.String() != string(text[:n]) {
				t.Fatalf("%s with limit %d: %v after %d bytes, of which %d are there", name, limit, err, n, b.Len())
			}
			for _, f := range []func(){func() { b.Grow(4 << 20) }, func() { b.Bytes() }, func() { b.Next(n) }, func() { _, _ = b.Peek(n) }} {
				if err := offheap.Try(f); err != nil && !errors.Is(err, offheap.ErrLimit) || b.Len() > n {
					t.Fatalf("%s with limit %d: %v", name, limit, err)
				}
			}
			p.SetLimit(0)
			if _, err := b.WriteString("more"); err != nil || !strings.HasSuffix(b.String(), "more") {
				t.Fatalf("the Buffer does not go on after a refusal: %v", err)
			}
			b.Free()
		}
	}
}

// TestBufferGrowthCopiesNothing: what was written stays where it is.
func TestBufferGrowthCopiesNothing(t *testing.T) {
	var b Buffer
	defer b.Free()
	_, _ = b.WriteString("first")
	first := &b.Bytes()[0]
	for range 1000 {
		_, _ = b.Write(make([]byte, 1000))
	}
	for p := range b.All() {
		if &p[0] != first {
			t.Fatal("growth has moved the first bytes")
		}
		break
	}
	if n := len(b.blocks); n > 30 {
		t.Fatalf("a megabyte lies in %d blocks", n)
	}
	one := b.Bytes()
	if len(b.blocks) != 1 || &one[0] == first || string(one[:5]) != "first" || len(one) != 1_000_005 {
		t.Fatal("Bytes does not join the blocks")
	}
	_, _ = b.WriteString("x")
	if again := b.Bytes(); &again[0] != &one[0] {
		t.Fatal("a write after Bytes makes Bytes copy again")
	}
}

// TestBufferGivesBack: a read Buffer frees its blocks, and Reset keeps no large one.
func TestBufferGivesBack(t *testing.T) {
	var b Buffer
	_, _ = b.Write(make([]byte, 1000))
	b.Reset()
	if b.Cap() != 1024 {
		t.Fatalf("after Reset the Buffer has %d bytes", b.Cap())
	}
	_, _ = b.Write(make([]byte, 5<<20))
	b.Reset()
	if b.Cap() != 0 {
		t.Fatalf("Reset keeps %d bytes", b.Cap())
	}
	for range 100 {
		_, _ = b.Write(make([]byte, 50_000))
	}
	before := b.Cap()
	_, _ = io.CopyN(io.Discard, struct{ io.Reader }{&b}, 4<<20)
	if _, err := b.ReadByte(); err != nil || b.Cap() > before-(4<<20)+keptBlock {
		t.Fatalf("with %d bytes unread the Buffer has %d", b.Len(), b.Cap())
	}
	b.Free()
	if b.Cap() != 0 || b.Len() != 0 {
		t.Fatal("Free keeps bytes")
	}
	if _, err := b.WriteString("again"); err != nil || b.String() != "again" {
		t.Fatal("a Buffer cannot be used after Free")
	}
	b.Free()
	if (*Buffer)(nil).String() != "<nil>" {
		t.Fatal("a nil Buffer is not <nil>")
	}
}

// TestBufferAllocatesNothing: a small Buffer that is used again takes nothing from the Go heap.
func TestBufferAllocatesNothing(t *testing.T) {
	var b Buffer
	defer b.Free()
	n := testing.AllocsPerRun(100, func() {
		for range 50 {
			_, _ = b.WriteString("some text\n")
			_ = b.WriteByte('x')
			_, _ = b.WriteRune('ü')
		}
		var p [100]byte
		_, _ = b.ReadAt(p[:], 3)
		_, _ = b.Read(p[:])
		_, _ = b.ReadByte()
		_, _, _ = b.ReadRune()
		_ = b.Next(10)
		b.Bytes()
		_, _ = b.WriteTo(io.Discard)
		b.Reset()
	})
	if n != 0 && !underSanitizer() {
		t.Fatalf("%v allocations", n)
	}
}

// TestFrameCopiesNothing: Share and its readers use the blocks of the Buffer.
func TestFrameCopiesNothing(t *testing.T) {
	var b Buffer
	for range 30 {
		_, _ = b.Write(make([]byte, 5000))
	}
	_, _ = b.ReadByte()
	var want, got []*byte
	for p := range b.All() {
		want = append(want, &p[0])
	}
	f := b.Share()
	for p := range f.All() {
		got = append(got, &p[0])
	}
	if len(want) < 3 || len(got) != len(want) || got[0] != want[0] || got[1] != want[1] || f.Len() != 149_999 {
		t.Fatal("Share has copied the bytes")
	}
	if f.Retain() != f {
		t.Fatal("Retain does not return the Frame")
	}
	f.Release()
	f.Release()
}
