// Package slogleaks writes what was not freed to a structured logger.
//
//	defer slogleaks.Log(context.Background(), slog.Default())
//
// # Model
//
// [Log] writes one record for each place in the program that memory came from, the largest first, with how much it is and the Go
// stack or the line that asked for it. It reports what is in use: at the end of a program or of a test that is a leak, in a
// running service what grows from one report to the next is.
//
// Stacks of blocks are known in a debug mode only, of which FREEHOLD=leaks is the cheapest; without one a record says how many
// bytes are in use, by purpose. Off-heap arenas are always known by the line that made them. Arenas on the Go heap that nobody
// freed are the collector's, and not reported.
//
// # What it is not
//
// At the end of a program that runs with FREEHOLD=leaks freehold lists leaks on standard error without this package, which is for programs whose
// logs go elsewhere, and for reports in between. It depends on the standard library alone, and is here and not in the library
// because it stands on offheap and arena at once, which the library's packages do not.
package slogleaks
