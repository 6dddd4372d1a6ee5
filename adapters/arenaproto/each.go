// SPDX-License-Identifier: Apache-2.0

package arenaproto

import (
	"errors"
	"io"
	"iter"

	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/freehold-go/freehold/arena"
)

// Each decodes the messages of a stream, each of which its length stands before, as package [protodelim] writes them. Only
// one message is alive at a time: it lies in a until the loop's next turn, when a is rewound. So the
// memory that a stream needs does not grow with its length. What the loop's body allocates in a ends
// with the turn, too. If the body or the reader resets a, or rewinds it further, the next turn panics.
// With a nil a the messages lie on the Go heap and stay valid.
//
// Errors are those of [protodelim.UnmarshalFrom]; the first one ends the loop. A stream that ends within a
// message ends with io.ErrUnexpectedEOF. [UnmarshalOptions.AliasInput] has no meaning here.
func Each[M any, P interface {
	*M
	proto.Message
}](a *arena.Arena, r protodelim.Reader, o ...UnmarshalOptions) iter.Seq2[P, error] {
	return func(yield func(P, error) bool) {
		opts, err := only(o)
		opts.AliasInput = false // The buffer is used again.
		var buffer []byte
		mark := a.Checkpoint() // One for all turns: an arena remembers each checkpoint until the next Reset.
		for err == nil {
			buffer, err = opts.read(r, buffer)
			if err == io.EOF {
				return
			}
			var m P
			if err == nil {
				m, err = New[M, P](a, buffer, opts)
			}
			if !yield(m, err) {
				return
			}
			a.Rewind(mark)
		}
		if len(o) > 1 {
			yield(nil, err)
		}
	}
}

const (
	defaultMaxSize = 4 << 20 // That of protodelim.
	step           = 64 << 10
)

// read reads the next message of a stream into a buffer, or a larger one. The error is io.EOF if there is none.
func (o *UnmarshalOptions) read(r protodelim.Reader, buffer []byte) ([]byte, error) {
	size, err := readSize(r)
	if err != nil {
		return buffer, err
	}
	most := o.MaxSize
	if most == 0 {
		most = defaultMaxSize
	}
	if most != -1 && size > uint64(most) {
		return buffer, &protodelim.SizeTooLargeError{Size: size, MaxSize: uint64(most)}
	}
	buffer = buffer[:0]
	for uint64(len(buffer)) < size { // A length is a claim: memory grows with the bytes that are there.
		n := int(min(size-uint64(len(buffer)), uint64(max(step, cap(buffer)-len(buffer)))))
		begin := len(buffer)
		buffer = append(buffer, make([]byte, n)...)
		if _, err := io.ReadFull(r, buffer[begin:]); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return buffer, err
		}
	}
	return buffer, nil
}

var errSize = errors.New("arenaproto: the length of a message is no varint of at most 64 bits")

// readSize reads a varint.
func readSize(r io.ByteReader) (uint64, error) {
	var b [10]byte
	for n := range b {
		c, err := r.ReadByte()
		if err != nil {
			if n > 0 && err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return 0, err
		}
		b[n] = c
		if c < 0x80 {
			if v, size := protowire.ConsumeVarint(b[:n+1]); size > 0 {
				return v, nil
			}
			break
		}
	}
	return 0, errSize
}
