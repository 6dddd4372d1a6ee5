// Package doctor says what Go's memory management costs a program, where that cost comes from, and what would win it back.
//
// # Model
//
// An [Evidence] is what was collected of a program: a CPU profile, heap profiles, values of runtime/metrics, a trace of the collector. Each
// part is optional. [Diagnose] joins them: it sorts every CPU sample into a class (allocation, marking, assists, and so on), charges
// allocations to the places that make them, estimates what each place costs in all, and asks each recogniser whether it knows the pattern.
// The result is a [Report], whose JSON is a stable contract.
//
// # Units
//
// Shares are fractions of the CPU time that the profile holds, between 0 and 1. A gain is such a fraction, too; it can be negative.
// Bytes and objects are those of Go's heap profile: estimates from samples.
//
// # Errors and concurrency
//
// Reading reports what is wrong with an input, with its name, in one line. Diagnosing never fails; what it could not know is in
// Report.Missing. An Evidence must not change while it is diagnosed; different ones are independent.
//
// # What it is not
//
// It collects nothing itself and prints nothing: the packages below it do.
package doctor
