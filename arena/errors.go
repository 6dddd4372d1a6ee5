// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"

	"github.com/freehold-go/freehold/offheap"
)

// outOfMemory is an error that errors.Is [offheap.ErrOutOfMemory].
func outOfMemory(format string, args ...any) error {
	return fmt.Errorf("arena: %s: more memory than the machine has: %w", fmt.Sprintf(format, args...), offheap.ErrOutOfMemory)
}

// misuse is what a panic says of a mistake with an arena, a Pool, a Builder, a Map or a checkpoint.
func misuse(op, kind, format string, args ...any) *offheap.MisuseError {
	detail := fmt.Sprintf(format, args...)
	return &offheap.MisuseError{Op: op, Kind: kind, Detail: detail, Report: "arena: " + op + " " + detail}
}

// The kinds of misuse. offheap.MisuseError lists them.
const (
	useAfterFree  = "use after Free"
	useAfterReset = "use after Reset"
	useOfCopy     = "use of a copy"
	useOfZero     = "use of a zero value"
	concurrentUse = "concurrent use"
	useOfMark     = "stale or foreign checkpoint"
)

// Try calls f. If f panics with an error that errors.Is [offheap.ErrLimit] or
// [offheap.ErrOutOfMemory], Try returns this error. Every other panic passes on unchanged. Where f
// ended, its results and the values that it changed are as far as it came: an assignment from a call
// that found no memory did not happen.
//
//	err := arena.Try(func() { rows = arena.Append(a, rows, row) })
//
// Try costs some nanoseconds, and an error some microseconds. The functions that programs call most
// have a twin that returns the error itself: [TryNew] and [TryMakeSlice].
func Try(f func()) (err error) { return offheap.Try(f) }

// must turns an error into the panic of the functions that return none.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
