// SPDX-License-Identifier: Apache-2.0

package encode

import (
	"bytes"
	"encoding/base64"
	"io"
	"strconv"
)

// buffered gathers the small parts of a line. Long ones go to w without a copy.
type buffered struct {
	w   io.Writer
	buf []byte
	err error
}

// gathered is the number of bytes from which on parts are written.
const gathered = 16 << 10

func (b *buffered) raw(s string) { b.buf = append(b.buf, s...) }

func (b *buffered) number(n int64) { b.buf = strconv.AppendInt(b.buf, n, 10) }

// bytes writes p.
func (b *buffered) bytes(p []byte) {
	if len(p) < 512 {
		b.buf = append(b.buf, p...)
		return
	}
	b.flush()
	if b.err == nil {
		_, b.err = b.w.Write(p)
	}
}

func (b *buffered) flush() error {
	if len(b.buf) > 0 && b.err == nil {
		_, b.err = b.w.Write(b.buf)
	}
	b.buf = b.buf[:0]
	return b.err
}

// oneLine writes JSON without the line breaks between its parts. Within strings JSON has none.
func (b *buffered) oneLine(p []byte) {
	for {
		i := lineBreak(p)
		if i < 0 {
			break
		}
		b.bytes(p[:i])
		p = p[i+1:]
		if len(b.buf) >= gathered {
			b.flush()
		}
	}
	b.bytes(p)
}

// lineBreak is the index of the first byte that ends a line, or -1.
func lineBreak(p []byte) int {
	i := bytes.IndexByte(p, '\n')
	if i >= 0 {
		p = p[:i]
	}
	if j := bytes.IndexByte(p, '\r'); j >= 0 {
		return j
	}
	return i
}

func (b *buffered) base64(p []byte) {
	b.raw(`"`)
	for len(p) > 0 {
		n := min(len(p), gathered/4*3)
		b.buf = base64.StdEncoding.AppendEncode(b.buf, p[:n])
		p = p[n:]
		if len(b.buf) >= gathered {
			b.flush()
		}
	}
	b.raw(`"`)
}

// text writes a string of JSON. The text is short.
func (b *buffered) text(s string) {
	b.raw(`"`)
	for i := range len(s) {
		b.char(s[i])
	}
	b.raw(`"`)
}

// quoted writes a string of JSON.
func (b *buffered) quoted(p []byte) {
	b.raw(`"`)
	from := 0
	for i, c := range p {
		if c < ' ' || c == '"' || c == '\\' {
			b.bytes(p[from:i])
			b.char(c)
			from = i + 1
			if len(b.buf) >= gathered {
				b.flush()
			}
		}
	}
	b.bytes(p[from:])
	b.raw(`"`)
}

// char writes a byte of a string of JSON.
func (b *buffered) char(c byte) {
	switch {
	case c == '"' || c == '\\':
		b.buf = append(b.buf, '\\', c)
	case c == '\n':
		b.raw(`\n`)
	case c < ' ':
		b.buf = append(b.buf, '\\', 'u', '0', '0', '0'+c>>4, "0123456789abcdef"[c&15])
	default:
		b.buf = append(b.buf, c)
	}
}
