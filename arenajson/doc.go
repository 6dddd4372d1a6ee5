// SPDX-License-Identifier: Apache-2.0

// Package arenajson decodes JSON into arenas.
//
// A document becomes values of the types that a program has (structs, pointers, slices, maps, arena.Map, any), or a tree of values. All that a document becomes lies in one arena and goes with it. In a program that resets
// the arena, decoding leaves no garbage.
//
// [Unmarshal] and [UnmarshalInto] mean what [encoding/json.Unmarshal] of Go 1.27 means, in every detail that its documentation
// states and in the errors, whatever Go the program is built with, and need 0.06 to 0.12 of its CPU time. Without an arena (a nil *arena.Arena) they decode
// to the Go heap, with nothing to free: each document gets memory of its own, a few objects for all of its values.
//
// [Parse] makes a [Value], for documents of unknown shape; it costs far less than an any. [Pick] makes
// Values of the parts that are asked for alone. A field of type Value takes its part of a document. [Each] and [EachElement]
// iterate over streams with one value alive at a time. A [Decoder] is what json.Decoder is.
//
// A field of type *[arena.Map] takes an object as a Go map does. A nil one gets a new Map in the arena; one that is there keeps
// its entries with other keys, and its own arena. Decoding panics if it is stale, as every use of it does.
//
// # Lifetime
//
// Values lie in the arena, and strings point into a copy of the document there. They are valid until the arena is reset,
// rewound or freed; [arena.Heap] copies what must live longer. A string that is put into a map of the program's
// dies with the arena, too: copy it with [strings.Clone]. Stale values behave as those of any arena: see package arena.
//
// One value in use keeps a whole chunk of its type alive if the arena is dropped instead of freed; without an arena it keeps
// the values of its type in the document, and the copy of the document if it is a string.
//
// # Methods of the program
//
// UnmarshalJSON and UnmarshalText are called as encoding/json calls them: with a part of the input, which they must copy if
// they keep it, and only if the document is well-formed to its end. They may decode into the same arena. They must not
// reset, rewind or free it.
//
// # Concurrency
//
// Any number of goroutines may decode at the same time, each into an arena of its own or all into one that is shared
// ([arena.NewShared]). A shared arena must not be reset, rewound or freed while a document is decoded into it.
//
// # When not to use it
//
// Values that outlive the request that brought them belong on the Go heap: decode with encoding/json, or with a nil
// arena. For a field or two of a large document, a Value or a streaming tokenizer is the smaller tool.
package arenajson
