// SPDX-License-Identifier: Apache-2.0

// Package evidence reads the figures of Go programs about their memory: CPU and heap profiles,
// values of runtime/metrics, and the trace of the collector.
//
// Start with [Evidence.Read], which recognises the format of a file by itself, and call it for each
// piece; the pieces of one program make one [Evidence]. [Metrics] have the names of
// runtime/metrics, whatever format they were read from. [TraceEnvironment] and [TraceFilter] obtain
// the collector's trace of a program that is run.
//
// Reading reports a mistake in an input in one line, with its name; errors.Is tells
// [ErrInput] from a failed read. An Evidence is for one goroutine at a time while it is read.
//
// The package opens no file and no connection, and judges nothing: package doctor makes findings of
// it.
package evidence
