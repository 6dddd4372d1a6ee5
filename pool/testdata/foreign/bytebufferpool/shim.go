// SPDX-License-Identifier: Apache-2.0

// Package bytebufferpool has the API of github.com/valyala/bytebufferpool on pool.Pool.
package bytebufferpool

import (
	"io"

	"github.com/freehold-go/freehold/pool"
)

type ByteBuffer struct{ B []byte }

type Pool struct{ p pool.Pool[ByteBuffer] }

var std Pool

func Get() *ByteBuffer  { return std.Get() }
func Put(b *ByteBuffer) { std.Put(b) }

func (p *Pool) Get() *ByteBuffer { return p.p.Get() }

func (p *Pool) Put(b *ByteBuffer) {
	b.Reset()
	if cap(b.B) <= 1<<20 {
		p.p.Put(b)
	}
}

func (b *ByteBuffer) Len() int       { return len(b.B) }
func (b *ByteBuffer) Bytes() []byte  { return b.B }
func (b *ByteBuffer) String() string { return string(b.B) }
func (b *ByteBuffer) Reset()         { b.B = b.B[:0] }

func (b *ByteBuffer) Set(p []byte)       { b.B = append(b.B[:0], p...) }
func (b *ByteBuffer) SetString(s string) { b.B = append(b.B[:0], s...) }

func (b *ByteBuffer) Write(p []byte) (int, error) {
	b.B = append(b.B, p...)
	return len(p), nil
}

func (b *ByteBuffer) WriteString(s string) (int, error) {
	b.B = append(b.B, s...)
	return len(s), nil
}

func (b *ByteBuffer) WriteByte(c byte) error {
	b.B = append(b.B, c)
	return nil
}

func (b *ByteBuffer) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(b.B)
	return int64(n), err
}

func (b *ByteBuffer) ReadFrom(r io.Reader) (n int64, err error) {
	all, err := io.ReadAll(r)
	b.B = append(b.B, all...)
	return int64(len(all)), err
}
