// SPDX-License-Identifier: Apache-2.0

// Package slogleaks writes a report of memory that was not freed to a structured logger.
//
//	defer slogleaks.Log(context.Background(), slog.Default())
//
// # Model
//
// [Log] writes one record for each place of allocation, the largest first, with the number of bytes
// and the Go stack or the line. It reports memory in use. At the end of a program or of a test,
// memory in use is a leak. In a running service, a leak is a figure that grows from one report to
// the next.
//
// A record of blocks has a stack only in a debug mode; FREEHOLD=leaks is the cheapest. Without a
// debug mode a record has the bytes in use, by purpose. A record of an off-heap arena always has
// the line that made the arena. Log does not report arenas on Go memory, because the collector
// frees those that the program forgets.
//
// # What it is not
//
// At the end of a program that runs with FREEHOLD=leaks, freehold lists leaks on standard error
// without this package. Use this package if the logs go elsewhere, and for reports in between.
package slogleaks
