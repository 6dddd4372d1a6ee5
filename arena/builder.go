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
// A Builder must not be copied after its first use; a copy panics at every use. A Builder whose
// arena was freed panics, too. So does one that was written to before the last Reset of the arena,
// or after the checkpoint of a later Rewind, until its own Reset.
//
// [strings.Builder]: https://pkg.go.dev/strings#Builder
type Builder struct {
	_     noCopy
	self  *Builder // What tells the Builder from a copy, set by the first use.
	a     *Arena
	round uint64 // Of the arena, at the last use.
	grown uint64 // The round in which buf got its memory.
	buf   []byte
}

var _ interface {
	io.Writer
	io.StringWriter
	io.ByteWriter
	io.ReaderFrom
} = (*Builder)(nil)

// NewBuilder makes an empty Builder that writes to a.
func NewBuilder(a *Arena) *Builder { return &Builder{a: a} }

// check panics if the Builder is a copy, or holds bytes that the arena gave up.
func (b *Builder) check(op string) {
	if b.self != b || b.a != nil && b.a.round.Load() != b.round {
		b.checkSlow(op)
	}
}

//go:noinline
func (b *Builder) checkSlow(op string) {
	if b.self != nil && b.self != b {
		panic(misuse(op, useOfCopy, "on a copy of a Builder of %s; use *Builder, never copy the value", b.a.name()))
	}
	if b.a == nil {
		b.self = b
		return
	}
	b.a.check(op)
	b.self = b
	how, now := b.a.since(b.grown)
	if cap(b.buf) != 0 && how != "" {
		panic(misuse(op, useAfterReset, "on a Builder that was written to before %s was %s; the arena was made by %s: call Builder.Reset, or make a new one with NewBuilder, after each Reset and Rewind", b.a.name(), how, b.a.rec.place()))
	}
	b.round = now
}

// use makes buf the Builder's, and notes when it got its memory.
func (b *Builder) use(buf []byte) {
	if cap(buf) != cap(b.buf) && b.a != nil {
		b.grown = b.a.round.Load()
	}
	b.buf = buf
}

// String is the string written so far. It does not change when more is written.
func (b *Builder) String() string {
	b.check("Builder.String")
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
	b.buf = nil
	b.check("Builder.Reset")
}

// Grow makes room for n more bytes. It panics if n is negative.
func (b *Builder) Grow(n int) {
	if n < 0 {
		panic(fmt.Errorf("arena: Builder.Grow: negative number of bytes %d", n))
	}
	b.check("Builder.Grow")
	if cap(b.buf)-len(b.buf) >= n {
		return
	}
	if n > maxBytes-len(b.buf) {
		panic(outOfMemory("Builder.Grow: %d bytes and %d more", len(b.buf), n))
	}
	if b.a == nil {
		b.buf = slices.Grow(b.buf, n)
		return
	}
	buf, err := reserve("Builder.Grow", b.a, describe[byte](), b.buf, len(b.buf)+n)
	must(err)
	b.use(buf)
}

// Write appends p. The error is always nil.
func (b *Builder) Write(p []byte) (int, error) {
	b.check("Builder.Write")
	b.use(Append(b.a, b.buf, p...))
	return len(p), nil
}

// WriteString appends s. The error is always nil.
func (b *Builder) WriteString(s string) (int, error) {
	b.check("Builder.WriteString")
	b.use(Append(b.a, b.buf, unsafex.SliceOf[byte](unsafex.StringData(s), len(s), len(s))...))
	return len(s), nil
}

// WriteByte appends c. The error is always nil.
func (b *Builder) WriteByte(c byte) error {
	b.check("Builder.WriteByte")
	b.use(Append(b.a, b.buf, c))
	return nil
}

// WriteRune appends the UTF-8 form of r and returns its length. The error is always nil.
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
		b.use(Append(b.a, b.buf, buf[:n]...))
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
