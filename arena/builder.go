// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// A Builder builds a string in an arena, as [strings.Builder] does on the Go heap. It is an
// io.Writer, io.StringWriter, io.ByteWriter and io.ReaderFrom. As long as no other value is made in
// the arena meanwhile, growing copies nothing. [NewBuilder] makes one.
//
// If the arena has no memory for a write, the write returns an error that errors.Is
// [offheap.ErrLimit] or [offheap.ErrOutOfMemory] and appends nothing. From then on each write returns
// this error and String panics with it, until Reset. [Builder.Grow] or [Builder.TryGrow] reserves memory
// first.
//
// A Builder must not be copied after its first use; a copy panics at every use. An older copy that
// is written over its original goes unnoticed: the next write may change a finished string. A
// Builder whose arena was freed panics, too. So does one that was written to before the last Reset
// of the arena, or after the checkpoint of a later Rewind, until its own Reset. Len and Cap never
// panic.
//
// [strings.Builder]: https://pkg.go.dev/strings#Builder
type Builder struct {
	_     noCopy
	self  *Builder // Its own address, which a copy does not have; set by the first use.
	a     *Arena
	life  *record // Of the arena, set with self. Its round rises when the arena frees memory.
	round uint64  // Of life, at the last use.
	grown uint64  // The round in which buf got its memory.
	buf   []byte
	err   error // Of the first write that the arena refused.
}

var _ interface {
	io.Writer
	io.StringWriter
	io.ByteWriter
	io.ReaderFrom
} = (*Builder)(nil)

// NewBuilder makes an empty Builder that writes to a.
func NewBuilder(a *Arena) *Builder { return &Builder{a: a} }

// check panics if the Builder is a copy, or holds bytes that the arena has freed.
func (b *Builder) check(op string) {
	if b.self != b || b.life.round.Load() != b.round {
		b.checkSlow(op)
	}
}

//go:noinline
func (b *Builder) checkSlow(op string) {
	if b.self != nil && b.self != b {
		panic(misuse(op, useOfCopy, "on a copy of a Builder of %s; use *Builder, never copy the value", b.life.name()))
	}
	if b.a == nil {
		b.self, b.life = b, &heapRecord
		return
	}
	b.a.check(op)
	b.self, b.life = b, b.a.rec
	how, now := b.life.since(b.grown)
	if cap(b.buf) != 0 && how != "" {
		b.lost(op, how)
	}
	b.round = now
}

// use makes buf the Builder's, and notes when it got its memory. It panics if another goroutine has
// freed values of the arena since the last check.
func (b *Builder) use(op string, buf []byte) {
	if cap(buf) != cap(b.buf) {
		how, now := b.life.freedSince(b.round)
		if how != "" {
			b.lost(op, how)
		}
		b.round, b.grown = now, now
	}
	b.buf = buf
}

// lost panics because the arena has freed the bytes that were written.
func (b *Builder) lost(op, how string) {
	b.a.check(op)
	panic(misuse(op, useAfterReset, "on a Builder that was written to before %s was %s; the arena was made by %s: call Builder.Reset, or make a new one with NewBuilder, after each Reset and Rewind", b.life.name(), how, b.life.place()))
}

// String is the string written so far. It does not change when more is written. It panics if a write
// was refused, because the string would lack a part.
func (b *Builder) String() string {
	b.check("Builder.String")
	if b.err != nil {
		panic(fmt.Errorf("arena: Builder.String after a write that returned an error; Reset begins a new string: %w", b.err))
	}
	if len(b.buf) == 0 {
		return ""
	}
	return unsafex.StringOf(unsafex.DataOf(b.buf), len(b.buf))
}

// Len is the number of bytes written.
func (b *Builder) Len() int { return len(b.buf) }

// Cap is the number of bytes that the Builder has room for.
func (b *Builder) Cap() int { return cap(b.buf) }

// Reset begins a new string. Strings built before stay valid.
func (b *Builder) Reset() {
	b.buf, b.err = nil, nil
	b.check("Builder.Reset")
}

// Grow makes room for n more bytes. It panics if n is negative, and as [New] does.
func (b *Builder) Grow(n int) { must(b.grow("Builder.Grow", n)) }

