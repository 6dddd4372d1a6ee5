// SPDX-License-Identifier: Apache-2.0

// Package z has the allocation functions of ristretto's package z on freehold's off-heap memory, and
// a Buffer for records.
//
// # Model
//
// [Calloc] and [Free] are malloc and free in pure Go. With ristretto's own package the same
// functions need the tag jemalloc, cgo and a jemalloc built for them; without these, Calloc is make
// and Free does nothing.
//
// [Buffer] keeps the records of ristretto's Buffer in a [sortbuf.Buffer], where they never move. Its
// methods and offsets are those of ristretto's Buffer.
//
// A program that calls z.Calloc and z.Free itself changes the import. A program that uses ristretto,
// badger or dgraph, whose Buffer, Allocator and Tree call Calloc inside, runs the command ristretto
// beside this package once. It copies the version of ristretto that the program uses, puts these
// functions in the place of its own, and replaces the module by the copy:
//
//	go run github.com/freehold-go/freehold/adapters/z/ristretto@latest
//
// With the flag -buffer the copy has this package's Buffer, too.
//
// # Lifetime
//
// A slice belongs to the caller from Calloc to Free. A slice without Free is a leak: FREEHOLD=leaks
// lists it with its Go stack. The same holds for a Buffer without Release.
//
// # Concurrency
//
// Every function may be called from several goroutines at once. One goroutine may use a Buffer at a
// time.
//
// # What it is not
//
// It has no Allocator. An arena (package arena) does what an Allocator does, for values of any type.
// It maps no files: a Buffer lies in memory.
package z
