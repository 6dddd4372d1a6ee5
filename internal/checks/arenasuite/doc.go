// SPDX-License-Identifier: Apache-2.0

// Package arenasuite is the conformance suite that every kind of arena passes: it runs the
// functions of [Arena] against a contract and against a naive model.
//
// # Model
//
// An arena is memory for values of several types that are made one by one and freed together. A
// value may hold pointers, so there is more to check than for blocks of bytes: memory that is
// allocated again is zero; a freed value that is still read is a whole value of its type or zero;
// the targets of values can be collected once the values are freed; an arena that was dropped
// without Free keeps its values alive; and every misuse panics with a message that says which.
// [Arena] names the functions of an arena, [Funcs] those that make values of one type, both as
// fields, because generic functions cannot stand in an interface.
//
// # Use
//
// [Test] is the suite. [Ops] runs a stream of operations that a byte string describes, for a fuzz
// target; [Seeds] gives it a start. [FailEach] repeats a stream and refuses the memory for each
// growth of the arena in turn.
//
// # What it is not
//
// It is no part of package alloctest, whose users write allocators of byte blocks: this suite asks
// for checkpoints, parts of values in the arena and a Map, the shape of freehold's own arenas.
package arenasuite
