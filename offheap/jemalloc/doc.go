// SPDX-License-Identifier: Apache-2.0

// Package jemalloc is offheap's interface over the C allocator jemalloc, for programs that must have that one.
//
// Without the build tag jemalloc, or without cgo, the package is empty, so only programs that ask
// for the library need it.
//
// # When to use it
//
// Seldom. A call into C costs more than all the work of package offheap for a small block. It is for
// programs that share a jemalloc with C code, that want to compare, or whose large blocks are used
// in a way that jemalloc is known to be good at.
//
// # Building
//
// On Debian the library is in the package libjemalloc-dev.
//
//	go build -tags jemalloc                    # links libjemalloc.so
//	go build -tags jemalloc,jemalloc_static    # links libjemalloc_pic.a into the program
//
// A library elsewhere is named by CGO_CFLAGS=-I… and CGO_LDFLAGS=-L…. Versions from 5.2 on have all
// that is used here. A build of jemalloc with a prefix (--with-jemalloc-prefix=je_) works too, and
// is the better choice: without one, as Debian builds it, jemalloc replaces malloc, free and their
// kin for all C code in the process from its start.
//
// The package sets the options background_thread:true, metadata_thp:auto and retain:true through the
// symbol malloc_conf. Its definition is weak, so that a program may set its own; the environment
// variable MALLOC_CONF comes after both. Without retain:true every allocation panics: address space
// that went back to the system could become Go heap, and a stale slice would then damage it.
//
// # Lifetime
//
// A block lives from the function that returned it to Free, Delete, FreeSlice or Realloc. The
// collector knows nothing of it. Types with Go pointers are refused with the path of the field.
//
// # Concurrency
//
// Every function may be called from any goroutine, and a block may be freed by another than the one
// that allocated it.
//
// # What it is not
//
// It lacks promises that package offheap makes:
//
//   - Misuse is not found. A second Free, a Free of memory of the Go heap or of an address inside a
//     block is undefined behaviour in C: two owners of one block, damaged bookkeeping, or the end of
//     the process, at once or later. Only slices of capacity 0 and nil pointers are ignored.
//   - Blocks of all types share one memory, with C code in the process too if jemalloc has no
//     prefix. A stale value may show bits of anything, so that a stale bool can hold what is neither
//     true nor false, which Go code does not expect. Self-contained types
//     (offheap.UnsafeSelfContained) are refused for that reason.
//   - jemalloc's records lie in its own pages, which are not protected from stray writes, and its
//     internal errors abort the process.
//   - With vm.overcommit_memory=2 purged memory has no access rights, and a read through a stale
//     slice ends the process.
//   - There is no limit, no purpose, no Local, no Shared, no Ref and no list of regions. Stats that
//     jemalloc keeps are for the whole process.
//   - A size that the system grants but cannot back is not found before it is written.
//   - Inside what jemalloc calls a size class the memory behind a slice's capacity is not checked.
//
// With FREEHOLD=heap blocks come from the Go heap here too, and Free leaves them to the collector.
package jemalloc
