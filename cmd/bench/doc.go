// SPDX-License-Identifier: Apache-2.0

// Package bench measures ways of allocating memory against each other, each in a process of its own.
//
// A [Workload] is a task with sizes; a [Contestant] is one way to do it. For every workload, size
// and contestant the parent starts a child process (the same executable again), because garbage
// that one contestant leaves on the heap makes the next one's collections cheaper. Children are
// interleaved: each pass runs every contestant once, so a machine that slows down affects all of
// them. Contestants of one workload and size must return the same checksums.
//
// Time is CPU time, user and system, of the whole child while it measures, so the collector's work
// on other cores counts. A row states the median over the passes, their spread, and the ratios to
// the Go heap and to the physical bound, which is a hand-made allocator without any check that does
// only what the task needs.
//
// The package is not a general benchmark framework: use testing.B for a function. It is exported so that another
// module can add rivals to the same workloads, with [Set.Add], and run them behind the same command, with [Set.Command].
//
// The package knows no workload: its user passes a [Set] to it. Package workloads has those of
// freehold. A program that uses a set calls [Set.RunChild] first thing in main, because the
// children are that program.
package bench
