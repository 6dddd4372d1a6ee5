// Package memprof tells which places of a program allocate its memory outside the Go heap, in the format of pprof.
//
// # Model
//
// The profile is sampled, as Go's own heap profile is: every byte that offheap hands out is as likely as any other to make its block one
// of those that are looked at, once in [DefaultPeriod] bytes on average. A block of n bytes is sampled with the probability
// 1-exp(-n/period), and so each sampled block stands for 1/(1-exp(-n/period)) blocks of its size; the figures of the profile are multiplied by that.
// They are estimates: of what comes from k samples, the standard deviation is about 1/√k of the figure. Sizes are those of size
// classes, as in offheap.Stats, and what is in use adds up to about Stats.InUse.
//
// Importing the package switches sampling on. What was allocated before is not in the profile. An offheap.Local that was in use before
// takes part after at most 65536 allocations of a size.
//
// There are four figures to each stack, with the names and units of Go's heap profile: alloc_objects and alloc_space since the beginning, and
// inuse_objects and inuse_space of what is not freed yet. Each sample bears the label memory=offheap and, if the block belongs to an
// offheap.Purpose, purpose with its name: `go tool pprof -tagfocus`, `-tagroot memory` and `-tagleaf purpose` sort by them. Frames of
// offheap itself are left out at the leaf, as those of Go's allocator are in its profile.
//
// [WriteTo] writes the profile, [Handler] serves it over HTTP. [WriteMerged], and the handler with ?merge=1, put Go's own heap profile
// into the same file, so that one flame graph shows all memory.
//
// # Cost
//
// A sampled block costs some microseconds, nearly all of it for its stack; others cost what they cost anyway. [SetPeriod] of 0 switches sampling off.
//
// # Concurrency
//
// Everything may be called from any goroutine at any time.
//
// # What it is not
//
// It does not show what lies on the Go heap (other than merged), what arenas keep there, mapped files, and memory that
// is reserved but not in use; offheap.Stats has the latter. With FREEHOLD=heap, in programs built with -race or for a sanitizer, and in the
// debug modes that serve every block themselves, nothing is sampled: with the first two Go's own profile shows the blocks.
package memprof
