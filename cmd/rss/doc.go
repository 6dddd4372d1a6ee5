// SPDX-License-Identifier: Apache-2.0

// Package rss splits the resident memory of a Go program into lines that add up, and says what to do about the largest.
//
// Start with [Run], which takes [Options] and returns a [Report].
//
// Three sources say where memory is, and each has a file here:
//
//  1. The kernel's list of mappings (/proc/PID/smaps) has the total. Package rss sorts the mappings into kinds: the Go heap, the
//     runtime's own memory, freehold's off-heap memory, other anonymous memory, files, and the program's code.
//  2. net/http/pprof has the runtime's figures, which split the Go heap. They are read before and after the mappings; if a
//     collection ran between, both are read again.
//  3. The files of the control group say what counts against the container's limit.
//
// A call of Run uses one goroutine. Concurrent calls do not disturb each other.
package rss
