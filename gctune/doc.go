// SPDX-License-Identifier: Apache-2.0

// Package gctune sets GOMEMLIMIT and GOGC so that a Go program stays within the memory of its
// control group or machine.
//
//	tuner, err := gctune.Start(ctx, gctune.Options{Logger: slog.Default()})
//
// # Model
//
// Every second a tuner measures four things: the limit of the control group (versions 1 and 2,
// every visible level, memory.high and memory.max) or of the machine, Go's memory, the off-heap
// memory of freehold's packages, and the memory of others. It subtracts headroom and all memory
// that is not Go's from the limit. The rest is Go's soft memory limit:
//
//	GOMEMLIMIT = limit·Ratio − Reserve − other − off-heap
//	other      = charged − reclaimable page cache − Go's memory − off-heap
//
// The level with the smallest result counts. GOMEMLIMIT has a floor: the live heap with a quarter
// on top, plus the runtime's own memory, as long as all memory together stays below the limit.
// Below the floor the collector would use CPU time and free nothing.
//
// A [Policy] says how much of the memory between live data and the limit the heap may use; it
// determines GOGC. If the room for the heap is below 1.5 times the live heap, the [State] is Tight;
// below 1.3 times it is Thrashing. The log, [Stats] and Options.OnThrash then report it, with a
// limit that would suffice.
//
// Only one place subtracts the off-heap memory of freehold's packages, with and without a tuner,
// and the limit follows its growth at once. The tuner never exceeds a limit that the program or
// GOMEMLIMIT has set. It leaves a GOGC alone that the program or the environment has chosen.
//
// [Decide] explains the decision in a paragraph and sets nothing. The blank import of gctune/auto
// calls [Start] before main. [Handler] serves every metric of the runtime as JSON, for freehold
// doctor and other tools.
//
// # Lifetime
//
// One tuner runs in a process at a time, from [Start] until its context ends. Then the tuner
// restores the program's own values.
//
// # Concurrency
//
// Every function and method may be called from several goroutines at once.
//
// # What it is not
//
// It is no hard limit: GOMEMLIMIT is a goal of the collector, and live data may exceed it. It does
// not shrink off-heap memory. It reads Linux's files; on other systems it finds no limit, so set
// Options.Limit there.
package gctune
