// SPDX-License-Identifier: Apache-2.0

package arenaproto

import (
	"errors"
	"fmt"
	"reflect"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/runtime/protoiface"

	"github.com/freehold-go/freehold/adapters/arenaproto/internal/memory"
	"github.com/freehold-go/freehold/arena"
)

// Unmarshal decodes a message into m, as [proto.Unmarshal] does. m may lie anywhere. All that it leads to
// afterwards lies in a, and is valid as long as a's values are; with a nil a it lies on the Go heap, in
// memory that belongs to this message alone.
//
// The result and the errors are those of proto.Unmarshal. If a limit of a refuses memory, the error
// wraps [offheap.ErrLimit]. After an error m holds a part of the message. All memory that a decoding
// took stays in a until a is reset.
//
// The input is copied to a once, and strings are parts of the copy. The caller may change the input
// afterwards, unless [UnmarshalOptions.AliasInput] is set.
//
// Unmarshal panics if a was freed, if m is a nil pointer, and if the Resolver of the options resets, rewinds or frees a.
//
// [offheap.ErrLimit]: https://pkg.go.dev/github.com/freehold-go/freehold/offheap#ErrLimit
func Unmarshal(a *arena.Arena, b []byte, m proto.Message) error {
	return UnmarshalOptions{}.Unmarshal(a, b, m)
}

// Unmarshal is the function [Unmarshal] with options.
func (o UnmarshalOptions) Unmarshal(a *arena.Arena, b []byte, m proto.Message) error {
	a.Round() // Panics if a was freed: a message need not take memory.
	t := reflect.TypeOf(m)
	p := planOf(t)
	if p.foreign != "" || p.lazy && o.Merge && !isFresh(m) {
		return o.UnmarshalOptions.Unmarshal(b, m)
	}
	to := addressOf(m)
	if !o.Merge {
		proto.Reset(m)
	}
	partial, err := o.decode(a, b, p, to)
	if err != nil || !partial || o.AllowPartial {
		return err
	}
	return o.missing(b, m)
}

// missing is the error of proto.Unmarshal for a required field that is not set in m, into which b was
// decoded. proto.Unmarshal looks for such fields only if it noticed, while it decoded b, that one may be
// missing. It does not notice that in a member of a oneof that is not the first, or in a map's value that
// comes twice in its entry. So protobuf-go decodes b once more and says whether it notices (PB-8).
func (o *UnmarshalOptions) missing(b []byte, m proto.Message) error {
	err := proto.CheckInitialized(m)
	if err == nil {
		return nil
	}
	if flags, failed := o.ask(b, reflect.TypeOf(m).Elem()); failed == nil && flags&protoiface.UnmarshalInitialized != 0 {
		return nil
	}
	return err
}

// ask lets protobuf-go decode b into another message, on the Go heap.
func (o *UnmarshalOptions) ask(b []byte, t reflect.Type) (protoiface.UnmarshalOutputFlags, error) {
	m := reflect.New(t).Interface().(proto.Message)
	opts := o.UnmarshalOptions
	opts.Merge, opts.AllowPartial, opts.DiscardUnknown, opts.NoLazyDecoding = true, true, true, true
	out, err := opts.UnmarshalState(protoiface.UnmarshalInput{Buf: b, Message: m.ProtoReflect()})
	return out.Flags, err
}

// addressOf is the address of a message, which is a pointer to a struct.
func addressOf(m proto.Message) pointer {
	to := reflect.ValueOf(m).UnsafePointer()
	if to == nil {
		panic(fmt.Errorf("arenaproto: Unmarshal into a nil %T", m))
	}
	return to
}

// New decodes a message into a new M in a; see [Unmarshal]. After an error the result is nil.
//
// There is one type argument, the message without its pointer: New[pb.Order](a, b).
func New[M any, P interface {
	*M
	proto.Message
}](a *arena.Arena, b []byte, o ...UnmarshalOptions) (P, error) {

	opts, err := only(o)
	if err != nil {
		return nil, err
	}
	m, err := newMessage[M](a)
	if err != nil {
		return nil, err
	}
	opts.Merge = true // It is empty.
	if err := opts.Unmarshal(a, b, P(m)); err != nil {
		return nil, err
	}
	return P(m), nil
}

// newMessage is an empty message.
func newMessage[M any](a *arena.Arena) (*M, error) {
	if a == nil {
		return new(M), nil
	}
	return arena.TryNew[M](a)
}

// only is the one of the options, or the default.
func only(o []UnmarshalOptions) (UnmarshalOptions, error) {
	switch len(o) {
	case 0:
		return UnmarshalOptions{}, nil
	case 1:
		return o[0], nil
	}
	return UnmarshalOptions{}, fmt.Errorf("arenaproto: %d UnmarshalOptions; there can be one", len(o))
}

// isFresh reports whether a message is empty and has never been anything else.
func isFresh(m proto.Message) bool {
	v := reflect.ValueOf(m).Elem()
	for i := range v.NumField() {
		if v.Type().Field(i).Name != "state" && !v.Field(i).IsZero() {
			return false
		}
	}
	return true
}

// decoders serve messages in arenas. Their scratch memory can be used by the next message. Decoders of
// messages without an arena lie in the pools of their plans.
var decoders = sync.Pool{New: newDecoder}

func newDecoder() any { return new(decoder) }

// padding is how many bytes of zeros lie behind a copied input, so that eight bytes can be loaded
// wherever it has one.
const padding = 8

// decode decodes all of the input into the message at to. partial says that a required field may be
// missing.
func (o *UnmarshalOptions) decode(a *arena.Arena, b []byte, p *plan, to pointer) (partial bool, err error) {
	pool := &decoders
	if a == nil {
		pool = &p.decoders
	}
	d := pool.Get().(*decoder)
	d.a, d.opts, d.depth = a, *o, o.RecursionLimit
	if d.depth == 0 {
		d.depth = protowire.DefaultRecursionLimit
	}
	if d.input(b, p) {
		d.message(p, to, 0, len(b), 0)
	}
	partial, err = d.partial, d.err
	waiting := err != nil && len(d.records) != 0
	d.forget()
	d.state = state{records: d.records[:0]}
	if cap(d.records) > mostRecords {
		d.records = nil
	}
	pool.Put(d)
	if waiting {
		err = o.firstFault(b, p.typ, err)
	}
	return partial, err
}

// firstFault is proto.Unmarshal's error for b, if err is the error of a fault that may be the second: records before
// it were waiting for protobuf-go.
func (o *UnmarshalOptions) firstFault(b []byte, t reflect.Type, err error) error {
	if !errors.Is(err, proto.Error) { // A limit of the arena.
		return err
	}
	if _, first := o.ask(b, t); first != nil {
		return first
	}
	return err
}

const mostRecords = 1 << 10 // Kept for the next message.

// copyRoom is n bytes for a copy of the input. Slabs have them among the numbers of the message.
func (d *decoder) copyRoom(n int) []byte {
	if d.a != nil {
		return d.bytes(n)
	}
	return memory.Bytes(d.makeSlice(wordKind, (n+7)/8, 0), 0, n)
}

// input notes the input, or a copy of it that strings can be parts of.
func (d *decoder) input(b []byte, p *plan) bool {
	d.data, d.own = b, d.opts.AliasInput
	if p.strings && !d.own && len(b) != 0 {
		c := d.copyRoom(len(b) + padding)
		if c == nil {
			return false
		}
		clear(c[copy(c, b):])
		d.data, d.own = c, true
	}
	d.base, d.last = memory.Data(d.data), len(d.data)-8
	return true
}
