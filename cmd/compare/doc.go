// SPDX-License-Identifier: Apache-2.0

// Package compare measures whether a change made a program cheaper, with the interval of the ratio.
//
// Start with [Run], which takes two sides, A and B, from [Options] and returns a [Report]. A side
// is a command, one benchmark of a package, or a running server. The sides run in turns. Each run
// is a process of its own, and every second pair starts with B, so that a change in the machine's
// speed affects both sides.
//
// # The interval
//
// The estimate is of the ratio of B to A, with its 95 % interval; package pairs has the method.
// Noise that affects both sides alike does not widen it. The medians of the sides stand beside it.
//
// The runs end when the interval of the CPU time is as narrow as Options.Precision, or when the
// budget ends. At least eight pairs run. A look at the width after each pair costs little of the
// confidence, because the width does not depend on where the interval lies.
//
// # Where figures come from
//
// The system reports CPU time (user and system), elapsed time and the largest resident set of a
// process. The collector's figures come from GODEBUG=gctrace=1. Its times are elapsed time on each
// P, which is too high on a busy machine. Printing the trace costs the program about 30 µs a cycle,
// so only some pairs are traced, and they count for the collector's figures only. Benchmarks report
// time, allocations and their own metrics. Servers are asked for profiles and runtime metrics.
//
// A call of Run uses one goroutine and its child processes. Concurrent calls would disturb each
// other's figures.
package compare
