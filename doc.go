// Package freehold holds what all packages of freehold share: the modes in which they run, their totals, and the memory limit.
//
// # Model
//
// The packages beside it (offheap and those that stand on it) take memory from the operating system and keep it outside the Go
// heap. This package does not allocate. It decides once, at the first allocation, whether they do so at all; it adds up what they
// hold; and it lowers Go's soft memory limit by that amount, so that heap and off-heap memory together stay within the limit that
// was set for the process.
//
// # Modes
//
// The environment variable FREEHOLD holds words separated by commas, as GODEBUG does:
//
//	heap        every block comes from the Go heap: the kill switch
//	nomemlimit  GOMEMLIMIT is left alone
//
// A word that is not known is reported in one line on standard error, and the program goes on. [Configure] does the same from
// inside the program. What is in force is the union of both: neither can switch off what the other asks for. The build tag
// freehold_heap turns the heap mode on for good.
//
// # Lifetime
//
// The modes are frozen when the first package asks for one, because a block must be freed by the allocator that made it. [Configure]
// must therefore run before the first allocation, best at the top of main or in an init function.
//
// # Concurrency
//
// Every function may be called from several goroutines at once.
//
// # What it is not
//
// It is not an allocator (see package offheap), and it sets no policy: where neither GOMEMLIMIT nor [debug.SetMemoryLimit] has set a
// limit, it sets none.
//
// [debug.SetMemoryLimit]: https://pkg.go.dev/runtime/debug#SetMemoryLimit
package freehold
