// Package compare measures whether a change made a program cheaper, with the interval of the ratio.
//
// Start with [Run], which takes two sides, A and B, from [Options] and returns a [Report]. A side
// is a command, one benchmark of a package, or a running server. The sides run in turns. Each run
// is a process of its own, and every second pair starts with B, so that a change in the machine's
// speed affects both sides.
//
// # The interval
//
// The estimate is of the ratio of B to A. Each pair of runs gives one logarithm of it. The estimate
// is the Hodges-Lehmann pseudo-median of these logarithms, the median of all means of two. The
// interval is that of Wilcoxon's signed-rank test (M. Hollander, D. A. Wolfe, E. Chicken:
// Nonparametric Statistical Methods, 3rd edition, sections 3.1 to 3.3). The test assumes that the
// logarithms are distributed symmetrically, as differences of two alike noises are, and assumes
// nothing else of the noise. Up to 29 % of the pairs may be outliers without moving the estimate
// arbitrarily; a mean follows a single one. [golang.org/x/perf/benchmath] compares unpaired
// samples, so noise that affects both sides widens its interval; here it gives the medians of the
// sides.
//
// The runs end when the interval of the CPU time is as narrow as Options.Precision, or when the
// budget ends. At least eight pairs run. A look at the width after each pair costs little of the
// confidence, because the width does not depend on where the interval lies.
//
// # Where figures come from
//
// The system reports CPU time (user and system), elapsed time and the largest resident set of a
// process. The collector's figures come from GODEBUG=gctrace=1. Its times are elapsed time on each
// P, which is too high on a busy machine. Printing the trace costs the program about 30 µs a cycle,
// so only some pairs are traced, and they count for the collector's figures only. Benchmarks report
// time, allocations and their own metrics. Servers are asked for profiles and runtime metrics.
//
// A call of Run uses one goroutine and its child processes. Concurrent calls would disturb each
// other's figures.
package compare