// TryGrow is [Builder.Grow] that returns an error if there is no memory, instead of panicking. Then the
// Builder is as before.
func (b *Builder) TryGrow(n int) error { return b.grow("Builder.TryGrow", n) }

func (b *Builder) grow(op string, n int) error {
	if n < 0 {
		panic(fmt.Errorf("arena: %s: negative number of bytes %d", op, n))
	}
	b.check(op)
	if cap(b.buf)-len(b.buf) >= n {
		return nil
	}
	if n > maxBytes-len(b.buf) {
		return outOfMemory("%s: %d bytes and %d more", op, len(b.buf), n)
	}
	if b.a == nil {
		b.buf = slices.Grow(b.buf, n)
		return nil
	}
	buf, err := reserve(op, b.a, describe[byte](), b.buf, len(b.buf)+n)
	if err != nil {
		return err
	}
	b.use(op, buf)
	return nil
}

// add appends p for op, or nothing if it returns an error.
func (b *Builder) add(op string, p []byte) error {
	if n := len(b.buf); len(p) <= cap(b.buf)-n && (b.a == nil || b.a.kind > kindShared) && b.err == nil {
		b.buf = b.buf[:n+len(p)]
		copy(b.buf[n:], p)
		return nil
	}
	return b.addSlow(op, p)
}

//go:noinline
func (b *Builder) addSlow(op string, p []byte) error {
	if b.err != nil {
		return b.err
	}
	buf, err := appendTo(op, b.a, b.buf, p)
	if err != nil {
		b.err = err
		return err
	}
	b.use(op, buf)
	return nil
}

// Write appends p.
func (b *Builder) Write(p []byte) (int, error) {
	b.check("Builder.Write")
	if err := b.add("Builder.Write", p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// WriteString appends s.
func (b *Builder) WriteString(s string) (int, error) {
	b.check("Builder.WriteString")
	if err := b.add("Builder.WriteString", unsafex.SliceOf[byte](unsafex.StringData(s), len(s), len(s))); err != nil {
		return 0, err
	}
	return len(s), nil
}

// WriteByte appends c.
func (b *Builder) WriteByte(c byte) error {
	b.check("Builder.WriteByte")
	if n := len(b.buf); n < cap(b.buf) && (b.a == nil || b.a.kind > kindShared) && b.err == nil {
		b.buf = b.buf[:n+1]
		b.buf[n] = c
		return nil
	}
	return b.addSlow("Builder.WriteByte", []byte{c})
}

// WriteRune appends the UTF-8 form of r and returns its length.
func (b *Builder) WriteRune(r rune) (int, error) {
	var p [utf8.UTFMax]byte
	return b.Write(utf8.AppendRune(p[:0], r))
}

// ReadFrom appends all data of r. It reads into a buffer of its own on the Go heap, of at most 32
// KiB, and copies from there. So if a reader keeps the buffer of a Read and writes to it later, it
// does not change finished strings. If r is an io.WriterTo, r writes to b instead, without that
// buffer.
func (b *Builder) ReadFrom(r io.Reader) (total int64, err error) {
	b.check("Builder.ReadFrom")
	if w, ok := r.(io.WriterTo); ok {
		return w.WriteTo(onlyWriter{b})
	}
	const least, most = 512, 32 << 10
	buf := make([]byte, least)
	for {
		n, err := r.Read(buf)
		if n < 0 || n > len(buf) {
			panic(fmt.Errorf("arena: Builder.ReadFrom: a Read of at most %d bytes returned %d", len(buf), n))
		}
		b.check("Builder.ReadFrom") // The reader may have used the arena.
		if err := b.add("Builder.ReadFrom", buf[:n]); err != nil {
			return total, err
		}
		total += int64(n)
		if err == io.EOF {
			return total, nil
		}
		if err != nil {
			return total, err
		}
		if n == len(buf) && n < most {
			buf = make([]byte, 2*n)
		}
	}
}

// An onlyWriter hides ReadFrom, which an io.WriterTo might call in turn.
type onlyWriter struct{ b *Builder }

func (w onlyWriter) Write(p []byte) (int, error)       { return w.b.Write(p) }
func (w onlyWriter) WriteString(s string) (int, error) { return w.b.WriteString(s) }
