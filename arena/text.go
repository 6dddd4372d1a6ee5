// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// String copies s, a string or bytes, to a. The result is valid as long as a's values are. No data
// that outlives them may keep it; map keys are an example (see [Clone]).
func String[S ~string | ~[]byte](a *Arena, s S) string {
	var p unsafex.Ptr
	if a != nil && len(s) != 0 && a.text != nil {
		p = a.text.take(uintptr(len(s)))
	}
	if p == nil {
		t, err := text("String", a, view(s))
		must(err)
		return unsafex.StringOf(unsafex.DataOf(t), len(t))
	}
	copy(unsafex.SliceOf[byte](p, len(s), len(s)), s)
	return unsafex.StringOf(p, len(s))
}

// Bytes copies s, a string or bytes, to a. The result's capacity is its length.
func Bytes[S ~string | ~[]byte](a *Arena, s S) []byte {
	var p unsafex.Ptr
	if a != nil && len(s) != 0 && a.text != nil {
		p = a.text.take(uintptr(len(s)))
	}
	if p == nil {
		t, err := text("Bytes", a, view(s))
		must(err)
		return t
	}
	b := unsafex.SliceOf[byte](p, len(s), len(s))
	copy(b, s)
	return b
}

// Concat copies the parts, one behind the other, to one string in a.
func Concat(a *Arena, parts ...string) string {
	s, err := concat("Concat", a, parts)
	must(err)
	return s
}

func concat(op string, a *Arena, parts []string) (string, error) {
	n := 0
	for _, s := range parts {
		if n += len(s); n < 0 {
			return "", outOfMemory("%s: %d strings whose lengths overflow", op, len(parts))
		}
	}
	b, err := written(op, a, n, func(b []byte) {
		for _, s := range parts {
			b = b[copy(b, s):]
		}
	})
	return unsafex.StringOf(unsafex.DataOf(b), len(b)), err
}

// view is the bytes of s, which nothing may change. A string and a slice begin with the address of
// their data (GC-8).
func view[S ~string | ~[]byte](s S) []byte {
	return unsafex.SliceOf[byte](load(unsafex.PtrOf(&s)), len(s), len(s))
}

// text is a copy of s in a, or on the Go heap if a says so.
//
//go:noinline
func text(op string, a *Arena, s []byte) ([]byte, error) {
	return written(op, a, len(s), func(b []byte) { copy(b, s) })
}

// written is n bytes in a, or on the Go heap if a says so, which write overwrites before another
// goroutine can free them.
func written(op string, a *Arena, n int, write func([]byte)) (b []byte, err error) {
	if a != nil {
		in, lock := a.lock(op)
		defer lock.unlock()
		a = in
	}
	p, err := a.alloc(op, describe[byte](), n, false)
	if err != nil {
		return nil, err
	}
	if p == nil {
		b = make([]byte, n)
	} else {
		b = unsafex.SliceOf[byte](p, n, n)
	}
	write(b)
	return b, nil
}

// A Builder builds a string in an arena, as [strings.Builder] does on the Go heap. It is an
// io.Writer, io.StringWriter, io.ByteWriter and io.ReaderFrom. As long as no other value is made in
// the arena meanwhile, growing copies nothing. [NewBuilder] makes one.
//
// If the arena has no memory for a write, the write returns an error that errors.Is
// [offheap.ErrLimit] or [offheap.ErrOutOfMemory] and appends nothing. From then on each write returns
// this error and String panics with it, until Reset. [Builder.Grow] reserves memory first.
//
// A Builder must not be copied; a copy panics at every use, and so does a Builder that NewBuilder did
// not make. An older copy that is written over its original goes unnoticed: the next write may change
// a finished string. A Builder whose arena was freed panics, too. So does one that was written to
// before the last Reset of the arena, or after the checkpoint of a later Rewind, until its own Reset.
// Len never panics.
//
// The Builder itself, some 90 bytes, is a Go value. It lies on the stack if the function that makes
// it keeps neither the Builder nor a copy and does not pass it as an interface, as to [fmt.Fprintf].
//
// [strings.Builder]: https://pkg.go.dev/strings#Builder
type Builder struct {
	_     noCopy
	self  *Builder // Its own address, which a copy does not have.
	a     *Arena
	life  *record // Of the arena. Its round rises when the arena frees memory.
	round uint64  // Of life, at the last use.
	grown uint64  // The round in which buf got its memory.
	buf   []byte
	err   error // Of the first write that the arena refused.
	// direct: a write that buf has room for needs nothing else. It is false if the arena is a shared
	// one, and after an error.
	direct bool
}

var _ interface {
	io.Writer
	io.StringWriter
	io.ByteWriter
	io.ReaderFrom
} = (*Builder)(nil)

// NewBuilder makes an empty Builder that writes to a.
func NewBuilder(a *Arena) *Builder {
	var b Builder // On the caller's stack if it keeps neither the Builder nor a copy.
	b.self = &b
	b.start(a)
	return &b
}

// start makes b, which has nothing but its self, a Builder of a. It is no part of NewBuilder, which is
// inlined.
//
//go:noinline
func (b *Builder) start(a *Arena) {
	u := b.unseen()
	u.a, u.life = a, &heapRecord
	switch {
	case a == nil:
		u.direct = true
	case a.state == nil || a.self != a:
		u.round = 1 // Not that of heapRecord, so that the first use finds the mistake.
	default:
		u.life, u.round = a.rec, a.rec.round.Load()
		u.direct = a.shared == nil
	}
}

