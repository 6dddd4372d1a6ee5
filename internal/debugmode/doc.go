// SPDX-License-Identifier: Apache-2.0

// Package debugmode holds the parts that the debug modes of offheap and arena share: the
// modes in force, the records of blocks, stacks, guarded pages, and the report of a mistake.
//
// # Model
//
// A package that serves a block in a debug mode reports the block with [Add], and its free with
// [Freed]. Both keep the caller's Go stack. [Find] leads from an address to the block it lies in or
// near, alive or freed, and [Explain] turns that into a [Report]: what happened, and the stacks of
// the access, the allocation and the free.
//
// [GuardAlloc] gives memory on pages of its own, between inaccessible ones, so that an access
// behind the block or after its free faults. [NewTomb] gives an address at which every access
// faults, and which stands for one free of values: it is written over pointers in memory that
// cannot be made inaccessible.
//
// # The other process
//
// Go ends a process that faults without asking a library. So in the modes guard, sample and leaks
// another process waits for the end of the program and reports it. On Linux [Watch] makes the
// process a watcher whose child is the program. Elsewhere, or without Watch, [Start] runs the
// program a second time, as a copy. Neither reaches main: an init function takes over. Before that
// run the variables and init functions of the packages that this one imports, and of those that Go
// initialises earlier because they do not import it, directly or not, and have an import path before
// its own. The other process runs their initialisation a second time.
//
// # Lifetime
//
// [Start] is called once, before the first block. Without it [Current] is zero, and no function but
// Current need be called. The record of a block is kept until the block is freed, and then until
// its address is used again or newer blocks push it out.
//
// # Concurrency
//
// All functions may be called by any goroutine at any time, but not by one that is pinned to its P:
// they allocate on the Go heap, and take locks.
//
// # What it is not
//
// It changes no allocator: whether a block is guarded, poisoned or recorded is decided by the
// package that serves it.
package debugmode
