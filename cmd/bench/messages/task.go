// SPDX-License-Identifier: Apache-2.0

package messages

import (
	"fmt"
	"hash/fnv"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/freehold-go/freehold/adapters/arenaproto"
	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/cmd/bench"
)

// Alive is how many messages are alive at a time, and how many a round decodes.
const Alive = 4

// A Task is the decoding of messages of one type.
type Task struct {
	// Name and Doc are those of the workload.
	Name, Doc string
	// New returns an empty message.
	New func() proto.Message
	// Decode, if not nil, is [Decode] for the type: arenas get messages by arenaproto.New, and not by reflection.
	Decode func(a *arena.Arena, b []byte, o arenaproto.UnmarshalOptions) (proto.Message, error)
	// Data returns the input.
	Data func(r *bench.Run) ([]byte, error)
	// Sizes are the sizes of the quick selection and of a full run, Size is their unit.
	Sizes []int
	Size  string
	// FullOnly keeps the task out of the quick selection.
	FullOnly bool
	// Inputs, if not nil, lists files in place of sizes.
	Inputs func(o *bench.Options) ([]bench.Input, error)
	Flags  []bench.Flag
	// Read, if not nil, reads a decoded message, as a part of the task. The sum is the same for all contestants.
	Read func(result any) uint64
	// Rivals are further contestants, and Bars the limits.
	Rivals []bench.Contestant
	Bars   []bench.Bar
}

// A Decoder decodes a message. slot, below Alive, is the place of a message that is no longer needed.
type Decoder func(slot int, b []byte) (any, error)

// Workload is the workload of the task.
func (t Task) Workload() bench.Workload {
	quick := t.Sizes
	if t.FullOnly {
		quick = nil
	}
	return bench.Workload{
		Name: t.Name, Doc: t.Doc, Op: "message", Size: t.Size, Quick: quick, Full: t.Sizes,
		Inputs: t.Inputs, Flags: t.Flags, Bars: t.Bars,
		Ops:         func(int) int { return Alive },
		Heap:        Unmarshal,
		Contestants: slices.Concat(t.heap(), t.Rivals, t.arenas()),
	}
}

// Contestant returns a contestant of the task, which opens a decoder for its rounds. check compares a result that is no
// proto.Message with the input, and is nil otherwise.
func (t Task) Contestant(name, note string, open func(r *bench.Run) Decoder, check func(result any, b []byte) error) bench.Contestant {
	return bench.Contestant{Name: name, Note: note, Prepare: func(r *bench.Run) func() uint64 {
		b, err := t.Data(r)
		if err != nil {
			r.Fail(err)
			return func() uint64 { return 0 }
		}
		decode := open(r)
		var alive [Alive]any
		first := true
		return func() uint64 {
			read := uint64(0)
			for slot := range alive {
				if alive[slot], err = decode(slot, b); err != nil {
					r.Fail(fmt.Errorf("bench: %s: %w", t.Name, err))
					return 0
				}
				if t.Read != nil {
					read += t.Read(alive[slot])
				}
			}
			r.Peak()
			if !first {
				return uint64(len(b)) + read
			}
			// The round that warms up is not measured: it checks the decoded message in full.
			first = false
			sum, err := t.sum(alive[Alive-1], b, check)
			if err != nil {
				r.Fail(fmt.Errorf("bench: %s: %w", t.Name, err))
			}
			return sum
		}
	}}
}

// sum is the checksum of a decoded message.
func (t Task) sum(result any, b []byte, check func(result any, b []byte) error) (uint64, error) {
	m, ok := result.(proto.Message)
	if !ok {
		if err := check(result, b); err != nil {
			return 0, err
		}
		m = t.New()
		if err := proto.Unmarshal(b, m); err != nil {
			return 0, err
		}
	}
	encoded, err := proto.Marshal(m)
	if err != nil {
		return 0, err
	}
	// Messages of other packages may encode fields in another order.
	plain := t.New()
	if err := proto.Unmarshal(encoded, plain); err != nil {
		return 0, err
	}
	if encoded, err = (proto.MarshalOptions{Deterministic: true}).Marshal(plain); err != nil {
		return 0, err
	}
	h := fnv.New64a()
	h.Write(encoded)
	return h.Sum64(), nil
}
