// SPDX-License-Identifier: Apache-2.0

// Package doctor says what Go's memory management costs a program, where that cost comes from, and
// what would win it back.
//
// # Model
//
// Start with [Diagnose]. It takes an [evidence.Evidence], all that was collected of a program,
// and makes an account of it: every CPU sample gets a class (allocation, marking, assists and so
// on, by package stack), allocations are charged to the places that make them, and the cost of each
// place is estimated. Each recogniser (the files find_*.go) then looks in the account for the
// pattern that it knows, with the source's help (package source) if that is at hand. The result is
// a [Report], whose JSON is a stable contract. [Attributed] is the CPU profile with the collector's
// time charged to its causes.
//
// # Units
//
// Shares are fractions of the CPU time that the profile holds, between 0 and 1. A gain is such a
// fraction, too; it can be negative. Bytes and objects are those of Go's heap profile: estimates
// from samples.
//
// # Errors and concurrency
//
// Diagnosing never fails; Report.Missing lists the evidence that it lacked. An Evidence must not
// change while it is diagnosed; different ones are independent.
//
// # What it is not
//
// It collects nothing and prints nothing: package collect, below, gathers evidence, and package
// render writes reports.
package doctor
