// SPDX-License-Identifier: Apache-2.0

// Package bytes is what the tests of bytes.Buffer need, with pool.Buffer in its place.
package bytes

import (
	"bytes"

	"github.com/freehold-go/freehold/pool"
)

// A Buffer is a pool.Buffer. A method of a nil Buffer must not look for it.
type Buffer struct{ pool.Buffer }

func NewBuffer(b []byte) *Buffer {
	n := new(Buffer)
	_, _ = n.Write(b)
	return n
}

func NewBufferString(s string) *Buffer { return NewBuffer([]byte(s)) }

func (b *Buffer) String() string {
	if b == nil {
		return "<nil>"
	}
	return b.Buffer.String()
}

const MinRead = bytes.MinRead

var (
	Equal       = bytes.Equal
	Repeat      = bytes.Repeat
	ErrTooLarge = bytes.ErrTooLarge
)
