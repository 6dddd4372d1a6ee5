// SPDX-License-Identifier: Apache-2.0

// Package memlimit owns Go's soft memory limit on behalf of freehold: it is the one place where
// bytes off the heap are taken from it.
//
// The user's limit and a tuner's budget bound the sum of Go's memory and off-heap memory; the
// smaller counts. The package finds the user's limit by reading the limit in force: a value that
// was not set here is the user's.
package memlimit
