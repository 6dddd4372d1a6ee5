// Package memlimit owns Go's soft memory limit on behalf of freehold: it is the one place where
// bytes off the heap are taken from it.
//
// The user's limit and a tuner's budget bound the sum of Go's memory and off-heap memory; the
// smaller counts. The user's limit is found out by looking: a value in force that was not set here
// is the user's.
package memlimit
