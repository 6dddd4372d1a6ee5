// SPDX-License-Identifier: Apache-2.0

// Package arenaproto decodes Protocol Buffers into arenas.
//
//	a := arena.NewArena()
//	defer a.Free()
//	for _, b := range records {
//		order, err := arenaproto.New[pb.Order](a, b)
//		...
//		a.Reset(arena.Keep) // frees the order; the next one uses the same memory
//	}
//
// # Model
//
// The messages are the ones that protoc-gen-go generates, of the open, the hybrid and the opaque API, with
// proto2, proto3 and editions. No generator of our own is needed. At the first message of a type the
// package compiles a plan from the descriptor and the layout of the Go struct. It then decodes
// samples by the plan and by protobuf-go, and compares them. If they differ, protobuf-go decodes the
// type. [Prepare] does this beforehand and reports what falls back.
//
// Extensions, MessageSets, and messages of other generators are decoded by protobuf-go, to the Go heap.
//
// The result means what proto.Unmarshal makes of the input, unknown fields included, and the errors
// are the same. There are two differences. Fields that are declared lazy are decoded at once. A map that only records of
// the wrong wire type name stays nil instead of empty.
//
// proto.Unmarshal overlooks required fields that are missing in some messages: in a member of a oneof
// that is not the first, and in a map's value that comes twice in its entry. The package reports what
// proto.Unmarshal reports. So protobuf-go decodes an input that lacks a required field once more, to the
// Go heap.
//
// [Unmarshal] decodes into a message of the caller's, [New] makes the message in the arena, too. [Into] is for code
// that calls proto.Unmarshal itself, and [Each] iterates over streams with one message alive at a
// time. A nil arena means the Go heap: each message gets memory of its own, in a few objects.
//
// # Lifetime
//
// All that a message leads to lies in the arena, and strings and bytes point into a copy of the input there.
// They are valid until the arena is reset, rewound or freed. A message that must live longer
// is copied by [google.golang.org/protobuf/proto.Clone], a string by strings.Clone.
//
// A message that was freed must not be decoded into. With Merge, the messages that it shows are filled,
// and new ones may lie in the same memory. So it may become a part of itself, or of another message.
// Decoding ends and memory stays intact, but proto.Marshal of such a message overflows the stack, which
// ends the process.
//
// Maps of messages are Go maps, on the Go heap. The arena keeps them, clears them at Reset and hands them
// out again; see [arena.Arena.UnsafeGoMap] for what a stale map does.
//
// Values that a program assigns to such a message may lie anywhere. One part in use keeps a whole chunk of its
// type alive if the arena is dropped instead of freed. Without an arena it keeps the parts of its type in
// the message, and the copy of the input if it is a string or bytes.
//
// # Limits
//
// Arena.SetLimit bounds the memory of a message; the error wraps offheap.ErrLimit. Input of two bytes can
// make an empty message that takes hundreds of bytes, so bounding the size of the input is not enough. A
// length in the input makes nothing grow before that many bytes are there.
//
// # Concurrency
//
// Any number of goroutines may decode at the same time, each into an arena of its own or all into one that
// is shared ([arena.NewShared]). A shared arena must not be reset, rewound or freed meanwhile. Any
// number of goroutines may read a message that none of them changes, lazy fields included.
//
// A Resolver of the options may decode into the same arena, and may end the goroutine. If it changes the
// message that is being decoded, the result is undefined, but memory stays intact.
//
// # When not to use it
//
// Messages that outlive the request that brought them belong on the Go heap: use proto.Unmarshal, or a nil
// arena. A service that reads two fields of a large message and no others is better served by a lazy
// decoder.
package arenaproto
