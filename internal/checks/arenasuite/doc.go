// Package arenasuite is the conformance suite that every kind of arena passes: it runs the
// functions of [Arena] against a contract and against a naive model.
//
// # Model
//
// An arena is memory for values of several types that are made one by one and given up together. A
// value may hold pointers, so that there is more to see than at blocks of bytes: memory that is
// handed out again is zero; a value that was given up, and is still looked at, is one of its type
// or zero, never half of one; the things that values pointed to can be collected once the values
// are given up; an arena that was dropped without Free keeps its values alive; and every misuse
// panics with a message that says which. [Arena] names the functions of an arena, [Funcs] those
// that make values of one type, both as fields, because generic functions cannot stand in an
// interface.
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
