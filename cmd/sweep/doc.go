// SPDX-License-Identifier: Apache-2.0

// Package sweep runs a program under several settings of GOGC and GOMEMLIMIT in turns, and says what each costs in CPU time and memory.
//
// Start with [Run], which takes [Options] and returns a [Report].
//
// The first round is discarded: it warms caches, has the collector's trace, and shows how much memory the program takes, from which the
// memory limits follow. Each further round runs every setting once; the order changes from round to round. The run of a setting and that
// of GOGC=100 in the same round are a pair, so that a change in the machine's speed affects both; package pairs has the method.
//
// A call of Run uses one goroutine and its child processes. Concurrent calls would disturb each other's figures.
package sweep
