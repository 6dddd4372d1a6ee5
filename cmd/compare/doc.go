// Package compare measures whether a change made a program cheaper, and how sure that is.
//
// Two sides, A and B, run in turns: each run is a process of its own, and every second pair begins
// with B, so that a machine that slows down slows down both. A side is a command, one benchmark of
// a package, or a running server; [Run] takes the sides from [Options] and returns a [Report].
//
// # The interval
//
// What is estimated is the ratio of B to A. Each pair of runs gives one logarithm of it. The
// estimate is the Hodges-Lehmann pseudo-median of these logarithms, the median of all means of two,
// and the interval is the one that belongs to Wilcoxon's signed-rank test (M. Hollander, D. A.
// Wolfe, E. Chicken: Nonparametric Statistical Methods, 3rd edition, sections 3.1 to 3.3). It
// supposes that the logarithms lie symmetrically, as differences of two alike noises do, and
// nothing of the noise itself: up to 29 % of the pairs may be wild without carrying the estimate
// away, where a mean takes one. [golang.org/x/perf/benchmath] compares samples that are not paired,
// so that what slows down both sides widens its interval; medians of single sides are its.
//
// Runs end when the interval of the CPU time is as narrow as was asked for, or when the budget
// ends. Looking after each pair costs little of the confidence, because what is looked at is the
// width and not where the interval lies; eight pairs are run at least.
//
// # Where figures come from
//
// CPU time, user and system, elapsed time and the largest resident set are what the system says of
// the process. What the collector did is read from GODEBUG=gctrace=1, whose times are wall time of
// each P: on a busy machine it says too much. Printing it costs the program about 30 µs a cycle, so
// it is asked for in some pairs, which then count for the collector's figures only. Benchmarks tell
// time, allocations and their own metrics themselves. Servers are asked for profiles and runtime
// metrics.
//
// One call of Run uses one goroutine and its children; calls beside each other would disturb each
// other's figures.
package compare
