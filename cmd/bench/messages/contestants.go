// SPDX-License-Identifier: Apache-2.0

package messages

import (
	"reflect"

	"google.golang.org/protobuf/proto"

	"github.com/freehold-go/freehold/adapters/arenaproto"
	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/cmd/bench"
)

// The names of contestants.
const (
	Unmarshal  = "proto.Unmarshal"
	VTProto    = "vtprotobuf"
	Arena      = "arenaproto"
	ArenaAlias = "arenaproto, alias"
	ArenaBatch = "arenaproto, batches"
	ArenaPool  = "arenaproto, Pool"
	ArenaDrop  = "arenaproto, no reuse"
	ArenaNil   = "arenaproto, nil"
)

// ArenaBatch resets an arena after so many messages, or after so many bytes of input.
const (
	batch      = 64
	batchBytes = 128 << 10
)

// heap are the contestants that decode to the Go heap by the type's own package.
func (t Task) heap() []bench.Contestant {
	all := []bench.Contestant{t.Contestant(Unmarshal, "of google.golang.org/protobuf", func(*bench.Run) Decoder {
		return func(_ int, b []byte) (any, error) {
			m := t.New()
			return m, proto.Unmarshal(b, m)
		}
	}, nil)}
	type generated interface {
		proto.Message
		UnmarshalVT(b []byte) error
	}
	if _, ok := t.New().(generated); !ok {
		return all
	}
	return append(all, t.Contestant(VTProto, "the method UnmarshalVT that protoc-gen-go-vtproto generated", func(*bench.Run) Decoder {
		return func(_ int, b []byte) (any, error) {
			m := t.New().(generated)
			return m, m.UnmarshalVT(b)
		}
	}, nil))
}

// arenas are the contestants of freehold.
func (t Task) arenas() []bench.Contestant {
	alias := arenaproto.UnmarshalOptions{AliasInput: true}
	all := []bench.Contestant{
		t.Contestant(Arena, "an arena for each message, reset before the next one", t.inArenas(arenaproto.UnmarshalOptions{}, 1), nil),
		t.Contestant(ArenaAlias, "the same; strings are parts of the input, which is not copied", t.inArenas(alias, 1), nil),
		t.Contestant(ArenaBatch, "each arena is reset after 64 messages or 128 KiB of input", t.inArenas(arenaproto.UnmarshalOptions{}, batch), nil),
		t.Contestant(ArenaPool, "the arena comes from a Pool", t.fromPool(new(arena.Pool)), nil),
		t.Contestant(ArenaDrop, "the same; the Pool leaves the memory to the collector, as grpcarena does by default", t.fromPool(&arena.Pool{NoReuse: true}), nil),
		t.Contestant(ArenaNil, "to the Go heap, without an arena", func(*bench.Run) Decoder {
			return func(_ int, b []byte) (any, error) {
				m := t.New()
				return m, arenaproto.Unmarshal(nil, b, m)
			}
		}, nil),
	}
	for i := range all {
		all[i].Own = true
		switch all[i].Name {
		case ArenaAlias, ArenaBatch, ArenaPool:
			all[i].FullOnly = t.Inputs == nil // The quick selection has little time, unless the user names a type.
		}
	}
	return all
}

// Decode decodes into a new M in a.
func Decode[M any, P interface {
	*M
	proto.Message
}](a *arena.Arena, b []byte, o arenaproto.UnmarshalOptions) (proto.Message, error) {
	m, err := arenaproto.New[M, P](a, b, o)
	return m, err
}

// in decodes into a new message in a.
func (t Task) in(a *arena.Arena, typ reflect.Type, b []byte, o arenaproto.UnmarshalOptions) (any, error) {
	if t.Decode != nil {
		return t.Decode(a, b, o)
	}
	o.Merge = true // It is empty.
	m := arena.NewOf(a, typ).(proto.Message)
	return m, o.Unmarshal(a, b, m)
}

// inArenas decodes into an arena for each slot, which is reset after so many messages.
func (t Task) inArenas(o arenaproto.UnmarshalOptions, every int) func(r *bench.Run) Decoder {
	return func(*bench.Run) Decoder {
		typ := reflect.TypeOf(t.New()).Elem()
		var arenas [Alive]*arena.Arena
		var decoded [Alive]int
		return func(slot int, b []byte) (any, error) {
			switch {
			case arenas[slot] == nil:
				arenas[slot] = arena.NewArena()
			case decoded[slot] >= every || decoded[slot]*len(b) >= batchBytes:
				arenas[slot].Reset(arena.Keep)
				decoded[slot] = 0
			}
			decoded[slot]++
			return t.in(arenas[slot], typ, b, o)
		}
	}
}

// fromPool decodes into an arena of the pool, to which the arena of the slot's last message goes back.
func (t Task) fromPool(p *arena.Pool) func(r *bench.Run) Decoder {
	return func(*bench.Run) Decoder {
		typ := reflect.TypeOf(t.New()).Elem()
		var arenas [Alive]*arena.Arena
		return func(slot int, b []byte) (any, error) {
			if arenas[slot] != nil {
				p.Put(arenas[slot])
			}
			arenas[slot] = p.Get()
			return t.in(arenas[slot], typ, b, arenaproto.UnmarshalOptions{})
		}
	}
}
