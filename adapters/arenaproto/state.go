// SPDX-License-Identifier: Apache-2.0

package arenaproto

import (
	"github.com/freehold-go/freehold/adapters/arenaproto/internal/memory"
	"github.com/freehold-go/freehold/arena"
)

// A decoder decodes one message. Positions are indexes into its input; a negative one says that
// decoding has ended with an error.
//
// Other goroutines could change an input that the decoder does not copy. So a length is read once and
// compared with what is left, and a count made ahead bounds what is written, whatever the second
// reading finds.
type decoder struct {
	state

	// What serves the next message, too.
	slabs   arena.UnsafeSlabs
	cursors []*arena.UnsafeCursor // By the numbers of the kinds; none of them is nil.
	opened  []int                 // The numbers of the kinds that have a cursor of the arena.
}

// A state is what a decoder knows of its message.
type state struct {
	data []byte  // The input.
	base pointer // Its first byte.
	last int     // At most here eight bytes can be loaded at once.
	own  bool    // Strings may be parts of the input.

	a       *arena.Arena // Nil for slabs.
	opts    UnmarshalOptions
	depth   int  // How many messages may still be nested.
	partial bool // A required field may be missing: it is, or protobuf-go looks for missing ones.
	records []record
	scratch scratch
	err     error
}

// A record is a part of the input that protobuf-go decodes: extensions, and fields that no plan covers.
type record struct{ from, to int }

// scratch is where the key and the value of a map's entry lie while they are put into the map.
type scratch struct {
	key, value scalar
}

// A scalar holds a value of each size that keys and values of maps have.
type scalar struct {
	number uint64
	text   string
	bytes  []byte
	ref    pointer
}

// at is the part of s that holds values of an op.
func (s *scalar) at(o op) pointer {
	switch o {
	case opText, opChars:
		return memory.Of(&s.text)
	case opBytes:
		return memory.Of(&s.bytes)
	case opMessage:
		return memory.Of(&s.ref)
	}
	return memory.Of(&s.number)
}

// fail ends decoding with an error. It returns a negative position.
func (d *decoder) fail(err error) int {
	if d.err == nil {
		d.err = err
	}
	return -1
}
