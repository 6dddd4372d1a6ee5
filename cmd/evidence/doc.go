// Package evidence reads what Go programs tell about their memory: CPU and heap profiles, values of
// runtime/metrics, and the trace of the collector.
//
// Start with [Evidence.Read], which recognises the format of a file by itself, and call it for each
// piece; the pieces of one program make one [Evidence]. [Metrics] are named as in runtime/metrics,
// whatever format they were read from. [TraceEnvironment] and [TraceFilter] get the collector's
// trace out of a program that is run.
//
// Reading reports a mistake in an input in one line, with its name; errors.Is tells
// [ErrInput] from a failed read. An Evidence is for one goroutine at a time while it is read.
//
// The package opens no file and no connection, and judges nothing: package doctor makes findings of
// it.
package evidence
