// SPDX-License-Identifier: Apache-2.0

// Package memprof writes a profile of a program's memory outside the Go heap, by place of
// allocation, in the format of pprof.
//
// # Model
//
// The profile is sampled, as Go's own heap profile is. Chance picks bytes that offheap allocates,
// one in [DefaultPeriod] on average, each with the same probability, and the block of a picked byte
// is sampled. So a block of n bytes is sampled with the probability 1-exp(-n/period), and each
// sampled block stands for 1/(1-exp(-n/period)) blocks of its size. The figures of the profile are
// multiplied by that. They are estimates: if a figure comes from k samples, its standard deviation
// is about 1/√k of the figure. Sizes are those of size classes, as in offheap.Stats, and the sum of
// the memory in use is about Stats.InUse. Blocks that FREEHOLD=sample guards are an exception: Stats
// counts the bytes that the program asked for.
//
// Importing the package switches sampling on. The profile lacks earlier allocations. An
// offheap.Local that was in use before takes part after at most 65536 allocations of a size.
//
// Each stack has four figures, with the names and units of Go's heap profile: alloc_objects and
// alloc_space since the beginning, and inuse_objects and inuse_space of blocks that are not freed
// yet. Each sample has the label memory=offheap. If the block belongs to an offheap.Purpose, the
// label purpose has the Purpose's name: `go tool pprof -tagfocus`, `-tagroot memory` and `-tagleaf
// purpose` sort by them. Leaf frames of offheap itself are left out, as Go's profile leaves out
// frames of its allocator.
//
// [WriteTo] writes the profile, [Handler] serves it over HTTP. [WriteMerged], and the handler with
// ?merge=1, put Go's own heap profile into the same file, so that one flame graph shows all memory.
//
// # Cost
//
// A sampled block costs some microseconds, nearly all of it for its stack. Other blocks cost
// nothing extra. [SetPeriod] of 0 switches sampling off.
//
// # Concurrency
//
// Every function may be called from any goroutine at any time.
//
// # What it is not
//
// It does not show memory on the Go heap (except merged), including values of arenas there, and memory
// that is reserved but not in use; offheap.Stats has the latter. Nothing is sampled with FREEHOLD=heap, in programs built with -race or for a sanitizer, and in the debug
// modes that serve every block themselves. In the first two cases Go's own profile shows the
// blocks.
package memprof