// unseen is b without escape analysis knowing, as [Map.unseen] is for a Map: the methods of a Builder
// keep nothing that is on the stack.
func (b *Builder) unseen() *Builder {
	return unsafex.As[Builder](unsafex.Unescaped(unsafex.PtrOf(b)))
}

// check panics if the Builder is a copy, or holds bytes that the arena has freed.
func (b *Builder) check(op string) {
	if b.self != b || b.life.round.Load() != b.round {
		b.checkSlow(op)
	}
}

//go:noinline
func (b *Builder) checkSlow(op string) {
	if b.self == nil {
		panic(misuse(op, useOfZero, "on a Builder that no function of the package made; use NewBuilder"))
	}
	if b.self != b {
		panic(misuse(op, useOfCopy, "on a copy of a Builder of %s; use *Builder, never copy the value", b.a.name()))
	}
	b.a.check(op)
	b.life = b.a.rec
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
	panic(misuse(op, useAfterReset, "on a Builder that was written to before %s was %s; the arena was made by %s: call Builder.Reset, or make a new one with NewBuilder, after each Reset and Rewind", b.a.name(), how, b.a.place()))
}

// String is the string written so far. It does not change when more is written. It panics if a write
// was refused, because the string would lack a part.
func (b *Builder) String() string {
	u := b.unseen()
	u.check("Builder.String")
	if u.err != nil {
		panic(fmt.Errorf("arena: Builder.String after a write that returned an error; Reset begins a new string: %w", u.err))
	}
	if len(u.buf) == 0 {
		return ""
	}
	return unsafex.StringOf(unsafex.DataOf(u.buf), len(u.buf))
}

// Len is the number of bytes written.
func (b *Builder) Len() int { return len(b.buf) }

// Reset begins a new string. Strings built before stay valid.
func (b *Builder) Reset() {
	u := b.unseen()
	u.buf = nil
	u.check("Builder.Reset")
	if u.err != nil {
		u.err, u.direct = nil, u.a == nil || u.a.shared == nil
	}
}

// Grow makes room for n more bytes. It panics if n is negative, and as [New] does.
func (b *Builder) Grow(n int) { must(b.grow(n)) }

func (b *Builder) grow(n int) error {
	const op = "Builder.Grow"
	u := b.unseen()
	if n < 0 {
		panic(fmt.Errorf("arena: %s: negative number of bytes %d", op, n))
	}
	u.check(op)
	if cap(u.buf)-len(u.buf) >= n {
		return nil
	}
	if n > maxBytes-len(u.buf) {
		return outOfMemory("%s: %d bytes and %d more", op, len(u.buf), n)
	}
	if u.a == nil {
		u.buf = slices.Grow(u.buf, n)
		return nil
	}
	in, lock := u.a.lock(op)
	defer lock.unlock()
	buf, err := reserve(op, in, describe[byte](), u.buf, len(u.buf)+n)
	if err != nil {
		return err
	}
	u.use(op, buf)
	return nil
}

// add appends p for op, or nothing if it returns an error. The caller has checked b.
//
//go:noinline
func (b *Builder) add(op string, p []byte) error {
	switch {
	case b.err != nil:
		return b.err
	case len(p) <= cap(b.buf)-len(b.buf) && b.direct:
		b.buf = append(b.buf, p...)
		return nil
	case b.a == nil:
		b.buf = append(b.buf, p...)
		return nil
	case b.direct && b.a.direct(): // As in grow: no copy of another arena.
		if buf := b.a.text.lengthen(b.buf, len(p)); buf != nil {
			b.buf, b.grown = append(buf, p...), b.round
			return nil
		}
	}
	buf, err := appendTo(op, b.a, b.buf, p)
	if err != nil {
		b.err, b.direct = err, false
		return err
	}
	b.use(op, buf)
	return nil
}

// Write appends p.
func (b *Builder) Write(p []byte) (int, error) {
	u := b.unseen()
	u.check("Builder.Write")
	if n := len(u.buf); len(p) <= cap(u.buf)-n && u.direct {
		u.buf = u.buf[:n+len(p)]
		copy(u.buf[n:], p)
		return len(p), nil
	}
	if err := u.add("Builder.Write", p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// WriteString appends s.
func (b *Builder) WriteString(s string) (int, error) {
	u := b.unseen()
	u.check("Builder.WriteString")
	if n := len(u.buf); len(s) <= cap(u.buf)-n && u.direct {
		u.buf = u.buf[:n+len(s)]
		copy(u.buf[n:], s)
		return len(s), nil
	}
	if err := u.add("Builder.WriteString", unsafex.SliceOf[byte](unsafex.StringData(s), len(s), len(s))); err != nil {
		return 0, err
	}
	return len(s), nil
}

// WriteByte appends c.
func (b *Builder) WriteByte(c byte) error {
	u := b.unseen()
	u.check("Builder.WriteByte")
	if n := len(u.buf); n < cap(u.buf) && u.direct {
		u.buf = u.buf[:n+1]
		u.buf[n] = c
		return nil
	}
	p := [1]byte{c}
	return u.add("Builder.WriteByte", p[:])
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

func (w onlyWriter) Write(p []byte) (int, error) { return w.b.Write(p) }

func (w onlyWriter) WriteString(s string) (int, error) { return w.b.WriteString(s) }
