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
//	heap             every block comes from the Go heap: the kill switch
//	nomemlimit       GOMEMLIMIT is left alone
//	noreuse          arenas on Go memory leave what they give up to the collector
//	guard            every access outside a block or after its free faults, as far as pages can tell
//	poison           fresh and freed memory bears patterns, blocks have canaries
//	leaks            what is not freed is listed at the end, by Go stack
//	pointers         off-heap memory is searched for addresses of the Go heap
//	sample=N         one allocation in N is guarded, for production
//	samplerate=R     at most R of them a second; 0 means no bound
//	guardmaps=N      bound of the mappings that guarded blocks take
//	guardbytes=SIZE  bound of the bytes that are guarded or kept inaccessible
//	evidence=DIR     keep what a report of a crash needs in DIR, for freehold explain
//
// [Options] has the details of each. A word that is not known is reported in one line on standard error, and the program goes on.
// [Configure] does the same from inside the program. What is in force is the union of both: neither can switch off what the other asks
// for. The build tag freehold_heap turns the heap mode on for good.
//
// # Debug modes
//
// The modes from guard to sample catch mistakes. Some are found where they are made, and panic. An access that no code of ours sees, to
// freed memory or behind a block, faults, which ends a Go program; the report of it, with the Go stacks of the access, the allocation
// and the free, is then written to standard error by a copy of the program that was started with the first block and waits for its end.
// In a program that recovers from faults ([debug.SetPanicOnFault]), [Explain] returns the same as an error. At an end without a crash
// the copy lists what was not freed, in the mode leaks; it cannot tell an exit from a kill.
//
// The copy runs the program's initialisation up to freehold's, and never main. It marks itself by the variable FREEHOLD_WATCH, which
// must not be set otherwise: a program that finds it set ends at once. It needs a system with processes that share files (Linux, macOS,
// the BSDs, Solaris), and a program that is not process 1 of its container. A child process that keeps the program's memory, made by C
// code that forks, delays the report until it ends. The text of the crash comes from [debug.SetCrashOutput], which these modes use;
// [SetCrashOutput] says what that means.
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
// [debug.SetPanicOnFault]: https://pkg.go.dev/runtime/debug#SetPanicOnFault
// [debug.SetCrashOutput]: https://pkg.go.dev/runtime/debug#SetCrashOutput
// [debug.SetMemoryLimit]: https://pkg.go.dev/runtime/debug#SetMemoryLimit
package freehold
