// Package gctune keeps a Go program within the memory that its control group or machine allows, by setting GOMEMLIMIT and GOGC.
//
//	tuner, err := gctune.Start(ctx, gctune.Options{Logger: slog.Default()})
//
// # Model
//
// A tuner looks every second at the control group (versions 1 and 2, every level that can be seen, memory.high and memory.max) or the
// machine, at what Go has taken, at what freehold's packages hold off the heap, and at what others take. From the limit it subtracts
// headroom and all that is not Go's, and makes the rest Go's soft memory limit:
//
//	GOMEMLIMIT = limit·Ratio − Reserve − other − off-heap
//	other      = charged − reclaimable page cache − Go's memory − off-heap
//
// for the level at which that is least. GOMEMLIMIT never falls under what is live with a quarter on top and what the runtime itself takes,
// as long as all together stay below the limit: starved collectors burn CPU and free nothing. A [Policy] says what the memory between live
// data and the limit is for, and sets GOGC. Where the room for the heap is below 1.5 times what is live the [State] is Tight, below 1.3 times
// Thrashing, and the log, [Stats] and Options.OnThrash say so, with the limit that would help.
//
// Off-heap memory of freehold's packages is subtracted in one place only, with and without a tuner, and follows their growth at once. A
// limit that the program or GOMEMLIMIT has set is never exceeded, and a GOGC that somebody else has chosen stays.
//
// [Decide] explains the decision in a paragraph and sets nothing. The blank import of gctune/auto does what [Start] does, before main.
// [Handler] serves every metric of the runtime as JSON, for freehold doctor and others.
//
// # Lifetime
//
// One tuner runs in a process at a time, from [Start] until its context ends. Then both values are what the program had set.
//
// # Concurrency
//
// Every function and method may be called from several goroutines at once.
//
// # What it is not
//
// It is no hard limit: GOMEMLIMIT is a goal of the collector, and live data above it stays. It does not shrink what is off the heap. It
// reads Linux's files; on other systems no limit is found, and Options.Limit is the way to give one.
package gctune
