// SPDX-License-Identifier: Apache-2.0

// Package freehold has the parts that all packages of freehold share: their modes, their totals,
// and Go's memory limit.
//
// # Where to start
//
// To see what the collector costs a program, before a line of it is changed:
//
//	go run github.com/freehold-go/freehold/cmd/freehold@latest doctor
//
// The packages beside this one hold the memory. A program imports those that fit its data:
//
//   - arena: values of any type, pointers included, that are made and dropped together, such as
//     those of a request
//   - offheap: single blocks, and values without Go pointers, that live long
//   - gctune: GOMEMLIMIT and GOGC by the limit of the container, without a change of the program
//   - httparena, expvarstats, slogleaks, and the modules in the folder adapters: connections to
//     net/http, gRPC, Arrow, pprof, Prometheus, OpenTelemetry and others
//   - alloctest: a conformance suite for allocators
//
// A program imports this package only to choose modes in code, or to read totals.
//
// # Model
//
// The packages beside it (offheap, and the packages that use it) take memory from the operating
// system and keep it outside the Go heap. This package does not allocate. It decides once, at the
// first allocation, whether they keep blocks outside the Go heap at all. It adds up their memory.
// And it lowers Go's soft memory limit by that amount, so that heap and off-heap memory together
// stay within the limit of the process.
//
// # Modes
//
// The environment variable FREEHOLD holds words separated by commas, as GODEBUG does:
//
//	heap             every block comes from the Go heap: the kill switch
//	nomemlimit       freehold leaves GOMEMLIMIT alone
//	noreuse          arenas on Go memory leave freed memory to the collector
//	guard            every access outside a block or after its free faults, as far as pages can detect it
//	leaks            memory that was not freed is listed at the end, by Go stack
//	pointers         off-heap memory is searched for addresses of the Go heap
//	sample           one allocation in 1000 is guarded, at most 1,000 a second, for production
//	sample=N         one allocation in N is guarded
//
// [Options] has the details of each. An unknown word is reported in one line on standard error, and
// the program goes on. [Configure] sets the same modes from inside the program. The union of both
// is in force: neither can switch off a mode that the other sets.
//
// # Debug modes
//
// The modes from guard to sample find mistakes. Some mistakes are found by freehold's functions,
// which panic. An access to freed memory or behind a block faults, which ends a Go program. Another
// process then writes a report to standard error, with the Go stacks of the access, the allocation
// and the free. If a program recovers from faults ([debug.SetPanicOnFault]), [Explain] returns the
// same report as an error. At an end without a crash, in the mode leaks, the other process lists the
// memory that was not freed. It cannot tell an exit from a kill.
//
// On Linux, with guard or sample in the variable FREEHOLD, the other process is the parent of the
// program. The process that was started becomes the watcher before main: it starts itself again as
// its child, which is the program. The watcher passes signals on, writes the report, and ends with
// the program's exit status, or by its signal. So the report is written before the program has ended
// for its caller, also if the watcher is process 1 of a container. If the watcher dies, the program
// dies. The watcher's name is freehold-watch. Tools that take a process ID need that of the child;
// of tools that start a program, perf record follows the child by itself, strace with -f, gdb with
// set follow-fork-mode child. A unit of systemd needs KillMode=mixed, so that the program gets each
// signal once, and NotifyAccess=all if it notifies systemd.
//
// If the modes are set by [Configure], if only leaks is set, and on macOS, the BSDs and Solaris, the
// other process is a copy of the program, which freehold starts with the first block. Its report may
// come after the end of the program, and does not come if the program is process 1 of its container.
// If a child process keeps the program's memory, as one forked by C code does, the report is delayed
// until the child ends.
//
// The variables FREEHOLD_WATCH and FREEHOLD_WATCHER mark the copy, and the child of a watcher. They
// must not be set otherwise, because a program that finds one of them may end at once.
//
// Watcher and copy run the program's initialisation up to freehold's, and never main. The text of
// the crash comes from [debug.SetCrashOutput], which these modes use; see [SetCrashOutput].
//
// # Lifetime
//
// The modes are frozen when the first package asks for one, because a block must be freed by the
// allocator that made it. So call [Configure] before the first allocation, at the top of main or in
// an init function.
//
// # Concurrency
//
// Every function may be called from several goroutines at once.
//
// # What it is not
//
// It is not an allocator (see package offheap), and it sets no policy: if neither GOMEMLIMIT nor
// [debug.SetMemoryLimit] has set a limit, it sets none.
//
// [debug.SetPanicOnFault]: https://pkg.go.dev/runtime/debug#SetPanicOnFault
// [debug.SetCrashOutput]: https://pkg.go.dev/runtime/debug#SetCrashOutput
// [debug.SetMemoryLimit]: https://pkg.go.dev/runtime/debug#SetMemoryLimit
package freehold
